"""The engine's settings: read once, checked together, frozen.

Precedence: flag > environment `OFFBEAT_SECTION__KEY` > `offbeat.toml` > default. Every fault of
every source is reported in one error, so that a bad deployment is repaired in one go. An unknown
key is an error that names the nearest known one: a misspelt limit must not become the default.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from engine.core.access import TENANT_RULE, is_tenant_name
from engine.core.egress import Opening, read_opening
from engine.core.errors import ConfigError
from engine.core.identity import parse_instant

DEFAULT_PORT = 8420

CLOCK_START_END_MS = 4_102_444_800_000
"""2100-01-01T00:00:00Z: room for any rehearsal. A data directory never goes back to an earlier
clock, so a slip of the hand in the year would spoil it for good."""

SOCKET_PATH_BYTES_MAX = 107
"""What the kernel's sun_path holds before its NUL (unix(7))."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What `run` needs to know; units are in the names."""

    data_dir: Path = Path("offbeat-data")
    listen: str = f"127.0.0.1:{DEFAULT_PORT}"
    tenant: str = "default"
    rate: int = 1_000  # Attempts a second, over everything that leaves (SPEC §8).
    burst: int | None = None  # None: a tenth of the rate, at least 1.
    concurrency: int = 1_024  # Under way at most: the default rate at a second a receiver.
    clock_start_ms: int | None = None
    lock_timeout_seconds: float = 0.0
    drain_timeout_seconds: float = 25.0  # Below the 30 s after which container runtimes kill.
    master_key_file: Path | None = None
    admin_key_file: Path | None = None  # Of the first API key, an administrator's.
    egress_allow: tuple[Opening, ...] = ()  # Beyond the public: core/egress.py.
    egress_ca_file: Path | None = None  # PEM; authorities besides the system's.
    schedules: Path | None = None  # A directory of files: schedule_directory.py.
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


def read_listen(text: str) -> tuple[str, int] | Path:
    """`HOST:PORT` as a pair, `unix:PATH` as the socket's path. Raises ValueError.

    Port 0 lets the kernel choose.
    """
    if text.startswith("unix:"):
        return _socket_path(text.removeprefix("unix:"))
    host, colon, port = text.rpartition(":")
    if not colon or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65_535:
        raise ValueError(f"{text!r} is not HOST:PORT or unix:PATH")
    if not host:
        raise ValueError(f"{text!r} has no host: for all addresses write 0.0.0.0 or [::]")
    if ":" in host or "[" in host:
        return _ipv6(host), int(port)
    if not _HOST.fullmatch(host):
        raise ValueError(f"{host!r} is neither an IP address nor a host's name")
    return host, int(port)


def is_decimal(text: str) -> bool:
    """Whether `text` is a number in plain digits, not more than anybody types."""
    return re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) is not None


def is_private(listen: str) -> bool:
    """Whether only this machine can reach what listens there: loopback or a Unix socket."""
    place = read_listen(listen)
    if isinstance(place, Path) or place[0] == "localhost":
        return True
    try:
        return ip_address(place[0]).is_loopback
    except ValueError:
        return False


_HOST = re.compile(r"(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?")
"""Labels as a resolver takes them (RFC 1035 §2.3.4), underscores too."""


def _ipv6(text: str) -> str:
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else ""
    try:
        IPv6Address(inner)
    except ValueError:
        raise ValueError(f"{text!r} is not an IPv6 address in brackets, as in [::1]") from None
    return inner


