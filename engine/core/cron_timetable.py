"""When a cron expression fires in its zone: the wall clock, and what to do where it jumps.

**Theory.** A cron expression speaks of a clock on the wall (`wall_time`), and a zone moves that
clock over UTC in stretches (`zones`). Inside a stretch the two differ by a constant. What happens
where two stretches meet is Vixie cron's rule, as Debian and cronie have it:

* *Wildcard* expressions (minute or hour begins with `*`) follow real time. Every stretch is read as
  it is shown, so a gap makes nothing up and both passes of a fold count.
* *Fixed* expressions keep their place in the day. What a gap swallowed becomes one occurrence at
  the instant the gap ends (`dst_gap: shift`) or none (`skip`); in a fold the second pass is left
  out (`dst_fold: first`) or not (`both`).
* A change of more than three hours is a change of calendar (Samoa went without 30 December 2011):
  nothing is made up and nothing left out.

Occurrences are whole seconds and strictly increasing in UTC. Every question is put to one stretch
after the other, about half a year each, so counting costs the number of stretches and not that of
occurrences.

Sources: cronie `src/cron.c` (main loop and `MIN_STAR`, `HR_STAR`), Debian cron(8). Libraries that
turn naive results into instants one by one run fixed times twice in every fold, and lose or make up
wildcard runs at the edges.
"""

from collections.abc import Iterator
from itertools import islice

from engine.core.cron_fields import read_fields
from engine.core.model import CronTrigger
from engine.core.wall_time import WallPattern
from engine.core.zone_names import check_timezone
from engine.core.zones import OFFSET_SECONDS_MAX, Stretch, stretch_at

SEARCH_YEARS = 41
"""As far as a cron is searched: 29 February is a Sunday 40 years apart when 2100 is between."""

_SEARCH_SECONDS = SEARCH_YEARS * 366 * 86_400
END_SECOND = 253_370_764_800  # 9999-01-01T00:00:00Z: a year of room before dates run out.
_CALENDAR_CHANGE_SECONDS = 3 * 3600


