"""The span and the spread of a backfill, by arithmetic alone (SPEC §6)."""

from typing import Any

import pytest

from engine.core.backfill import BACKFILL_OCCURRENCES_MAX, BackfillRun, Span, span_of, spread
from engine.core.document import read_schedule
from engine.core.errors import Invalid
from engine.core.identity import format_instant, parse_instant
from engine.core.model import Schedule

NOON_MS = parse_instant("2026-11-30T12:00:00Z")
MINUTE_MS = 60_000


def schedule_of(**document: Any) -> Schedule:
    """A schedule made at noon."""
    document = {"every": 60, "target": {"url": "http://h/"}} | document
    return Schedule(
        definition=read_schedule(document, tenant="default", name="x").definition,
        pause=None,
        counted_after_ms=NOON_MS,
        owed_after_ms=NOON_MS,
        last_owed_ms=None,
        revision=1,
        created_at_ms=NOON_MS,
        updated_at_ms=NOON_MS,
    )


def look(schedule: Schedule, begin: str, end: str, **known: int) -> Span:
    """The span of a backfill asked for at 13:00, between two times of day."""
    now_ms = NOON_MS + 60 * MINUTE_MS
    known = {"now_ms": now_ms, "floor_ms": 0, "planned_ms": now_ms + 5_000} | known
    bounds = (parse_instant(f"2026-11-30T{text}Z") for text in (begin, end))
    return span_of(schedule, *bounds, **known)


def spread_all(span: Span, found: list[int], **rest: int) -> list[BackfillRun]:
    """In two parts, as a long one is written."""
    parts = (range(1), range(1, len(found)))
    return [run for part in parts for run in spread(span, found, part, **rest)]


def instants(span: Span) -> list[str]:
    found = span.owing.between(span.after_ms, span.until_ms, 10_000)
    return [format_instant(ms)[11:16] for ms in found]


@pytest.mark.parametrize("jitter", [0, 30, 900])
def test_from_is_in_it_and_to_is_not_whatever_the_jitter(jitter: int) -> None:
    span = look(schedule_of(jitter_seconds=jitter), "12:05:00", "12:10:00")
    assert instants(span) == ["12:05", "12:06", "12:07", "12:08", "12:09"]


def test_it_reaches_back_beyond_the_schedules_creation() -> None:
    assert instants(look(schedule_of(), "11:58:00", "12:02:00")) == [
        "11:58",
        "11:59",
        "12:00",
        "12:01",
    ]


def test_a_counted_schedule_is_not_filled_before_the_first_that_it_counts() -> None:
    assert instants(look(schedule_of(max_runs=9), "11:58:00", "12:02:00")) == ["12:01"]


def test_it_does_not_reach_beyond_the_history() -> None:
    floor_ms = NOON_MS + 7 * MINUTE_MS
    assert instants(look(schedule_of(), "12:05:00", "12:09:00", floor_ms=floor_ms)) == [
        "12:07",
        "12:08",
    ]


def test_the_bounds_of_the_schedule_hold() -> None:
    schedule = schedule_of(start_at="2026-11-30T12:06:00Z")
    assert instants(look(schedule, "12:05:00", "12:08:00")) == ["12:06", "12:07"]


def test_what_is_past_its_deadline_is_left_alone() -> None:
    schedule = schedule_of(deadline_seconds=120, jitter_seconds=0)
    assert instants(look(schedule, "12:30:00", "13:00:00")) == ["12:58", "12:59"]


def test_what_is_to_come_is_the_planners() -> None:
    """Its time has come nominally, but with its offset it is not planned yet."""
    schedule = schedule_of(jitter_seconds=900)
    offset_ms = schedule.definition.offset_ms
    assert MINUTE_MS < offset_ms < 15 * MINUTE_MS
    planned_ms = NOON_MS + 50 * MINUTE_MS + offset_ms
    assert instants(look(schedule, "12:48:00", "13:30:00", planned_ms=planned_ms)) == [
        "12:48",
        "12:49",
        "12:50",
    ]
    assert instants(look(schedule_of(jitter_seconds=0), "12:59:00", "23:00:00")) == [
        "12:59",
        "13:00",
    ]


def test_before_its_creation_nothing_is_the_planners() -> None:
    """The planner will never plan what the schedule does not owe."""
    schedule = schedule_of(jitter_seconds=900)
    span = look(schedule, "11:58:00", "12:03:00", now_ms=NOON_MS + 500, planned_ms=NOON_MS + 5_000)
    assert instants(span) == ["11:58", "11:59", "12:00"]


def test_too_long_a_span_is_refused_with_the_limit() -> None:
    schedule = schedule_of(every=1)
    with pytest.raises(Invalid) as refusal:
        span_of(
            schedule,
            NOON_MS - BACKFILL_OCCURRENCES_MAX * 1_000,
            NOON_MS + 1,
            now_ms=NOON_MS + 500,
            floor_ms=0,
            planned_ms=NOON_MS,
        )
    [fault] = refusal.value.faults
    assert fault.pointer == "/to"
    assert "100,001 occurrences and one call takes 100,000" in fault.detail


def test_the_ith_of_n_is_due_in_the_ith_part_of_the_spread() -> None:
    span = look(schedule_of(jitter_seconds=0), "12:00:00", "12:50:00")
    found = span.owing.between(span.after_ms, span.until_ms, 10_000)
    now_ms = NOON_MS + 60 * MINUTE_MS
    # 50 runs at half of 2 a second take 50 s.
    runs = spread_all(span, found, now_ms=now_ms, rate=2)
    assert [run.scheduled_for_ms for run in runs] == found
    parts = [(run.due_ms - now_ms) // 1_000 for run in runs]
    assert parts == list(range(50))


def test_few_are_spread_over_ten_seconds_and_none_is_due_before_it_may_fire() -> None:
    schedule = schedule_of(jitter_seconds=900)
    span = look(schedule, "11:00:00", "11:02:00")
    found = span.owing.between(span.after_ms, span.until_ms, 10)
    now_ms = NOON_MS + 60 * MINUTE_MS
    late = spread_all(span, found, now_ms=now_ms, rate=1_000)
    assert [(run.due_ms - now_ms) // 5_000 for run in late] == [0, 1]
    soon = spread_all(span, found, now_ms=found[0], rate=1_000)
    assert [run.due_ms for run in soon] == [run.fire_after_ms for run in soon]