def _socket_path(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError("unix: needs a path, as in unix:/run/offbeat.sock")
    if len(os.fsencode(text)) > SOCKET_PATH_BYTES_MAX:
        raise ValueError(
            f"a socket's path has {SOCKET_PATH_BYTES_MAX} bytes at most; write a shorter one"
        )
    return Path(text)


@dataclass(frozen=True, slots=True)
class _Given:
    value: object
    source: str


_Reader = Callable[[object], object]


def _whole(low: int, high: int) -> _Reader:
    def read(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{value!r} is not a whole number from {low:,} to {high:,}")
        return value

    return read


def _seconds(high: float) -> _Reader:
    def read(value: object) -> float:
        if isinstance(value, str) and is_decimal(value):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high:
            raise ValueError(f"{value!r} is not a number of seconds from 0 to {high:,.0f}")
        return float(value)

    return read


def _switch(value: object) -> bool:
    switches = {True: True, False: False, "true": True, "false": False}
    if not isinstance(value, bool | str) or value not in switches:
        raise ValueError(f"{value!r} is not true or false")
    return switches[value]


def _path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{value!r} is not a path")
    return Path(value).expanduser()


def _listen(value: object) -> str:
    text = _text(value)
    read_listen(text)
    return text


def _tenant(value: object) -> str:
    text = _text(value)
    if not is_tenant_name(text):
        raise ValueError(f"{text!r}: {TENANT_RULE}")
    return text


def _openings(value: object) -> tuple[Opening, ...]:
    if isinstance(value, str):  # An environment variable has no lists.
        value = [entry for entry in re.split(r"[,\s]+", value) if entry]
    if not isinstance(value, list):
        raise ValueError(f'{value!r} is not a list like ["10.0.0.0/8:443"]')  # noqa: TRY004 (as in _text)
    return tuple(read_opening(_text(entry)) for entry in value)


def _clock_start(value: object) -> int:
    ms = parse_instant(_text(value))
    if ms >= CLOCK_START_END_MS:
        raise ValueError(f"{value!r} is too far off; write an instant before the year 2100")
    return ms


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")  # noqa: TRY004 (ValueError is how readers refuse)
    return value


@dataclass(frozen=True, slots=True)
class _Setting:
    """`place` is section and key in the file; None: belongs to one start, flags only."""

    place: tuple[str, str] | None
    read: _Reader


# Bounds keep mistakes out (a rate of 0, milliseconds for seconds); no machine nears the upper ones.
_SETTINGS: dict[str, _Setting] = {
    "data_dir": _Setting(("engine", "data_dir"), _path),
    "listen": _Setting(("engine", "listen"), _listen),
    "tenant": _Setting(("engine", "tenant"), _tenant),
    "schedules": _Setting(("engine", "schedules"), _path),
    "lock_timeout_seconds": _Setting(("engine", "lock_timeout_seconds"), _seconds(3_600)),
    "drain_timeout_seconds": _Setting(("engine", "drain_timeout_seconds"), _seconds(3_600)),
    "rate": _Setting(("delivery", "rate"), _whole(1, 1_000_000)),
    "burst": _Setting(("delivery", "burst"), _whole(1, 1_000_000)),
    "concurrency": _Setting(("delivery", "concurrency"), _whole(1, 10_000)),
    "admin_key_file": _Setting(("auth", "admin_key_file"), _path),
    "jitter_subsecond": _Setting(("jitter", "subsecond"), _switch),
    "history_days": _Setting(("history", "days"), _whole(1, 3_650)),
    "history_runs": _Setting(("history", "runs"), _whole(1_000, 1_000_000_000)),
    "egress_allow": _Setting(("egress", "allow"), _openings),
    "egress_ca_file": _Setting(("egress", "ca_file"), _path),
    "master_key_file": _Setting(None, _path),
    "clock_start_ms": _Setting(None, _clock_start),
    "accept_clock": _Setting(None, _switch),
    "demo": _Setting(None, _switch),
}
_PLACES = {setting.place: field for field, setting in _SETTINGS.items() if setting.place}
_SECTIONS = {section: None for section, _ in _PLACES}
_VARIABLES = {
    "OFFBEAT_MASTER_KEY_FILE": "master_key_file",
    **{f"OFFBEAT_{section}__{key}".upper(): field for (section, key), field in _PLACES.items()},
}


def _from_toml(path: Path | None, faults: list[str]) -> Iterator[tuple[str, _Given]]:
    if path is None:
        return
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
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
    # A name without a double underscore is not ours to judge: container platforms put
    # OFFBEAT_PORT and the like there for a service called "offbeat".
    for name, value in environ.items():
        if name in _VARIABLES:
            yield _VARIABLES[name], _Given(value, name)
        elif name.startswith("OFFBEAT_") and "__" in name:
            faults.append(f"{name} is not a setting{_nearest(name, _VARIABLES)}")


def _from_flags(flags: Mapping[str, object]) -> Iterator[tuple[str, _Given]]:
    for field, value in flags.items():
        if value is not None:
            flag = field.removesuffix("_seconds").removesuffix("_ms").replace("_", "-")
            yield field, _Given(value, f"--{flag}")


def _read_all(given: Mapping[str, _Given], faults: list[str]) -> Iterator[tuple[str, object]]:
    for field, item in given.items():
        try:
            yield field, _SETTINGS[field].read(item.value)
        except ValueError as error:
            faults.append(f"{item.source}: {error}")


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else f" (known: {', '.join(known)})"
