"""The forecast of an experiment, from its workload alone."""

from loadtest.foresight import foresee
from tests.loadtest.experiments import experiment


def test_a_herd_without_jitter_leaves_at_the_rate_after_the_saved_tokens():
    forecast = foresee(
        experiment(schedules=300, rate=100, burst=10, jitter_seconds=0, variant="none")
    )
    assert forecast.served[:4] == [110, 100, 90, 0]
    # The 297th of them, evenly over the first second, leaves 186 after the first second's 110.
    assert 1_800 <= forecast.p99_ms <= 2_000


def test_a_jittered_herd_that_fits_is_punctual():
    forecast = foresee(experiment(schedules=300, rate=100, burst=10, jitter_seconds=30))
    assert sum(forecast.served) == 300
    assert forecast.p99_ms == 0
