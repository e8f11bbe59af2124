"""What an engine is, for whoever looks at it: its versions, and the settings in force."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import __version__
from engine.config import Config
from engine.settings import SETTINGS

SECRETS = frozenset({"admin_key_file"})
"""Settings that name a file with a secret: whether there is one is all that is told."""

MASK = "********"

_DEFAULTS = Config()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A setting as it may be shown; `value` as JSON has it."""

    section: str
    key: str
    value: object
    is_default: bool
    purpose: str


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """`versions` by name; `settings`: those that a file or the environment can make."""

    versions: Mapping[str, str]
    settings: Sequence[Shown]


def about(config: Config, *, sqlite: str) -> About:
    """`sqlite`: the version of its library."""
    versions = {"offbeat": __version__, "python": platform.python_version(), "sqlite": sqlite}
    places = {field: setting.place for field, setting in SETTINGS.items() if setting.place}
    return About(
        versions=versions,
        settings=[_shown(config, field, place) for field, place in places.items()],
    )


def _shown(config: Config, field: str, place: tuple[str, str]) -> Shown:
    value = getattr(config, field)
    return Shown(
        section=place[0],
        key=place[1],
        value=MASK if field in SECRETS and value is not None else _as_json(value),
        is_default=value == getattr(_DEFAULTS, field),
        purpose=SETTINGS[field].purpose,
    )


def _as_json(value: object) -> object:
    if isinstance(value, tuple):
        return list(map(str, value))
    return str(value) if isinstance(value, Path) else value
