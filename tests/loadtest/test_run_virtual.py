"""Virtual experiments: the same for the same seed, and nothing broken in any scenario."""

import pytest

from loadtest.checker import check
from loadtest.figures import figures_of
from tests.loadtest.experiments import made


def test_the_same_seed_gives_the_same_requests_and_another_gives_others():
    first = made(fail_rate=0.1)
    assert made(fail_rate=0.1).digest == first.digest
    assert made(fail_rate=0.1, seed="other").digest != first.digest


@pytest.mark.parametrize(
    "settings",
    [
        {"scenario": "herd", "variant": "none"},
        {"scenario": "herd", "fail_rate": 0.3, "delay_ms": 50, "receivers": 3},
        {"scenario": "steady", "seconds": 60},
        {"scenario": "recovery", "seconds": 120, "outage_seconds": 30},
        {"scenario": "shock", "outage_seconds": 20},
        {"scenario": "fleet", "seconds": 1_200},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_no_scenario_breaks_an_invariant(settings):
    joined, findings = check(made(**settings))
    assert findings.examples == {}
    assert min(joined.arrived_ms) > 0


def test_an_outage_is_followed_by_its_retries():
    figures = figures_of(made(scenario="shock", outage_seconds=20))
    assert figures["totals"]["requests"] > figures["totals"]["owed"] == 200
    assert figures["after_outage"]["requests"] >= 200


def test_what_waited_through_ten_minutes_down_does_not_come_back_as_a_herd():
    settings = {"schedules": 2_000, "jitter_seconds": 60, "outage_seconds": 600}
    first, second = (made(scenario="shock", rate=200, burst=20, **settings) for _ in range(2))
    after = figures_of(first)["after_outage"]
    assert after["requests"] == 2_000
    assert after["1s"]["amplification"] <= 1.5
    assert after["1s"]["mean"] <= 0.55 * 200, "half of the rate is left to what becomes due"
    assert first.digest == second.digest


def test_a_stop_in_the_middle_of_a_herd_is_caught_up():
    figures = figures_of(made(scenario="recovery", seconds=120, outage_seconds=30))
    assert figures["catch_up_lateness_ms"]["min"] > 10_000
    assert figures["totals"]["arrived"] == figures["totals"]["owed"]
