"""Where a run's time went, by hand and for whatever the clocks may do."""

from hypothesis import given
from hypothesis import strategies as st

from engine.core.attribution import OBJECTIVE, Attribution, Leg, attribute, attribute_run
from engine.core.model import Attempt, Outcome, Run, RunTrigger, State, Timing

T = 1_796_040_000_000  # 2026-11-30T12:00:00Z


def attempt(number: int, started_ms: int, ended_ms: int | None, timing: Timing | None) -> Attempt:
    return Attempt(
        number=number,
        started_at_ms=started_ms,
        ended_at_ms=ended_ms,
        outcome=None if ended_ms is None else Outcome(name="success", status=200),
        timing=timing,
    )


def run(**changes: int | None) -> Run:
    instants = {"fire_after_ms": T + 40_000, "planned_at_ms": T + 35_000, **changes}
    return Run(
        schedule_id="sch_x",
        schedule_name="x",
        scheduled_for_ms=T,
        next_attempt_at_ms=None,
        state=State.SUCCEEDED,
        reason=None,
        trigger=RunTrigger.SCHEDULE,
        attempt_count=1,
        first_attempt_at_ms=None,
        ended_at_ms=None,
        **instants,  # type: ignore[arg-type]  # mypy sees one type for all of them.
    )


def test_every_component_by_hand() -> None:
    first = Timing(waited_ms=9_000, held_ms=1_000, flow_ms=2_000, bucket_ms=3_000, journal_ms=4)
    last = Timing(waited_ms=7, connect_ms=30, first_byte_ms=150)
    found = attribute_run(
        run(),
        [
            # Moved from :40 to :42 by a spread, started at :51.
            attempt(1, T + 51_000, T + 52_000, first),
            attempt(2, T + 60_000, T + 60_200, last),
        ],
    )
    assert found == Attribution(
        jitter=40_000,
        planning=0,
        held=3_000,
        queue=2_996,
        bucket=3_000,
        flow=2_000,
        journal=4,
        retry=9_000,
        connect=30,
        first_byte=120,
        body=50,
    )
    assert sum(found) == 60_200


def test_the_objectives_components_are_the_lateness_of_the_first_attempt() -> None:
    timing = Timing(waited_ms=5_000, held_ms=9, flow_ms=99, bucket_ms=999)
    attempts = [
        attempt(1, T + 50_000, T + 51_000, timing),
        attempt(2, T + 90_000, T + 91_000, Timing(waited_ms=30_000, bucket_ms=30_000)),
    ]
    found = attribute_run(run(), attempts)
    assert found is not None
    assert sum(getattr(found, name) for name in OBJECTIVE) == 10_000


def test_what_was_planned_late_is_held_only_from_then_on() -> None:
    timing = Timing(waited_ms=20_000, held_ms=18_500, bucket_ms=700)
    found = attribute_run(
        run(planned_at_ms=T + 58_000), [attempt(1, T + 60_000, T + 60_000, timing)]
    )
    assert found is not None
    assert (found.planning, found.held, found.bucket, found.queue) == (18_000, 500, 700, 800)


def test_of_two_causes_at_once_the_earlier_in_the_order_counts() -> None:
    timing = Timing(waited_ms=1_000, held_ms=400, flow_ms=900, bucket_ms=1_000, journal_ms=5)
    found = attribute_run(run(), [attempt(1, T + 41_000, T + 41_000, timing)])
    assert found is not None
    assert (found.held, found.flow, found.bucket, found.journal) == (400, 600, 0, 0)


def test_without_recorded_times_a_wait_is_queue_and_an_exchange_first_byte() -> None:
    found = attribute_run(run(planned_at_ms=None), [attempt(1, T + 43_000, T + 43_500, None)])
    assert found is not None
    assert (found.queue, found.first_byte, sum(found)) == (3_000, 500, 43_500)


def test_attempts_that_did_not_end_are_retry_and_never_the_last() -> None:
    crashed, ended = (
        attempt(1, T + 40_000, None, None),
        attempt(2, T + 50_000, T + 50_001, Timing()),
    )
    under_way = attempt(3, T + 60_000, None, None)
    assert attribute_run(run(), [crashed]) is None
    found = attribute_run(run(), [crashed, ended, under_way])
    assert found is not None
    assert (found.retry, sum(found)) == (10_000, 50_001)


def test_a_clock_set_back_behind_the_scheduled_instant_leaves_nothing_to_attribute() -> None:
    found = attribute_run(run(), [attempt(1, T + 40_000, T - 5_000, Timing(waited_ms=3))])
    assert found == Attribution(*[0] * 11)


INSTANTS = st.integers(T - 1_000_000, T + 1_000_000)
TIMINGS = st.none() | st.builds(Timing, *[st.integers(0, 2_000_000)] * 7)
LEGS = st.builds(Leg, INSTANTS, INSTANTS, TIMINGS)


@given(INSTANTS, INSTANTS, st.none() | INSTANTS, LEGS, LEGS)
def test_whatever_the_clocks_did_no_component_is_negative_and_they_add_up(
    scheduled_for_ms: int, fire_after_ms: int, planned_at_ms: int | None, first: Leg, last: Leg
) -> None:
    found = attribute(
        scheduled_for_ms=scheduled_for_ms,
        fire_after_ms=fire_after_ms,
        planned_at_ms=planned_at_ms,
        first=first,
        last=last,
    )
    assert min(found) >= 0
    assert sum(found) == max(0, last.ended_ms - scheduled_for_ms)
