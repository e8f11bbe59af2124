"""The engine's settings: read once, checked together, frozen.

Precedence: flag > environment `OFFBEAT_SECTION__KEY` > `offbeat.toml` > default. Every fault of
every source is reported in one error, so that a bad deployment is repaired in one go. An unknown
key is an error that names the nearest known one: a misspelt limit must not become the default.
"""

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.core.egress import Opening
from engine.core.errors import ConfigError
from engine.settings import SETTINGS, flag_of

DEFAULT_PORT = 8420


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What `run` needs to know; `SETTINGS` says what each is for, and units are in the names."""

    data_dir: Path = Path("offbeat-data")
    listen: str = f"127.0.0.1:{DEFAULT_PORT}"
    tenant: str = "default"
    rate: int = 1_000
    burst: int | None = None
    concurrency: int = 1_024  # Under way at most: the default rate at a second a receiver.
    clock_start_ms: int | None = None
    lock_timeout_seconds: float = 0.0
    drain_timeout_seconds: float = 25.0  # Below the 30 s after which container runtimes kill.
    master_key_file: Path | None = None
    admin_key_file: Path | None = None
    egress_allow: tuple[Opening, ...] = ()
    egress_ca_file: Path | None = None
    schedules: Path | None = None
    jitter_subsecond: bool = True
    history_days: int = 7
    history_runs: int = 1_000_000
    accept_clock: bool = False
    demo: bool = False

    @property
    def burst_tokens(self) -> int:
        """The bucket's depth once the default is resolved."""
        return self.burst if self.burst is not None else max(1, self.rate // 10)


def load_config(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    toml_path: Path | None,
) -> Config:
    """The settings after precedence. `flags` is keyed by field; a value of None is "not given".

    Raises `ConfigError` with every fault found.
    """
    faults: list[str] = []
    given = {
        **dict(_from_toml(toml_path, faults)),
        **dict(_from_environ(environ, faults)),
        **dict(_from_flags(flags)),
    }
    values = dict(_read_all(given, faults))
    if faults:
        raise ConfigError("; ".join(faults))
    if values.get("demo") and "data_dir" not in values:
        # The examples would otherwise stay in the directory that real schedules come to use.
        values["data_dir"] = Path("offbeat-data/demo")
    return Config(**values)  # type: ignore[arg-type]  # Each reader returns its field's type.


@dataclass(frozen=True, slots=True)
class _Given:
    value: object
    source: str


_PLACES = {setting.place: field for field, setting in SETTINGS.items() if setting.place}
_SECTIONS = {section: None for section, _ in _PLACES}
_VARIABLES = {
    setting.environment: field for field, setting in SETTINGS.items() if setting.environment
}
# What is written for a variable when its section or its _FILE is forgotten.
_SHORTENED = {
    **{
        f"OFFBEAT_{key.upper()}": SETTINGS[field].environment for (_, key), field in _PLACES.items()
    },
    **{name.removesuffix("_FILE"): name for name in _VARIABLES if name.endswith("_FILE")},
}


def _from_toml(path: Path | None, faults: list[str]) -> Iterator[tuple[str, _Given]]:
    if path is None:
        return
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        faults.append(f"{path}: {error.strerror}")
        return
    except ValueError as error:
        faults.append(f"{path}: not TOML: {error}")
        return
    for section, keys in document.items():
        if section not in _SECTIONS:
            faults.append(f"{path}: no section [{section}]{_nearest(section, _SECTIONS)}")
        elif not isinstance(keys, dict):
            faults.append(f"{path}: {section} is a section; write [{section}]")
        else:
            yield from _from_section(section, keys, path, faults)


def _from_section(
    section: str, keys: Mapping[str, object], path: Path, faults: list[str]
) -> Iterator[tuple[str, _Given]]:
    for key, value in keys.items():
        if (section, key) in _PLACES:
            yield _PLACES[section, key], _Given(value, f"{path}: {section}.{key}")
        else:
            siblings = [known for home, known in _PLACES if home == section]
            faults.append(f"{path}: no key {key} in [{section}]{_nearest(key, siblings)}")


def _from_environ(environ: Mapping[str, str], faults: list[str]) -> Iterator[tuple[str, _Given]]:
    # Another name without a double underscore is not ours to judge: container platforms put
    # OFFBEAT_PORT and the like there for a service called "offbeat".
    for name, value in environ.items():
        if name in _VARIABLES:
            yield _VARIABLES[name], _Given(value, name)
        elif name.startswith("OFFBEAT_") and "__" in name:
            faults.append(f"{name} is not a setting{_nearest(name, _VARIABLES)}")
        elif name in _SHORTENED:
            faults.append(f"{name} is not a setting (did you mean {_SHORTENED[name]}?)")


def _from_flags(flags: Mapping[str, object]) -> Iterator[tuple[str, _Given]]:
    for field, value in flags.items():
        if value is not None:
            yield field, _Given(value, flag_of(field))


def _read_all(given: Mapping[str, _Given], faults: list[str]) -> Iterator[tuple[str, object]]:
    for field, item in given.items():
        try:
            yield field, SETTINGS[field].kind.read(item.value)
        except ValueError as error:
            faults.append(f"{item.source}: {error}")


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else f" (known: {', '.join(known)})"
