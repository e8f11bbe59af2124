"""The part of a schedule's document that says when: exactly one of `cron`, `every`, `at`."""

import re
from functools import lru_cache
from typing import Any

from engine.core.cron_text import TEXT_LENGTH_MAX
from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.identity import format_instant, parse_instant
from engine.core.members import INSTANT_LENGTH_MAX, Choice, Integer, Judged, Text
from engine.core.model import (
    AtTrigger,
    CronTrigger,
    DstFold,
    DstGap,
    IntervalTrigger,
    Trigger,
)
from engine.core.timetable import (
    TIMETABLE_END_MS,
    check_timezone,
    read_cron,
    read_local_instant,
)

EVERY_SECONDS_MAX = 31_536_000
"""`every`: a year. What happens less often has a date, and is a cron expression."""

TIMEZONE_LENGTH_MAX = 64
"""`timezone`: longer than any IANA name; bounds what the zone lookup is asked."""

# Cron texts remembered with what they mean: a fleet writes few of them many times over.
SHARED_CRONS_MAX = 4_096

DST_GAPS: tuple[DstGap, ...] = ("shift", "skip")
DST_FOLDS: tuple[DstFold, ...] = ("first", "both")

CRON = Judged(
    "cron",
    {"type": "string", "maxLength": TEXT_LENGTH_MAX, "examples": ["0 * * * *", "H 9 * * 1-5"]},
    about="Five fields, or six with leading seconds.",
)
TIMEZONE = Text(
    "timezone",
    None,
    longest=TIMEZONE_LENGTH_MAX,
    about="The IANA zone in which cron and a local `at` are meant; UTC by default.",
)
DST_GAP: Choice[DstGap, DstGap] = Choice(
    "dst_gap", "shift", DST_GAPS, about="What becomes of times that a clock skips."
)
DST_FOLD: Choice[DstFold, DstFold] = Choice(
    "dst_fold", "first", DST_FOLDS, about="What becomes of times that a clock passes twice."
)
EVERY = Integer(
    "every",
    None,
    low=1,
    high=EVERY_SECONDS_MAX,
    about="Seconds between occurrences, counted from the epoch.",
)
PHASE = Integer(
    "phase",
    0,
    low=0,
    high=EVERY_SECONDS_MAX - 1,
    about="Seconds that occurrences are later than multiples of `every`.",
)
AT = Text(
    "at", None, longest=INSTANT_LENGTH_MAX, about="One instant, or a local time with `timezone`."
)
TRIGGER = (CRON, TIMEZONE, DST_GAP, DST_FOLD, EVERY, PHASE, AT)

# Which members go with which trigger.
COMPANIONS = {
    "cron": ("timezone", "dst_gap", "dst_fold"),
    "every": ("phase",),
    "at": ("timezone",),
}
TRIGGER_FIELDS = frozenset(member.name for member in TRIGGER)


def read_trigger(fields: Fields, schedule_id: str, faults: list[Fault]) -> Trigger | None:
    """The trigger that `fields` names; None when that added to `faults`."""
    kinds = fields.given(COMPANIONS)
    if not kinds:
        faults.append(Fault("", "write exactly one of cron, every and at"))
        return None
    if len(kinds) > 1:
        fields.refuse(kinds[-1], f"write one of {' and '.join(kinds)}, not both; null removes one")
        return None
    [kind] = kinds
    for name in fields.given(_STRANGERS[kind]):
        fields.refuse(name, f"{name} does not go with {kind}; leave it out")
    return _READERS[kind](fields, schedule_id, faults)


def write_trigger(trigger: Trigger) -> dict[str, Any]:
    """The members that `read_trigger` reads as `trigger`."""
    match trigger:
        case CronTrigger():
            return {
                "cron": trigger.cron,
                "timezone": trigger.timezone,
                "dst_gap": trigger.dst_gap,
                "dst_fold": trigger.dst_fold,
            }
        case IntervalTrigger():
            return {"every": trigger.every_seconds, "phase": trigger.phase_seconds}
        case AtTrigger():
            return {"at": format_instant(trigger.at_ms)}


def _read_cron(fields: Fields, schedule_id: str, faults: list[Fault]) -> Trigger | None:
    cron = fields.raw("cron")
    if type(cron) is not str:
        fields.refuse("cron", 'write a cron expression as text, like "0 * * * *"')
        return None
    timezone = fields.text(TIMEZONE)
    timezone = "UTC" if timezone is None else timezone
    gap, fold = fields.choice(DST_GAP), fields.choice(DST_FOLD)
    try:
        if _HASHED.search(cron):
            return read_cron(
                cron, schedule_id=schedule_id, timezone=timezone, dst_gap=gap, dst_fold=fold
            )
        return _read_shared_cron(cron, timezone, gap, fold)
    except Invalid as error:
        faults.extend(error.faults)
        return None


@lru_cache(maxsize=SHARED_CRONS_MAX)
def _read_shared_cron(cron: str, timezone: str, gap: DstGap, fold: DstFold) -> CronTrigger:
    return read_cron(cron, schedule_id=None, timezone=timezone, dst_gap=gap, dst_fold=fold)


def _read_every(fields: Fields, schedule_id: str, faults: list[Fault]) -> Trigger | None:
    every = fields.integer(EVERY) or 1
    # Beyond `every` a phase names the same occurrences again: one timetable, written one way.
    return IntervalTrigger(every_seconds=every, phase_seconds=fields.integer(PHASE) % every)


def _read_at(fields: Fields, schedule_id: str, faults: list[Fault]) -> Trigger | None:
    text, timezone = fields.text(AT), fields.text(TIMEZONE)
    if text is None:
        return None
    try:
        at_ms = _instant(text, timezone)
        if at_ms < TIMETABLE_END_MS:
            return AtTrigger(at_ms=at_ms)
        fields.refuse("at", f"write an instant before {format_instant(TIMETABLE_END_MS)}")
    except ValueError as error:
        fields.refuse("at", str(error))
    except Invalid as error:
        faults.extend(error.faults)
    return None


def _instant(text: str, timezone: str | None) -> int:
    if timezone is None:
        return parse_instant(text)
    check_timezone(timezone)
    try:
        return parse_instant(text)
    except ValueError:
        return read_local_instant(text, timezone)


_STRANGERS = {kind: TRIGGER_FIELDS - {kind, *names} for kind, names in COMPANIONS.items()}
_READERS = {"cron": _read_cron, "every": _read_every, "at": _read_at}
_HASHED = re.compile(r"\bH\b", re.IGNORECASE)
