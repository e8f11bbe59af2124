"""Which occurrences a schedule owes: its timetable, cut to the bounds that its row sets.

A schedule owes the occurrences later than its creation, last trigger change or resumption, from
`start_at` on and up to the last that `end_at` and `max_runs` allow (SPEC §4). Every bound is
judged on `scheduled_for`; the offset only says when an occurrence fires.

Ranges are half-open to the left, `after < scheduled_for <= until`, so that two that touch neither
overlap nor leave a gap.
"""

from dataclasses import dataclass, replace

from engine.core.model import AtTrigger, Definition, Occurrence, Schedule
from engine.core.timetable import Timetable, compile_trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Owing:
    """What of a schedule decides which occurrences it owes, and when each fires."""

    timetable: Timetable
    offset_ms: int
    owed_after_ms: int
    start_at_ms: int | None = None
    last_owed_ms: int | None = None

    def clip(self, after_ms: int, until_ms: int) -> tuple[int, int]:
        """What the schedule's bounds leave of (after, until]; nothing when after >= until."""
        after_ms = max(after_ms, self.owed_after_ms)
        if self.start_at_ms is not None:
            after_ms = max(after_ms, self.start_at_ms - 1)
        if self.last_owed_ms is not None:
            until_ms = min(until_ms, self.last_owed_ms)
        return after_ms, until_ms

    def between(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """The first `limit` owed `scheduled_for` in (after, until], oldest first."""
        after_ms, until_ms = self.clip(after_ms, until_ms)
        return self.timetable.between(after_ms, until_ms, limit) if after_ms < until_ms else []

    def count(self, after_ms: int, until_ms: int) -> int:
        """How many occurrences are owed in (after, until]."""
        after_ms, until_ms = self.clip(after_ms, until_ms)
        return self.timetable.count(after_ms, until_ms) if after_ms < until_ms else 0

    def next(self, after_ms: int) -> Occurrence | None:
        """The first owed occurrence later than `after_ms`."""
        after_ms, _ = self.clip(after_ms, after_ms)
        instant = self.timetable.after(after_ms)
        if instant is None or (self.last_owed_ms is not None and instant > self.last_owed_ms):
            return None
        return self.fires(instant)

    def owes(self, scheduled_for_ms: int) -> bool:
        """Whether this instant is one of the owed occurrences."""
        return bool(self.between(scheduled_for_ms - 1, scheduled_for_ms, 1))

    def fires(self, scheduled_for_ms: int) -> Occurrence:
        """The occurrence with its two times."""
        return Occurrence(
            scheduled_for_ms=scheduled_for_ms, fire_after_ms=scheduled_for_ms + self.offset_ms
        )


def owing(schedule: Schedule) -> Owing:
    """The owed occurrences of a stored schedule."""
    return Owing(
        timetable=compile_trigger(schedule.definition.trigger),
        offset_ms=schedule.definition.offset_ms,
        owed_after_ms=schedule.owed_after_ms,
        start_at_ms=schedule.definition.start_at_ms,
        last_owed_ms=schedule.last_owed_ms,
    )


def computable(schedule: Schedule) -> Owing:
    """Past and future occurrences as the row alone tells them (SPEC §9).

    They reach back beyond its creation, as its timetable does; but with `max_runs`, whose first one
    counts from there.
    """
    counted = schedule.definition.max_runs is not None
    return replace(owing(schedule), owed_after_ms=schedule.counted_after_ms if counted else _EVER)


def last_owed_ms(definition: Definition, counted_after_ms: int) -> int | None:
    """The occurrence after which the schedule is complete; None when it has no end in sight.

    `max_runs` counts the occurrences later than `counted_after_ms` (creation or trigger change),
    skipped ones too, so the answer depends on nothing that happened since. A schedule whose end
    lies before its first occurrence owes nothing: the answer is then `counted_after_ms`.
    """
    timetable = compile_trigger(definition.trigger)
    bounds: list[int] = []
    if isinstance(definition.trigger, AtTrigger):
        bounds.append(definition.trigger.at_ms)
    if definition.end_at_ms is not None:
        bounds.append(timetable.until(definition.end_at_ms) or counted_after_ms)
    if definition.max_runs is not None:
        after_ms = max(counted_after_ms, (definition.start_at_ms or 0) - 1)
        nth = timetable.nth(after_ms, definition.max_runs)
        if nth is not None:
            bounds.append(nth)
    return min(bounds) if bounds else None


_EVER = -(2**62)
"""Before any instant."""
