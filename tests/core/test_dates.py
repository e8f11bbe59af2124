"""Dates against the calendar, one day at a time."""

from datetime import datetime, timedelta

import pytest

from engine.core.cron_fields import read_fields
from engine.core.dates import DatePattern, date_pattern
from tests.core.oracles import matcher

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a date has no zone.
START, END = 10_957, 21_184  # 2000-01-01 to 2028-01-01: every kind of month.

DAYS = [
    "* * *",
    "31 * *",
    "*/10 2,4 *",
    "L * *",
    "L 2 *",
    "LW * *",
    "1W * *",
    "15W * *",
    "28W 2 *",
    "29W * *",
    "30W * *",
    "31W * *",
    "1W,15W,LW,7 * *",
    "* * 7",
    "* * MON-FRI",
    "* * 5L",
    "* * SUNL",
    "* * 1#1",
    "* * 0#5",
    "* * 7#4,fri#2,3",
    "1W * 5",
    "L * 1#1",
    "13 * 5",
    "*/2 * 1#1",
    "?/7 * 5L",
    "LW * */3",
]


def pattern(days: str) -> DatePattern:
    return date_pattern(read_fields(f"0 0 {days}").date)


def listed(days: str) -> list[int]:
    matches = matcher(["0", "0", *days.split()])
    return [day for day in range(START, END) if matches(EPOCH + timedelta(days=day))]


@pytest.mark.parametrize("days", DAYS)
def test_dates_are_found_counted_and_picked_as_if_they_were_listed(days):
    dates, expected = pattern(days), listed(days)
    assert [day for day in range(START, END) if day in dates] == expected
    assert dates.count(START, END) == len(expected)
    assert [dates.nth(START, END, n) for n in range(0, len(expected), 7)] == expected[::7]
    assert dates.nth(START, END, len(expected)) is None
    for low, high in ((START + 3, START + 500), (START + 40, END - 3), (END - 9, END - 9)):
        inside = [day for day in expected if low <= day < high]
        assert dates.first(low, high) == (inside[0] if inside else None)
        assert dates.last(low, high) == (inside[-1] if inside else None)
        assert dates.count(low, high) == len(inside)


@pytest.mark.parametrize("days", ["30 2 *", "31 4 *", "31 2,4,6,9,11 *", "30W 2 *", "*/16 * 1#2"])
def test_a_pattern_that_no_month_can_match_never_occurs(days):
    assert not pattern(days).ever()


@pytest.mark.parametrize(
    "days", ["29 2 *", "29 2 */7", "30 2 1", "31 4 fri", "29W 2 *", "*/28 2 0#5"]
)
def test_a_rare_pattern_does_occur(days):
    assert pattern(days).ever()


def test_equal_fields_share_a_pattern():
    assert pattern("* * MON-FRI") is pattern("? * 1-5")
