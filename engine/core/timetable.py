"""Triggers as timetables: when each fires, forwards, backwards, counted and picked (SPEC §3).

Many schedules share a trigger, so a timetable is compiled once and kept. `cron_timetable` holds the
difficult one; intervals and single instants are arithmetic.
"""

from functools import lru_cache
from math import gcd
from typing import Protocol, assert_never

from engine.core.cron_fields import read_fields, resolve
from engine.core.cron_timetable import END_SECOND, CronTimetable
from engine.core.errors import Fault, Invalid
from engine.core.identity import default_jitter_seconds
from engine.core.model import (
    AtTrigger,
    CronTrigger,
    DstFold,
    DstGap,
    IntervalTrigger,
    Trigger,
)
from engine.core.wall_time import WallPattern
from engine.core.zone_names import check_timezone
from engine.core.zones import read_local_instant

__all__ = [
    "TIMETABLE_END_MS",
    "Timetable",
    "check_timezone",
    "compile_trigger",
    "default_jitter",
    "read_cron",
    "read_local_instant",
]

TIMETABLE_END_MS = END_SECOND * 1000
"""Timetables end with the year 9998: jitter and spans have room before years have five digits."""

TIMETABLES_MAX = 16_384  # Compiled timetables kept; about a kilobyte each.

_HOUR_SECONDS = 3600


class Timetable(Protocol):
    """The occurrences of one trigger, in ms since the epoch; from 1970 to the end of 9998."""

    def after(self, ms: int) -> int | None:
        """The first occurrence later than `ms`; None if there is none within 41 years."""
        ...

    def until(self, ms: int) -> int | None:
        """The newest occurrence at or before `ms`; None if there is none within 41 years."""
        ...

    def between(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """The first `limit` occurrences t with after_ms < t <= until_ms, oldest first."""
        ...

    def count(self, after_ms: int, until_ms: int) -> int:
        """How many occurrences t there are with after_ms < t <= until_ms, without listing them."""
        ...

    def nth(self, after_ms: int, n: int) -> int | None:
        """The `n`-th occurrence (from 1) later than `after_ms`; None if not within 41 years."""
        ...


def read_cron(
    text: str,
    *,
    schedule_id: str | None,
    timezone: str = "UTC",
    dst_gap: DstGap = "shift",
    dst_fold: DstFold = "first",
) -> CronTrigger:
    """Check a cron expression and its zone, and resolve `H` for the schedule.

    Raises Invalid with every fault found (`/cron`, `/timezone`), among them an expression that
    never occurs, and `H` without a schedule to resolve it for (`schedule_id` None).
    """
    faults: list[Fault] = []
    resolved = ""
    try:
        resolved = resolve(text, schedule_id)
        if not WallPattern(read_fields(resolved)).dates.ever():
            faults.append(Fault("/cron", "never occurs: no such date exists in any year"))
    except Invalid as error:
        faults.extend(error.faults)
    try:
        check_timezone(timezone)
    except Invalid as error:
        faults.extend(error.faults)
    if faults:
        raise Invalid(*faults)
    return CronTrigger(
        cron=text, resolved=resolved, timezone=timezone, dst_gap=dst_gap, dst_fold=dst_fold
    )


@lru_cache(maxsize=TIMETABLES_MAX)
def compile_trigger(trigger: Trigger) -> Timetable:
    """The timetable of a trigger. Raises Invalid for a cron that `read_cron` would refuse."""
    match trigger:
        case CronTrigger():
            return CronTimetable(trigger)
        case IntervalTrigger():
            return _IntervalTimetable(trigger)
        case AtTrigger():
            return _AtTimetable(trigger)
        case _:
            assert_never(trigger)


def default_jitter(trigger: Trigger, deadline_seconds: int | None) -> int:
    """The `jitter_seconds` of a schedule that names none (SPEC §2)."""
    lands_on_hour, interval_seconds = _rhythm(trigger)
    return default_jitter_seconds(
        lands_on_hour=lands_on_hour,
        interval_seconds=interval_seconds,
        deadline_seconds=deadline_seconds,
    )


def interval_seconds(trigger: Trigger) -> int | None:
    """The shortest time between two occurrences; None for a trigger that occurs once."""
    return _rhythm(trigger)[1]


def _rhythm(trigger: Trigger) -> tuple[bool, int | None]:
    """Whether a trigger lands on :00, and its interval in seconds."""
    match trigger:
        case CronTrigger():
            fields = read_fields(trigger.resolved)
            on_hour = 0 in fields.time.minutes and 0 in fields.time.seconds
            return on_hour, WallPattern(fields).times.shortest_gap()
        case IntervalTrigger(every_seconds=every, phase_seconds=phase):
            return phase % gcd(every, _HOUR_SECONDS) == 0, every
        case AtTrigger():
            return False, None
        case _:
            assert_never(trigger)


class _IntervalTimetable:
    """phase + k * every, for whole k; elapsed time, whatever clocks on walls show."""

    __slots__ = ("_every", "_first", "_last")

    def __init__(self, trigger: IntervalTrigger) -> None:
        self._every = trigger.every_seconds * 1000
        self._first = trigger.phase_seconds * 1000 % self._every
        self._last = self._at_or_before(TIMETABLE_END_MS - 1)

    def after(self, ms: int) -> int | None:
        return self.nth(ms, 1)

    def until(self, ms: int) -> int | None:
        return self._at_or_before(min(ms, self._last)) if ms >= self._first else None

    def between(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        first = self.after(after_ms)
        if first is None:
            return []
        return list(range(first, min(until_ms, self._last) + 1, self._every)[:limit])

    def count(self, after_ms: int, until_ms: int) -> int:
        return max(0, self._rank(until_ms) - self._rank(after_ms))

    def nth(self, after_ms: int, n: int) -> int | None:
        ms = self._first + (self._rank(after_ms) + n - 1) * self._every
        return ms if ms <= self._last else None

    def _at_or_before(self, ms: int) -> int:
        return ms - (ms - self._first) % self._every

    def _rank(self, ms: int) -> int:
        """How many occurrences there are at or before `ms`."""
        return max(0, (min(ms, self._last) - self._first) // self._every + 1)


class _AtTimetable:
    """One instant."""

    __slots__ = ("_ms",)

    def __init__(self, trigger: AtTrigger) -> None:
        self._ms = trigger.at_ms

    def after(self, ms: int) -> int | None:
        return self._ms if ms < self._ms else None

    def until(self, ms: int) -> int | None:
        return self._ms if self._ms <= ms else None

    def between(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        return [self._ms][:limit] if after_ms < self._ms <= until_ms else []

    def count(self, after_ms: int, until_ms: int) -> int:
        return int(after_ms < self._ms <= until_ms)

    def nth(self, after_ms: int, n: int) -> int | None:
        return self.after(after_ms) if n == 1 else None
