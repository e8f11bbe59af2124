"""Bins forget what is old; the four figures have the values that theory gives them."""

from math import log, sqrt
from random import Random

import pytest

from engine.core.amplification import (
    Bins,
    amplification,
    is_significant,
    jitter_needed_seconds,
    noise_floor,
    vector_strength,
    volume,
)

NOW_MS = 1_796_040_000_000


def test_bins_count_by_width_and_show_any_window() -> None:
    bins = Bins(1_000, 8)
    for offset_ms, count in ((0, 1), (999, 2), (1_000, 5), (3_500, 7)):
        bins.add(NOW_MS + offset_ms, count)
    assert bins.window(NOW_MS, 4) == [3, 5, 0, 7]
    assert bins.window(NOW_MS + 1_500, 1) == [5]
    assert bins.window(NOW_MS - 2_000, 10) == [0, 0, 3, 5, 0, 7, 0, 0, 0, 0]


def test_bins_may_be_filled_out_of_order() -> None:
    bins = Bins(1_000, 8)
    bins.add(NOW_MS + 5_000)
    bins.add(NOW_MS + 1_000)
    assert bins.window(NOW_MS, 6) == [0, 1, 0, 0, 0, 1]


@pytest.mark.parametrize("later", [8, 9, 15, 16, 1_000_000])
def test_bins_forget_what_is_older_than_the_ring(later: int) -> None:
    bins = Bins(1_000, 8)
    for second in range(8):
        bins.add(NOW_MS + second * 1_000, second + 1)
    bins.add(NOW_MS + later * 1_000)
    kept = [second + 1 if second > later - 8 else 0 for second in range(8)]
    assert bins.window(NOW_MS, 8) == kept
    assert bins.window(NOW_MS + later * 1_000, 1) == [1]
    bins.add(NOW_MS + (later - 8) * 1_000, 99)
    assert sum(bins.window(NOW_MS + (later - 8) * 1_000, 9)) == sum(kept) + 1


def test_amplification_is_the_busiest_bin_over_the_mean() -> None:
    assert amplification([1, 1, 1, 1]) == 1
    assert amplification([0, 0, 0, 12]) == 4
    assert amplification([3, 1, 2, 2]) == 1.5
    assert amplification([0, 0]) == 0


def test_the_noise_floor_is_what_a_perfect_spread_shows() -> None:
    assert noise_floor(60, 60_000) == pytest.approx(1 + sqrt(2 * log(60) / 1_000))
    assert noise_floor(1, 500) == 1
    assert noise_floor(60, 0) == 0
    # And indeed: the mean over 200 random spreads lies between the mean bin and that bound.
    random = Random(8)
    seen = 0.0
    for _ in range(200):
        counts = [0] * 60
        for _ in range(6_000):
            counts[random.randrange(60)] += 1
        seen += amplification(counts) / 200
    assert 1.2 < seen < noise_floor(60, 6_000) < 1.3


@pytest.mark.parametrize("phase", [0, 1, 7, 29])
def test_runs_at_one_phase_have_strength_one(phase: int) -> None:
    counts = [0] * 300
    counts[phase::30] = [4] * 10
    assert vector_strength(counts, 30) == pytest.approx(1)
    assert vector_strength(counts, 60) == pytest.approx(0, abs=1e-9)


def test_runs_spread_evenly_have_strength_zero() -> None:
    assert vector_strength([5] * 120, 60) == pytest.approx(0, abs=1e-9)
    assert vector_strength([0] * 120, 60) == 0


def test_half_of_the_runs_at_one_phase_have_strength_one_half() -> None:
    counts = [1] * 60
    counts[13] += 60
    assert vector_strength(counts, 60) == pytest.approx(0.5)


def test_a_window_shorter_than_the_period_shows_the_arc_that_it_covers() -> None:
    # A quarter of the circle: chord over arc, sin(pi/4) / (pi/4).
    assert vector_strength([1] * 900, 3_600) == pytest.approx(0.9003, abs=0.0001)


def test_few_runs_align_by_chance_and_that_proves_nothing() -> None:
    assert not is_significant(0.9, 12)
    assert is_significant(0.9, 13)
    assert not is_significant(0.01, 60_000)


def test_volume_is_one_where_the_service_level_just_holds() -> None:
    assert volume(75_000, rate=1_000, jitter_seconds=60) == 1
    assert volume(30_000, rate=1_000, jitter_seconds=0) == 2
    assert jitter_needed_seconds(75_000, rate=1_000) == 60
    assert jitter_needed_seconds(15_000, rate=1_000) == 0
