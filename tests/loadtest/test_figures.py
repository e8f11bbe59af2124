"""Figures: right for numbers that can be counted by hand, and honest about what is missing."""

import pytest

from loadtest.figures import (
    Forecast,
    expected_p99_ms,
    figures_of,
    noise_floor,
    quantile,
    vector_strength,
)
from tests.loadtest.experiments import experiment, made


def test_a_quantile_is_a_nearest_rank():
    hundred = list(range(1, 101))
    assert [quantile(hundred, share) for share in (0.5, 0.99, 0.999, 1.0)] == [50, 99, 100, 100]
    assert quantile([7], 0.5) == 7


def test_the_noise_floor_falls_with_the_mean():
    assert noise_floor(1_000, 60) == pytest.approx(1.0905, abs=1e-4)
    assert noise_floor(10, 60) > noise_floor(1_000, 60)


def test_vector_strength_is_one_for_a_column_and_zero_for_an_even_spread():
    assert vector_strength([5, 1_005, 7_005]) == 1.0
    assert vector_strength(list(range(0, 1_000, 10))) == 0.0


def test_the_closed_form_is_the_time_that_is_missing():
    assert expected_p99_ms(experiment(schedules=1_000, rate=100, jitter_seconds=5)) == 4_950
    assert expected_p99_ms(experiment(schedules=100, rate=100, jitter_seconds=5)) == 0
    assert expected_p99_ms(experiment(scenario="fleet")) is None


def test_a_herd_is_counted_stage_by_stage():
    figures = figures_of(made())
    stages = figures["stages"]
    assert stages["demand"]["1s"]["busiest"] == 200
    assert stages["planned"]["1s"]["mean"] == 40
    assert sum(figures["herd"]["served"]) == 200
    assert figures["lateness_ms"]["count"] == 200
    assert sum(count for _, count in figures["histogram"]) == 200


def test_whole_second_offsets_are_five_small_herds():
    figures = figures_of(made(variant="whole-second"))
    assert figures["stages"]["alignment"]["planned"] == 1.0
    assert figures["phase"][0] == 200
    spread = figures_of(made())
    assert spread["stages"]["alignment"]["planned"] < 0.2


def test_a_run_that_never_arrived_counts_with_all_the_time_it_was_waited_for():
    evidence = made()
    requests = evidence.requests
    lost = min(range(200), key=lambda place: requests.fire_after_ms[place])
    waited_ms = evidence.ended_ms - requests.fire_after_ms[lost]
    for name in requests.__slots__:
        getattr(requests, name).pop(lost)
    figures = figures_of(evidence)
    assert figures["lateness_ms"]["count"] == 200
    assert figures["lateness_ms"]["max"] == waited_ms


def test_a_forecast_is_asked_with_the_experiment_alone():
    asked = []

    def forecaster(e):
        asked.append(e)
        return Forecast(from_ms=e.from_ms, served=[1.0, 2.0], p50_ms=1, p99_ms=2)

    figures = figures_of(made(), forecaster)
    assert asked == [experiment()]
    assert figures["forecast"]["p99_ms"] == 2
