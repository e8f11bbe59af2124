"""Who is named as firing most, and with how many runs: those that are owed."""

from engine.core.herd_document import Span
from engine.core.herd_top import top
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd, Sampled

NOON = 1_796_040_000  # 2026-11-30T12:00:00Z
DAY = Span(from_s=NOON, to_s=NOON + 86_400)


def crowd(every: int, schedules: int = 1, **bounds: int) -> Crowd:
    trigger = IntervalTrigger(every_seconds=every, phase_seconds=0)
    return Crowd(timetable_id=every, trigger=trigger, counts={0: schedules}, **bounds)


def sampled(crowd: Crowd, host: str = "h:1") -> Sampled:
    return Sampled(dues=crowd.dues, tenant="t", url=f"http://{host}/", schedules=crowd.schedules)


def test_a_timetable_has_the_runs_that_its_schedules_owe_and_without_any_no_name():
    crowds = [
        crowd(60, 2),
        crowd(60, 3, after_s=NOON + 86_279),  # 11:58 and 11:59 of the next day.
        crowd(3_600, until_s=NOON + 7_200),  # 12:00, 13:00 and 14:00.
        crowd(61, after_s=NOON + 10 * 86_400),
        crowd(63, until_s=NOON - 1),
    ]
    named = top(crowds, [], DAY).timetables
    assert list(named) == [("every 60 s", 2 * 1_440 + 3 * 2), ("every 3600 s", 3)]


def test_hosts_and_tenants_have_what_their_own_schedules_owe():
    stays, ends = crowd(60), crowd(60, until_s=NOON + 60)
    over = crowd(60, until_s=NOON - 1)
    sample = [sampled(stays, "stays:1"), sampled(ends, "ends:1"), sampled(over, "over:1")]
    found = top([stays, ends, over], sample, DAY)
    assert list(found.hosts) == [("stays:1", 1_440), ("ends:1", 2)]
    assert list(found.tenants) == [("t", 1_442)]


def test_a_sample_stands_for_all_that_are_counted():
    many = crowd(3_600, 1_000)
    part = Sampled(dues=many.dues, tenant="t", url="http://u:p@h:1/x", schedules=10)
    assert list(top([many], [part], DAY).hosts) == [("h:1", 24_000)]


def test_what_was_written_between_the_count_and_the_sample_is_left_out():
    known, new = crowd(3_600), crowd(60)
    found = top([known], [sampled(known), sampled(new, "new:1")], DAY)
    assert list(found.hosts) == [("h:1", 24)]
