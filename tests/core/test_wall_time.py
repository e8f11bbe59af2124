"""Times of day and wall seconds, against lists of them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.cron_fields import TimeFields, read_fields
from engine.core.wall_time import DAY_SECONDS, TimesOfDay, WallPattern


def some_of(high: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sets(st.integers(0, high), min_size=1, max_size=4).map(lambda n: tuple(sorted(n)))


times_of_day = st.builds(TimeFields, seconds=some_of(59), minutes=some_of(59), hours=some_of(23))


def listed(fields: TimeFields) -> list[int]:
    hours_first = product(fields.hours, fields.minutes, fields.seconds)
    return [hour * 3600 + minute * 60 + second for hour, minute, second in hours_first]


@given(times_of_day, st.integers(0, DAY_SECONDS))
def test_times_are_ranked_and_picked_as_if_they_were_listed(fields, time):
    times, expected = TimesOfDay(fields), listed(fields)
    assert times.total == len(expected)
    assert times.rank(time) == sum(other < time for other in expected)
    assert (time in times) == (time in expected)
    assert [times.pick(rank) for rank in range(times.total)] == expected


@given(times_of_day)
def test_the_shortest_gap_goes_round_midnight(fields):
    times = listed(fields)
    following = [*times[1:], times[0] + DAY_SECONDS]
    assert TimesOfDay(fields).shortest_gap() == min(
        after - before for before, after in zip(times, following, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("* * * * * *", 1),
        ("* * * * *", 60),
        ("*/7 * * * *", 240),  # From :56 to :00.
        ("0 9 * * 1-5", 86_400),
        ("59 23,0 * * *", 3_600),
        ("0,59 0 0 * * *", 59),
        ("0,50 * * * * *", 10),
        ("0,50 0,1 0 * * *", 10),
        ("0,50 * * * *", 600),
        ("30 0 0,12 * * *", 43_200),
    ],
)
def test_the_shortest_gap_of_an_expression(text, gap):
    assert TimesOfDay(read_fields(text).time).shortest_gap() == gap


@pytest.mark.parametrize(
    "text", ["15,45 7-9 20 * 1#2", "0 0 * * *", "*/7 0 9 L 1 *", "59 23 L * 5"]
)
def test_wall_seconds_are_found_counted_and_picked_as_if_they_were_listed(text):
    fields, days = read_fields(text), range(62)
    pattern, end = WallPattern(fields), len(days) * DAY_SECONDS
    dates = [day for day in days if day in pattern.dates]
    expected = [day * DAY_SECONDS + time for day in dates for time in listed(fields.time)]
    assert expected
    assert all(wall in pattern for wall in expected)
    assert [pattern.nth(0, end, index) for index in range(len(expected))] == expected
    assert pattern.nth(0, end, len(expected)) is None
    for low in range(0, end - 90_000, 7_777):
        high = low + 90_000
        inside = [wall for wall in expected if low <= wall < high]
        assert pattern.first(low, high) == (inside[0] if inside else None)
        assert pattern.last(low, high) == (inside[-1] if inside else None)
        assert pattern.count(low, high) == len(inside)
