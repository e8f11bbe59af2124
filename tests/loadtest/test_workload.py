"""Workloads: the same for the same seed, owed by division, written as cron."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from cronsim import CronSim

from loadtest.workload import (
    MIDNIGHT_MS,
    NOON_MS,
    Wanted,
    count_owed,
    index_of,
    patience_ms,
    read_mix,
    schedules,
)
from tests.loadtest.experiments import experiment

DAY_MS = 86_400_000


def test_noon_is_a_full_hour_of_the_written_day():
    assert datetime.fromtimestamp(NOON_MS / 1_000, UTC).isoformat() == "2027-01-12T12:00:00+00:00"
    assert NOON_MS - MIDNIGHT_MS == DAY_MS // 2


def test_a_seed_gives_the_same_names_and_another_gives_others():
    names = [wanted.name for wanted in schedules(experiment(seed="a"))]
    assert names == [wanted.name for wanted in schedules(experiment(seed="a"))]
    assert set(names).isdisjoint(wanted.name for wanted in schedules(experiment(seed="b")))
    assert [index_of(name) for name in names] == list(range(200))


def test_a_foreign_name_has_no_place():
    assert index_of("loadtest-clock-probe") == -1


@pytest.mark.parametrize("period_s", [60, 300, 900, 3_600, 86_400])
@pytest.mark.parametrize("phase_s", [0, 10 * 3_600])
def test_what_is_owed_is_what_the_cron_line_says(period_s, phase_s):
    wanted = Wanted(
        index=0,
        name="x-0000000",
        period_s=period_s,
        phase_s=phase_s if period_s == 86_400 else 0,
        jitter_seconds=0,
        receiver=0,
    )
    owed = wanted.owed(MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS)
    just_before = datetime.fromtimestamp(MIDNIGHT_MS / 1_000 - 1, UTC)
    cron = CronSim(wanted.document(["http://127.0.0.1:9/"])["cron"], just_before)
    expected = [int(wall.timestamp()) * 1_000 for wall, _ in zip(cron, owed, strict=False)]
    assert list(owed) == expected
    assert len(owed) == 86_400 // period_s


def test_the_day_of_a_million_schedules_is_five_point_six_million_runs():
    day = experiment(scenario="fleet", schedules=1_000, mix="1h=20,1d=80", seconds=86_400)
    assert count_owed(day) == 5_600


def test_any_hundred_of_a_fleet_hold_the_whole_mix():
    fleet = list(schedules(experiment(scenario="fleet", schedules=300)))
    periods = Counter(wanted.period_s for wanted in fleet[100:200])
    assert periods == {60: 10, 300: 20, 900: 15, 3_600: 35, 86_400: 20}


def test_a_fleet_jitters_by_a_tenth_of_the_period_at_most():
    fleet = schedules(experiment(scenario="fleet", schedules=100, jitter_seconds=60))
    assert {w.period_s: w.jitter_seconds for w in fleet}[60] == 6


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 60),
        ({"jitter_seconds": 5}, 65),
        ({"fail_rate": 0.1}, 700),
        ({"delay_ms": 2_000}, 60 + 2 * 200 * 2 // 20),
        ({"delay_ms": 2_000, "receivers": 100}, 60 + 2 * 200 * 2 // 64),
        ({"delay_ms": 60_000}, 700 + 8 * 15),
    ],
)
def test_what_may_take_long_is_waited_for(settings, seconds):
    given = {"jitter_seconds": 0, "rate": 1_000_000, **settings}
    assert patience_ms(experiment(**given)) // 1_000 == seconds


@pytest.mark.parametrize("text", ["1h=20", "2m=100", "1h", "h=100", "1h=60,1d=41"])
def test_a_mix_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match=r"PERIOD=PERCENT|add up to 100"):
        read_mix(text)
