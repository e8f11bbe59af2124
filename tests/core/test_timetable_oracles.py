"""Timetables against two oracles that share no code with them: more than 100,000 questions each.

A question is an (expression, zone, instant). Every change of clocks of 2026 to 2029 in every zone
is looked at, minute by minute; cronsim is also asked about any time between.
"""

import random
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice

import pytest

from engine.core.timetable import Timetable, compile_trigger, read_cron
from tests.core.oracles import (
    ZONES,
    Scan,
    cronsim_next,
    cronsim_reads,
    is_steady,
    pinned_zone,
    random_cron,
    transitions,
)

FIRST_YEAR, END_YEAR = 2026, 2030
EXPRESSIONS = 100  # For each zone and oracle.
INSTANTS = 20  # For each expression.
PAST_AND_FUTURE = 10**15


def timetable(cron: str, zone: str, **policies: str) -> Timetable:
    return compile_trigger(read_cron(cron, schedule_id=None, timezone=zone, **policies))


def looked_at(rng: random.Random, zone: str) -> list[datetime]:
    """The hours in which the clocks change; some days where they never do."""
    start = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=rng.randrange(4 * 365)) for _ in range(3)]
    return transitions(pinned_zone(zone), FIRST_YEAR, END_YEAR) or days


def hours_around(zone: str, change: datetime) -> list[int]:
    minutes = (-90, -30, 0, 30, 90)
    return [(change + timedelta(minutes=n)).astimezone(pinned_zone(zone)).hour for n in minutes]


def test_the_comparison_is_as_large_as_it_claims():
    assert len(set(ZONES)) >= 40
    assert len(ZONES) * EXPRESSIONS * INSTANTS >= 100_000


@pytest.mark.parametrize("zone", ZONES)
def test_a_minute_scanner_agrees_around_every_change_of_clocks(zone):
    rng = random.Random(f"scan {zone}")
    changes = looked_at(rng, zone)
    scans = [
        Scan(pinned_zone(zone), change - timedelta(hours=26), change + timedelta(hours=30))
        for change in changes
    ]
    for change, scan in islice(cycle(zip(changes, scans, strict=True)), EXPRESSIONS):
        cron = random_cron(rng, hours_around(zone, change))
        policies = {
            "dst_gap": rng.choice(["shift", "shift", "skip"]),
            "dst_fold": rng.choice(["first", "first", "both"]),
        }
        expected = [second * 1000 for second in scan.occurrences(cron, **policies)]
        table = timetable(cron, zone, **policies)
        start, end = scan.start_s * 1000 - 1, scan.end_s * 1000 - 1
        question = f"{cron!r} in {zone}, {policies}, {change}"
        assert table.between(start, end, 10**6) == expected, question
        for _ in range(INSTANTS):
            near = int(change.timestamp() * 1000) + rng.randint(-7_200_000, 7_200_000)
            instant = rng.choice([near, rng.randint(start, end)])
            passed = bisect_right(expected, instant)
            following = table.after(instant) or PAST_AND_FUTURE
            preceding = table.until(instant) or -PAST_AND_FUTURE
            if passed < len(expected):
                assert following == expected[passed], question
            else:
                assert following > end, question
            if passed > 0:
                assert preceding == expected[passed - 1], question
            else:
                assert preceding <= start, question
            assert table.count(start, instant) == passed, question
            if expected:
                n = rng.randint(1, len(expected))
                assert table.nth(start, n) == expected[n - 1], question


@pytest.mark.parametrize("zone", ZONES)
def test_cronsim_agrees_wherever_its_rules_are_ours(zone):
    rng = random.Random(f"cronsim {zone}")
    changes = looked_at(rng, zone)
    steady = is_steady(pinned_zone(zone), changes)
    for change in islice(cycle(changes), EXPRESSIONS):
        cron = random_cron(rng, hours_around(zone, change))
        while not cronsim_reads(cron, steady=steady):
            cron = random_cron(rng, hours_around(zone, change))
        table = timetable(cron, zone)
        for _ in range(INSTANTS):
            near = change + timedelta(seconds=rng.randint(-200_000, 200_000))
            anywhere = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(
                minutes=rng.randrange(2_100_000)
            )
            instant = rng.choice([near, near, anywhere])
            expected = cronsim_next(cron, pinned_zone(zone), instant)
            following = table.after(int(instant.timestamp() * 1000))
            assert following == int(expected.timestamp() * 1000), f"{cron!r} in {zone}, {instant}"
