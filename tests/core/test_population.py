"""Curves from timetables and offsets, held against a plain loop."""

from hypothesis import given
from hypothesis import strategies as st

from engine.core.model import AtTrigger, IntervalTrigger
from engine.core.population import Crowd, Outlook, Singles, draw, minus
from engine.core.timetable import read_cron
from engine.core.what_if import together

NOON = 1_796_040_000  # 2026-11-30T12:00:00Z


def crowd(every: int, phase: int, counts: dict[int, int], **bounds: int) -> Crowd:
    trigger = IntervalTrigger(every_seconds=every, phase_seconds=phase)
    return Crowd(timetable_id=every, trigger=trigger, counts=counts, **bounds)


def busy(curve: list[int]) -> dict[int, int]:
    return {second: runs for second, runs in enumerate(curve) if runs}


def test_demand_is_at_the_occurrence_and_planned_at_its_offsets():
    outlook = draw([crowd(3600, 0, {0: 2, 7: 5, 899: 1})], Singles(), NOON - 5, NOON + 1000)
    assert busy(outlook.demand) == {5: 8}
    assert busy(outlook.planned) == {5: 2, 12: 5, 904: 1}


def test_what_falls_behind_the_end_of_the_span_is_left_out_of_planned():
    outlook = draw([crowd(3600, 0, {0: 2, 7: 5})], Singles(), NOON, NOON + 7)
    assert busy(outlook.demand) == {0: 7}
    assert busy(outlook.planned) == {0: 2}


def test_only_runs_of_the_first_minute_of_an_hour_are_the_herds():
    crowds = [crowd(3600, 0, {3: 4}), crowd(3600, 59, {0: 2}), crowd(3600, 60, {0: 1})]
    outlook = draw(crowds, Singles(), NOON, NOON + 100)
    assert busy(outlook.herd) == {3: 4, 59: 2}
    assert busy(outlook.planned) == {3: 4, 59: 2, 60: 1}


def test_a_crowd_owes_nothing_at_or_before_after_and_nothing_later_than_until():
    bounded = crowd(10, 0, {0: 1}, after_s=NOON + 10, until_s=NOON + 30)
    outlook = draw([bounded], Singles(), NOON, NOON + 60)
    assert busy(outlook.demand) == {20: 1, 30: 1}


def test_a_fixed_cron_fires_once_where_the_clock_jumps():
    berlin = read_cron("30 2 * * *", schedule_id=None, timezone="Europe/Berlin")
    start = 1_806_190_200 - 86_400  # 28 March 2027 has no 02:30 in Berlin.
    outlook = draw(
        [Crowd(timetable_id=1, trigger=berlin, counts={0: 3})], Singles(), start, start + 86_400
    )
    assert sum(outlook.demand) == 3


def test_singles_are_added_by_second_and_those_outside_are_not():
    singles = Singles(demand={NOON: 1, NOON - 9: 1}, planned={NOON + 1: 2}, herd={NOON + 2: 3})
    outlook = draw([], singles, NOON, NOON + 5)
    assert (outlook.demand, outlook.planned, outlook.herd) == (
        [1, 0, 0, 0, 0],
        [0, 2, 3, 0, 0],
        [0, 0, 3, 0, 0],
    )


def test_a_one_shot_trigger_is_an_ordinary_crowd():
    once = Crowd(timetable_id=0, trigger=AtTrigger(at_ms=NOON * 1000), counts={2: 7})
    assert busy(draw([once], Singles(), NOON, NOON + 9).planned) == {2: 7}


def test_what_is_taken_out_and_put_back_leaves_the_curves_as_they_were():
    crowds = [crowd(60, 1, {0: 3, 5: 1}), crowd(3600, 0, {59: 9})]
    both, one = (draw(some, Singles(), NOON, NOON + 7200) for some in (crowds, crowds[:1]))
    assert minus(both, one) == draw(crowds[1:], Singles(), NOON, NOON + 7200)
    assert together(minus(both, one), one) == both


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, 7, 60, 300, 3600]),
            st.integers(0, 59),
            st.dictionaries(st.integers(0, 899), st.integers(1, 4_000_000), max_size=4),
        ),
        max_size=5,
    ),
    st.integers(-2000, 2000),
    st.integers(1, 1500),
)
def test_lanes_add_what_a_plain_loop_adds(
    kinds: list[tuple[int, int, dict[int, int]]], shift: int, length: int
):
    start = NOON + shift
    curves = [[0] * length for _ in range(4)]
    demand, planned, herd, sharp = curves
    expected = Outlook(start_s=start, demand=demand, planned=planned, herd=herd, sharp=sharp)
    for every, phase, counts in kinds:
        for second in range(start, start + length):
            if (second - phase) % every == 0:
                for offset, count in counts.items():
                    expected.demand[second - start] += count
                    expected.sharp[second - start] += count if counts.keys() == {0} else 0
                    if second + offset < start + length:
                        expected.planned[second + offset - start] += count
                        if second % 3600 < 60:
                            expected.herd[second + offset - start] += count
    crowds = [crowd(every, phase, counts) for every, phase, counts in kinds]
    assert draw(crowds, Singles(), start, start + length) == expected
