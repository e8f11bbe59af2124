"""What a cron fires at where the clocks jump, in every policy, and at the ends of time."""

import pytest

from engine.core.errors import Invalid
from engine.core.identity import format_instant, parse_instant
from engine.core.model import CronTrigger
from engine.core.timetable import Timetable, compile_trigger, read_cron

NEW_YORK, SAMOA = "America/New_York", "Pacific/Apia"
FOREVER = parse_instant("9999-12-31T23:59:59Z")

# Clocks in New York go from 02:00 to 03:00 at 07:00Z on 14 March 2027,
# and from 02:00 back to 01:00 at 06:00Z on 7 November 2027.
JUMPS = [
    ("30 2 * * *", "2027-03-14", {}, ["07:00"]),
    ("30 2 * * *", "2027-03-14", {"dst_gap": "skip"}, []),
    ("0,15,30 2 * * *", "2027-03-14", {}, ["07:00"]),  # Swallowed three, made up one.
    ("30 2,3 * * *", "2027-03-14", {}, ["07:00", "07:30"]),
    ("0 2,3 * * *", "2027-03-14", {}, ["07:00"]),  # The one made up is the 03:00 itself.
    ("0 2,3 * * *", "2027-03-14", {"dst_gap": "skip"}, ["07:00"]),
    ("0 1-4 * * *", "2027-03-14", {}, ["06:00", "07:00", "08:00"]),
    ("30 * * * *", "2027-03-14", {}, [f"{hour:02}:30" for hour in range(24)]),
    ("*/30 2 * * *", "2027-03-14", {}, []),
    ("10 30 2 * * *", "2027-03-14", {}, ["07:00"]),  # Seconds and all.
    ("30 1 * * *", "2027-11-07", {}, ["05:30"]),
    ("30 1 * * *", "2027-11-07", {"dst_fold": "both"}, ["05:30", "06:30"]),
    ("30 0,1,2 * * *", "2027-11-07", {}, ["04:30", "05:30", "07:30"]),
    ("0 1,2 * * *", "2027-11-07", {}, ["05:00", "07:00"]),
    ("0 1,2 * * *", "2027-11-07", {"dst_fold": "both"}, ["05:00", "06:00", "07:00"]),
    ("*/30 1 * * *", "2027-11-07", {}, ["05:00", "05:30", "06:00", "06:30"]),
    ("59 59 1 * * *", "2027-11-07", {}, ["05:59:59"]),
]


def timetable(cron: str, zone: str = "UTC", **policies: str) -> Timetable:
    return compile_trigger(read_cron(cron, schedule_id=None, timezone=zone, **policies))


def texts(found: list[int]) -> list[str]:
    return [format_instant(ms) for ms in found]


@pytest.mark.parametrize(("cron", "date", "policies", "times"), JUMPS)
def test_a_day_on_which_the_clocks_jump(cron, date, policies, times):
    table = timetable(cron, NEW_YORK, **policies)
    start = parse_instant(f"{date}T00:00:00Z") - 1
    end = start + 86_400_000
    expected = [parse_instant(f"{date}T{f'{time}:00'[:8]}Z") for time in times]
    assert table.between(start, end, 100) == expected
    assert table.count(start, end) == len(expected)
    assert table.until(end) == expected[-1] if expected else table.until(end) <= start
    assert [table.nth(start, n + 1) for n in range(len(expected))] == expected


def test_an_instant_inside_the_second_pass_comes_after_all_of_the_first():
    table = timetable("45 1 * * *", NEW_YORK)
    second_pass = parse_instant("2027-11-07T06:30:00Z")
    assert texts([table.until(second_pass), table.after(second_pass)]) == [
        "2027-11-07T05:45:00Z",
        "2027-11-08T06:45:00Z",
    ]


def test_nothing_is_counted_inside_a_second_pass_that_is_left_out():
    start, end = parse_instant("2027-11-07T06:10:00Z"), parse_instant("2027-11-07T06:40:00Z")
    assert timetable("0-59 1 * * *", NEW_YORK).count(start, end) == 0
    assert timetable("0-59 1 * * *", NEW_YORK, dst_fold="both").count(start, end) == 30