class CronTimetable:
    """The occurrences of a cron trigger; `timetable.Timetable` says what the methods mean."""

    __slots__ = ("_empty", "_pattern", "_shifts_gaps", "_skips_folds", "_zone")

    def __init__(self, trigger: CronTrigger) -> None:
        check_timezone(trigger.timezone)
        fields = read_fields(trigger.resolved)
        self._zone = trigger.timezone
        self._pattern = WallPattern(fields)
        self._shifts_gaps = fields.fixed and trigger.dst_gap == "shift"
        self._skips_folds = fields.fixed and trigger.dst_fold == "first"
        # A thousand schedules of one batch share a timetable and ask about the same few seconds.
        self._empty = range(0)

    def after(self, ms: int) -> int | None:
        low = _second_after(ms)
        return _to_ms(self._first(low, _clamp(low + _SEARCH_SECONDS)))

    def until(self, ms: int) -> int | None:
        high = _second_after(ms)
        return _to_ms(self._last(_clamp(high - _SEARCH_SECONDS), high))

    def between(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        low, high = _second_after(after_ms), _second_after(until_ms)
        if self._empty.start <= low and high <= self._empty.stop:
            return []
        found = [second * 1000 for second in islice(self._seconds(low, high), limit)]
        if limit and not found:
            self._empty = range(low, high)
        return found

    def count(self, after_ms: int, until_ms: int) -> int:
        low, high = _second_after(after_ms), _second_after(until_ms)
        return sum(self._count_in(*part) for part in self._parts(low, high))

    def nth(self, after_ms: int, n: int) -> int | None:
        low = _second_after(after_ms)
        for stretch, start, end in self._parts(low, _clamp(low + _SEARCH_SECONDS)):
            here = self._count_in(stretch, start, end)
            if n <= here:
                return _to_ms(self._nth_in(stretch, start, end, n - 1))
            n -= here
        return None

    def _parts(self, low: int, high: int) -> Iterator[tuple[Stretch, int, int]]:
        """The stretches of `low <= second < high`, each with its share of that range."""
        while low < high:
            stretch = stretch_at(self._zone, low)
            yield stretch, low, min(high, stretch.end)
            low = stretch.end

    def _seconds(self, low: int, high: int) -> Iterator[int]:
        """The occurrences in `low <= second < high`, in order."""
        while (first := self._first(low, high)) is not None:
            yield first
            stretch = stretch_at(self._zone, first)
            start, low = self._wall_from(stretch, first + 1), min(high, stretch.end)
            walls = self._pattern.between(start, low + stretch.offset)
            yield from map((-stretch.offset).__add__, walls)

    def _first(self, low: int, high: int) -> int | None:
        while low < high:
            stretch = stretch_at(self._zone, low)
            found = self._nth_in(stretch, low, min(high, stretch.end), 0)
            if found is not None or stretch.end >= high:
                return found
            # Rare dates: go on where some clock may show the next one, not half a year at a time.
            wall = self._pattern.first(stretch.end - OFFSET_SECONDS_MAX, high + OFFSET_SECONDS_MAX)
            low = high if wall is None else max(stretch.end, wall - OFFSET_SECONDS_MAX)
        return None

    def _last(self, low: int, high: int) -> int | None:
        while low < high:
            stretch = stretch_at(self._zone, high - 1)
            found = self._last_in(stretch, max(low, stretch.start), high)
            if found is not None or stretch.start <= low:
                return found
            wall = self._pattern.last(low - OFFSET_SECONDS_MAX, stretch.start + OFFSET_SECONDS_MAX)
            high = low if wall is None else min(stretch.start, wall + OFFSET_SECONDS_MAX)
        return None

    def _last_in(self, stretch: Stretch, start: int, end: int) -> int | None:
        wall = self._pattern.last(self._wall_from(stretch, start), end + stretch.offset)
        if wall is not None:
            return wall - stretch.offset
        return start if self._makes_up(stretch, start) else None

    def _count_in(self, stretch: Stretch, start: int, end: int) -> int:
        low = self._wall_from(stretch, start)
        shown = self._pattern.count(low, max(low, end + stretch.offset))
        return shown + self._makes_up(stretch, start)

    def _nth_in(self, stretch: Stretch, start: int, end: int, index: int) -> int | None:
        if self._makes_up(stretch, start):
            if index == 0:
                return start
            index -= 1
        low = self._wall_from(stretch, start)
        wall = self._pattern.nth(low, end + stretch.offset, index)
        return None if wall is None else wall - stretch.offset

    def _wall_from(self, stretch: Stretch, start: int) -> int:
        """The wall time from which a stretch counts when read from the UTC second `start`."""
        wall = start + stretch.offset
        repeated = stretch.offset_before - stretch.offset
        if self._skips_folds and 0 < repeated <= _CALENDAR_CHANGE_SECONDS:
            return max(wall, stretch.start + stretch.offset_before)
        return wall

    def _makes_up(self, stretch: Stretch, start: int) -> bool:
        """Whether `start` ends a gap and is an occurrence only for what the gap swallowed."""
        gap = stretch.offset - stretch.offset_before
        if not (
            self._shifts_gaps and start == stretch.start and 0 < gap <= _CALENDAR_CHANGE_SECONDS
        ):
            return False
        wall = start + stretch.offset
        return wall not in self._pattern and self._pattern.first(wall - gap, wall) is not None


def _second_after(ms: int) -> int:
    """The first whole second later than `ms`, kept to the years 1970 to 9998."""
    return _clamp(ms // 1000 + 1)


def _clamp(second: int) -> int:
    return min(max(second, 0), END_SECOND)


def _to_ms(second: int | None) -> int | None:
    return None if second is None else second * 1000
