"""Which changes of jitter are advised, and when none is."""

from dataclasses import replace

from engine.core.bucket_simulation import Bucket
from engine.core.herd_advice import CHANGES_MAX, advise
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd, Singles, draw
from engine.core.spreading import Deadlines

NOON = 1_796_040_000  # 2026-11-30T12:00:00Z
BUCKET = Bucket(rate=100, burst=10)


def crowd(number: int, phase: int, schedules: int) -> Crowd:
    trigger = IntervalTrigger(every_seconds=3600, phase_seconds=phase)
    return Crowd(timetable_id=number, trigger=trigger, counts={0: schedules})


def changes(*crowds: Crowd, deadlines: Deadlines | None = None) -> list[tuple[int, int]]:
    """(timetable, jitter) of each change that is advised."""
    outlook = draw(crowds, Singles(), NOON, NOON + 7200)
    advice = advise(outlook, crowds, deadlines or {}, BUCKET, from_s=NOON)
    assert advice.excess_left <= advice.excess
    return [(change.crowd.timetable_id, change.jitter_seconds) for change in advice.changes]


def test_nothing_is_advised_when_the_objective_is_met():
    assert changes(crowd(1, 0, 1_000)) == []


def test_the_heaviest_timetable_gets_the_least_jitter_that_buys_nearly_all():
    assert changes(crowd(1, 0, 5_000), crowd(2, 0, 10)) == [(1, 60)]


def test_changes_go_on_until_the_objective_is_met():
    assert changes(crowd(1, 0, 5_000), crowd(2, 1800, 4_000)) == [(2, 60), (1, 60)]


def test_a_timetable_whose_deadlines_leave_no_room_is_not_named():
    assert changes(crowd(1, 0, 5_000), deadlines={(1, None): {1: 5_000}}) == []


def test_nothing_is_advised_where_jitter_cannot_help():
    advised = changes(*(crowd(number, number, 400_000) for number in range(CHANGES_MAX + 2)))
    assert len(advised) <= CHANGES_MAX


def test_nothing_is_advised_for_what_recurs_faster_than_it_leaves():
    trigger = IntervalTrigger(every_seconds=60, phase_seconds=0)
    minutely = Crowd(timetable_id=1, trigger=trigger, counts={0: 6_100})
    assert changes(minutely) == []
    assert changes(replace(minutely, counts={0: 5_900})) == [(1, 60)]