def test_a_change_of_calendar_leaves_nothing_out():
    table = timetable("0 20 31 1 *", "Antarctica/Vostok")  # 1994: from 24:00 back to 17:00.
    start = parse_instant("1994-01-31T00:00:00Z")
    assert texts(table.between(start, start + 86_400_000, 10)) == [
        "1994-01-31T13:00:00Z",
        "1994-01-31T20:00:00Z",
    ]


def test_a_change_of_calendar_makes_nothing_up():
    table = timetable("0 9 30 * *", SAMOA)
    eve = parse_instant("2011-12-29T20:00:00Z")
    assert texts(table.between(eve, eve + 70 * 86_400_000, 10)) == ["2012-01-29T19:00:00Z"]
    assert texts([table.until(eve)]) == ["2011-11-30T19:00:00Z"]


def test_a_search_reaches_over_forty_years_both_ways_and_no_further_than_dates_go():
    table = timetable("0 0 29 2 */7", "Europe/Berlin")
    early, late = parse_instant("2088-02-28T23:00:00Z"), parse_instant("2128-02-28T23:00:00Z")
    assert table.after(early) == late
    assert table.until(late - 1) == early
    assert table.between(early, late - 1, 10) == []
    assert table.count(early - 1, late) == 2
    assert table.after(FOREVER) is None
    assert table.nth(FOREVER, 1) is None
    assert table.until(0) is None


def test_the_epoch_itself_is_an_occurrence_and_nothing_is_before_it():
    table = timetable("0 0 * * *")
    assert table.after(-1) == 0
    assert table.after(-(10**15)) == 0
    assert table.until(0) == 0
    assert table.until(-1) is None
    assert table.count(-(10**15), 0) == 1


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Niue"])
def test_the_end_of_9998_is_the_end(zone):
    table = timetable("* * * * *", zone)
    assert texts([table.until(FOREVER)]) == ["9998-12-31T23:59:00Z"]
    assert table.after(table.until(FOREVER)) is None


def test_milliseconds_between_two_seconds_belong_to_neither():
    table = timetable("*/10 * * * * *")
    noon = parse_instant("2026-11-30T12:00:00Z")
    assert table.after(noon - 1) == noon
    assert table.after(noon) == noon + 10_000
    assert table.after(noon + 9_999) == noon + 10_000
    assert table.until(noon - 1) == noon - 10_000
    assert table.until(noon) == noon
    assert table.count(noon - 1, noon) == 1
    assert table.count(noon, noon + 9_999) == 0
    assert table.count(noon, noon - 100_000) == 0


def test_decades_of_seconds_are_counted_and_picked_without_being_listed():
    table = timetable("* * * * * *", NEW_YORK)
    start, end = parse_instant("2026-01-01T00:00:00Z"), parse_instant("2066-01-01T00:00:00Z")
    assert table.count(start, end) == (end - start) // 1000
    assert table.nth(start, 10**9) == start + 10**12


def test_what_an_empty_range_taught_hides_nothing_beside_it():
    hourly = timetable("0 * * * *")
    noon = parse_instant("2026-11-30T12:00:00Z")
    assert hourly.between(noon, noon + 3_599_000, 9) == []
    assert hourly.between(noon, noon + 3_600_000, 9) == [noon + 3_600_000]
    assert hourly.between(noon - 1, noon + 3_599_000, 9) == [noon]
    assert hourly.between(noon + 60_000, noon + 120_000, 9) == []


def test_no_more_are_listed_than_asked_for():
    table = timetable("0 * * * *")
    assert table.between(-1, FOREVER, 3) == [0, 3_600_000, 7_200_000]
    assert table.between(-1, FOREVER, 0) == []


@pytest.mark.parametrize(
    ("resolved", "zone"),
    [("0 0 * * 8", "UTC"), ("0 0 * * *", "Europe/Atlantis"), ("H * * * *", "UTC")],
)
def test_a_stored_trigger_that_is_no_longer_right_is_invalid(resolved, zone):
    with pytest.raises(Invalid):
        compile_trigger(CronTrigger(cron=resolved, resolved=resolved, timezone=zone))


def test_a_stored_trigger_that_never_occurs_is_a_timetable_without_occurrences():
    table = compile_trigger(CronTrigger(cron="0 0 30 2 *", resolved="0 0 30 2 *"))
    assert table.after(0) is None
    assert table.until(FOREVER) is None
    assert table.count(0, parse_instant("2100-01-01T00:00:00Z")) == 0
    assert table.nth(0, 1) is None
