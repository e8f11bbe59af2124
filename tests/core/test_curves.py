"""The three curves hold what the hooks say, over the window that a herd deserves."""

import pytest

from engine.core.curves import Curves

TOP_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z
HOUR_MS = 3_600_000


def herd(*fire_after: int) -> Curves:
    curves = Curves(TOP_MS - 2 * HOUR_MS)
    for seconds in fire_after:
        curves.arrive(TOP_MS, TOP_MS + seconds * 1_000)
    return curves


def test_a_herds_window_ends_with_its_last_planned_run() -> None:
    figures = herd(0, 5, 9).herd(TOP_MS, last_ms=TOP_MS + 9_999, now_ms=TOP_MS + 75_000)
    assert (figures.seconds, figures.jitter_seconds, figures.runs) == (10, 10, 3)
    assert (figures.demand.busiest, figures.planned.busiest) == (3, 1)
    assert figures.observed_seconds == 75


def test_a_herd_that_was_not_spread_is_measured_against_the_default_jitter() -> None:
    figures = herd(0, 0, 30).herd(TOP_MS, last_ms=TOP_MS, now_ms=TOP_MS + 75_000)
    assert (figures.seconds, figures.jitter_seconds) == (60, 0)
    assert figures.planned.runs == 3
    assert figures.runs == 2  # What was planned until the herd's last run, for the volume.
    assert figures.planned.amplification == 40


def test_a_herd_under_way_is_measured_so_far() -> None:
    curves = herd(*range(60))
    figures = curves.herd(TOP_MS, last_ms=TOP_MS + 59_999, now_ms=TOP_MS + 12_400)
    assert (figures.seconds, figures.planned.runs, figures.jitter_seconds) == (12, 12, 60)


def test_only_periods_that_were_seen_whole_are_judged() -> None:
    curves = Curves(TOP_MS - 850_000)
    figures = curves.window(TOP_MS, seconds=60, now_ms=TOP_MS + 60_000)
    assert sorted(figures.planned.alignment) == [1, 30, 60, 900]


def test_starts_are_counted_by_what_they_are() -> None:
    curves = Curves(TOP_MS)
    for trigger, attempt in (("schedule", 1), ("schedule", 2), ("catch_up", 1), ("catch_up", 3)):
        curves.start(TOP_MS + 500, trigger=trigger, attempt=attempt)
    curves.start(TOP_MS + 60_000, trigger="schedule", attempt=2)
    figures = curves.window(TOP_MS, seconds=60, now_ms=TOP_MS + 60_000)
    assert (figures.served.runs, figures.attempts) == (4, 4)
    assert (figures.retries, figures.catch_ups) == (2, 1)


def test_a_second_counts_as_held_when_a_due_run_has_waited_for_one() -> None:
    curves = Curves(TOP_MS)
    for second, waited_ms in enumerate([None, 0, 999, 1_000, 5_000]):
        now_ms = TOP_MS + second * 1_000
        oldest_ms = None if waited_ms is None else now_ms - waited_ms
        curves.sample(now_ms, oldest_due_ms=oldest_ms, rate=10)
    assert curves.window(TOP_MS, seconds=5, now_ms=TOP_MS + 5_000).held_seconds == 2


def test_a_second_that_is_sampled_twice_is_held_once() -> None:
    curves = Curves(TOP_MS)
    for now_ms in (TOP_MS + 1_001, TOP_MS + 1_999):  # A timer that wakes early, and again.
        curves.sample(now_ms, oldest_due_ms=TOP_MS - 5_000, rate=100)
    figures = curves.window(TOP_MS, seconds=5, now_ms=TOP_MS + 5_000)
    assert (figures.held_seconds, figures.idle_seconds) == (1, 1)


@pytest.mark.parametrize(
    ("rate", "waited_seconds", "started", "idle"),
    [
        (10, 1, 6, 1),
        (10, 1, 7, 0),  # One more is under way, and a fifth is what late wake-ups may lose.
        (100, 2, 158, 1),
        (100, 2, 159, 0),
        (2, 1, 1, 0),
        (1, 10, 6, 1),
        (1, 99, 7, 0),  # No further back than ten seconds.
    ],
)
def test_a_held_second_is_idle_when_less_started_than_the_bucket_grants(
    rate: int, waited_seconds: int, started: int, idle: int
) -> None:
    curves = Curves(TOP_MS)
    for number in range(started):
        back_ms = 1_000 * min(waited_seconds, 10) * (number + 1) // (started + 1)
        curves.start(TOP_MS + 30_000 - back_ms, trigger="schedule", attempt=1)
    oldest_ms = TOP_MS + 30_000 - 1_000 * waited_seconds
    curves.sample(TOP_MS + 30_000, oldest_due_ms=oldest_ms, rate=rate)
    figures = curves.window(TOP_MS, seconds=60, now_ms=TOP_MS + 60_000)
    assert (figures.held_seconds, figures.idle_seconds) == (1, idle)


def test_a_minute_of_hundredths_shows_what_a_second_hides() -> None:
    curves = Curves(TOP_MS)
    for second in range(60):
        curves.arrive(TOP_MS, TOP_MS + second * 1_000 + 370, 7)
    planned = curves.herd(TOP_MS, last_ms=TOP_MS + 59_370, now_ms=TOP_MS + 75_000).planned
    assert (planned.busiest, planned.busiest_hundredth, planned.amplification) == (7, 7, 1)
    assert round(planned.alignment[1], 9) == 1
