"""The table of settings: where each is written, what it may be, and what it is for.

One table for everybody: `config.py` reads by it, `offbeat run --help` shows its flags, and the
reference is made of it (`scripts/reference`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.core.access import TENANT_LENGTH_MAX, TENANT_RULE, is_tenant_name
from engine.core.egress import Opening, read_opening
from engine.core.identity import parse_instant
from engine.listening import read_listen

CLOCK_START_END_MS = 4_102_444_800_000
"""2100-01-01T00:00:00Z: room for any rehearsal. A data directory never goes back to an earlier
clock, so a slip of the hand in the year would spoil it for good."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a setting may be, in words, and its reader: from text, or from a value of TOML.

    A reader raises ValueError with what is wrong.
    """

    words: str
    read: Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Setting:
    """`place`: section and key in the file; None: it belongs to one start and is in no file.

    `metavar`: what stands for the value after the flag of this name; None: there is no flag, ""
    one that is given without a value. `variable`: of the environment, where it is not the place's.
    """

    place: tuple[str, str] | None
    kind: Kind
    purpose: str
    metavar: str | None = None
    variable: str | None = None

    @property
    def environment(self) -> str | None:
        """The environment variable that sets it."""
        if self.place is None:
            return self.variable
        return "OFFBEAT_{}__{}".format(*self.place).upper()


def flag_of(field: str) -> str:
    """`--lock-timeout` for `lock_timeout_seconds`."""
    return f"--{field.removesuffix('_seconds').removesuffix('_ms').replace('_', '-')}"


def is_decimal(text: str) -> bool:
    """Whether `text` is a number in plain digits, not more than anybody types."""
    return re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) is not None


def _whole(low: int, high: int) -> Kind:
    words = f"a whole number from {low:,} to {high:,}"

    def read(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{value!r} is not {words}")
        return value

    return Kind(words, read)


def _seconds(high: float) -> Kind:
    words = f"a number of seconds from 0 to {high:,.0f}"

    def read(value: object) -> float:
        if isinstance(value, str) and is_decimal(value):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high:
            raise ValueError(f"{value!r} is not {words}")
        return float(value)

    return Kind(words, read)


def _switch(value: object) -> bool:
    switches = {True: True, False: False, "true": True, "false": False}
    if not isinstance(value, bool | str) or value not in switches:
        raise ValueError(f"{value!r} is not {SWITCH.words}")
    return switches[value]


def _path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{value!r} is not {PATH.words}")
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


SWITCH = Kind("true or false", _switch)
PATH = Kind("a path", _path)

# Bounds keep mistakes out (a rate of 0, milliseconds for seconds); no machine nears the upper ones.
SETTINGS: dict[str, Setting] = {
    "demo": Setting(None, SWITCH, "Also start a receiver and examples.", ""),
    "data_dir": Setting(("engine", "data_dir"), PATH, "Where the journal lives.", "DIR"),
    "listen": Setting(
        ("engine", "listen"),
        Kind("HOST:PORT or unix:PATH", _listen),
        "Where the API answers: HOST:PORT (without keys on loopback) or unix:PATH.",
        "ADDRESS",
    ),
    "tenant": Setting(
        ("engine", "tenant"),
        Kind(f"a tenant's name, 1 to {TENANT_LENGTH_MAX} characters", _tenant),
        "Whose schedules these are, where no key says it.",
        "NAME",
    ),
    "schedules": Setting(
        ("engine", "schedules"),
        PATH,
        "Keep its schedules like the files in DIR, as they change.",
        "DIR",
    ),
    "rate": Setting(("delivery", "rate"), _whole(1, 1_000_000), "Attempts a second at most.", "N"),
    "burst": Setting(
        ("delivery", "burst"),
        _whole(1, 1_000_000),
        "Depth of the token bucket; where it is not given, a tenth of the rate.",
        "N",
    ),
    "concurrency": Setting(
        ("delivery", "concurrency"),
        _whole(1, 10_000),
        "Attempts under way at most, for slow receivers.",
        "N",
    ),
    "clock_start_ms": Setting(
        None,
        Kind("an instant before the year 2100", _clock_start),
        "Call this instant now, at real speed; for tests and rehearsals.",
        "INSTANT",
    ),
    "lock_timeout_seconds": Setting(
        ("engine", "lock_timeout_seconds"),
        _seconds(3_600),
        "Wait so long for another engine to leave the data directory.",
        "SECONDS",
    ),
    "drain_timeout_seconds": Setting(
        ("engine", "drain_timeout_seconds"),
        _seconds(3_600),
        "On SIGTERM, wait so long for requests.",
        "SECONDS",
    ),
    "accept_clock": Setting(
        None, SWITCH, "Trust a clock that is a day or more behind the journal.", ""
    ),
    "jitter_subsecond": Setting(
        ("jitter", "subsecond"),
        SWITCH,
        "Spread jittered runs within their second, too; false starts them at whole seconds.",
    ),
    "history_days": Setting(
        ("history", "days"),
        _whole(1, 3_650),
        "How long runs are kept that ended; older ones become counted ranges.",
    ),
    "history_runs": Setting(
        ("history", "runs"),
        _whole(1_000, 1_000_000_000),
        "Runs kept at most; beyond it those that ended become counted ranges: the oldest of those "
        "tenants that hold more than an equal share.",
    ),
    "egress_allow": Setting(
        ("egress", "allow"),
        Kind("a list of networks or addresses, each perhaps with a port", _openings),
        "Where deliveries may go beyond public addresses: 10.0.0.0/8, 10.0.0.7:443, "
        "[fd00::/8]:443. In the environment with commas between them.",
    ),
    "egress_ca_file": Setting(
        ("egress", "ca_file"),
        PATH,
        "A PEM file of authorities that receivers' certificates may be from, besides the system's.",
    ),
    "admin_key_file": Setting(
        ("auth", "admin_key_file"),
        PATH,
        "A file, readable by its owner alone, that holds an administrator's API key. With it "
        "whoever asks the API needs a key.",
    ),
    "master_key_file": Setting(
        None,
        PATH,
        "A file of 64 hexadecimal digits of which signing secrets are derived; where it is not "
        "given, master.key in the data directory, made at the first start.",
        variable="OFFBEAT_MASTER_KEY_FILE",
    ),
}
