"""Backfill: which occurrences of the past may have a run now, and when each becomes due (SPEC §6).

A backfill is asked for by `scheduled_for`, half-open: `from` is in it and `to` is not, and jitter
has no say, so that two that touch neither overlap nor leave a gap. It plans what the schedule as it
is now says of that span, whether or not the schedule was there or rested at the time, with three
exceptions. What the planner has yet to plan is the planner's. What is older than the history is
left alone: whether it ran cannot be known any more. And what is past its deadline is worthless.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.core.errors import Fault, Invalid
from engine.core.missed import due_ms, spread_ms
from engine.core.model import Schedule
from engine.core.owed import Owing, computable

BACKFILL_OCCURRENCES_MAX = 100_000
"""Occurrences in the span of one call: a day of seconds, written in some ten on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The occurrences of `schedule` with after < scheduled_for <= until: what a backfill sees."""

    schedule: Schedule
    owing: Owing
    after_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRun:
    """A run to plan: its two times, and when it becomes due."""

    scheduled_for_ms: int
    fire_after_ms: int
    due_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """What was planned, or would be; `first` and `last` by `scheduled_for`, None for nothing.

    The last run becomes due before `spread_until`.
    """

    count: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    spread_until_ms: int | None = None


def span_of(
    schedule: Schedule, from_ms: int, to_ms: int, *, now_ms: int, floor_ms: int, planned_ms: int
) -> Span:
    """What `from <= scheduled_for < to` leaves to a backfill. Raises `Invalid`: too much at once.

    `floor_ms`: how far back history is whole. `planned_ms`: up to which `fire_after` the planner
    has come; it will not plan what the schedule does not owe.
    """
    definition = schedule.definition
    after_ms = max(from_ms, floor_ms) - 1
    if definition.deadline_seconds is not None:
        after_ms = max(after_ms, now_ms - definition.deadline_seconds * 1_000 - 1)
    passed_ms = max(schedule.owed_after_ms, planned_ms - definition.offset_ms)
    span = Span(
        schedule=schedule,
        owing=computable(schedule),
        after_ms=after_ms,
        until_ms=min(to_ms - 1, now_ms, passed_ms),
    )
    count = span.owing.count(span.after_ms, span.until_ms)
    if count > BACKFILL_OCCURRENCES_MAX:
        raise Invalid(Fault("/to", _TOO_MANY.format(count=count, limit=BACKFILL_OCCURRENCES_MAX)))
    return span


def spread(
    span: Span, instants: Sequence[int], part: range, *, now_ms: int, rate: int
) -> Iterator[BackfillRun]:
    """The runs of a part of these occurrences, all over as long as half of the rate takes."""
    spread_over_ms = spread_ms(len(instants), rate)
    for index in part:
        fires = span.owing.fires(instants[index])
        due = due_ms(
            span.schedule.definition.schedule_id,
            index,
            len(instants),
            resume_ms=now_ms,
            spread_ms=spread_over_ms,
            fire_after_ms=fires.fire_after_ms,
        )
        yield BackfillRun(
            scheduled_for_ms=fires.scheduled_for_ms, fire_after_ms=fires.fire_after_ms, due_ms=due
        )


_TOO_MANY = (
    "the span holds {count:,} occurrences and one call takes {limit:,}: write an earlier end,"
    " and ask for the rest afterwards"
)
