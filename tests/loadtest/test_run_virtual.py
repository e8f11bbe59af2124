"""Virtual experiments: the same for the same seed, and nothing broken in any scenario."""

import pytest

from loadtest import run_virtual
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
        {"scenario": "herd", "delay_ms": 5_000, "schedules": 1_000},
        {"scenario": "shock", "outage_seconds": 0},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_no_scenario_breaks_an_invariant(settings):
    joined, findings = check(made(**settings))
    assert findings.examples == {}
    assert min(joined.arrived_ms) > 0


@pytest.mark.parametrize("delay_ms", [0, 5_000, 13_000])
def test_receivers_that_fail_nearly_always_are_the_fault_of_no_engine(delay_ms):
    evidence = made(schedules=60, receivers=4, fail_rate=0.9, delay_ms=delay_ms)
    _, findings = check(evidence)
    assert findings.examples == {}


@pytest.mark.parametrize("settings", [{"delay_ms": 60_000}, {"fail_rate": 1.0}])
@pytest.mark.parametrize("schedules", [1, 5, 60])
def test_receivers_that_never_answer_in_time_are_the_fault_of_no_engine(settings, schedules):
    evidence = made(schedules=schedules, **settings)
    _, findings = check(evidence)
    assert findings.examples == {}
    ended = evidence.runs.states()
    assert findings.waiting + ended["failed"] == schedules
    # One alone uses up its eight attempts; ten failures in a row shut the door for the others.
    assert (findings.waiting == 0) == (schedules == 1)


def test_a_signature_of_another_key_is_forged(monkeypatch):
    monkeypatch.setattr(run_virtual, "signing_key", lambda master: master)
    _, findings = check(made(schedules=20))
    assert findings.counts == {"forged": 20}


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
