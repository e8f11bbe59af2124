"""A flow's limits, and how a receiver that asks for less is served more slowly."""

import pytest

from engine.core.flow import Flow, default_key
from engine.core.model import Outcome

SUCCESS = Outcome(name="success", status=200)
BUSY = Outcome(name="http_error", status=429)
UNAVAILABLE = Outcome(name="http_error", status=503)


def once(flow: Flow, outcome: Outcome, now_ms: int) -> None:
    flow.start("run", now_ms)
    flow.end("run", outcome, now_ms)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://api.example.com/hook", "api.example.com:443"),
        ("http://api.example.com?a=http://other.example:1/", "api.example.com:80"),
        ("https://API.example.com:8443/a?b#c", "api.example.com:8443"),
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]:8080"),
        ("http://[::1]/", "[::1]:80"),
    ],
)
def test_a_target_that_names_no_flow_is_in_that_of_its_host_and_port(url: str, key: str) -> None:
    assert default_key(url) == key


def test_a_busy_answer_halves_the_rate_once_a_second() -> None:
    flow = Flow(1, "t", rate=100)
    once(flow, BUSY, 1_000)
    once(flow, BUSY, 1_500)
    assert flow.effective_rate == 50
    once(flow, UNAVAILABLE, 2_000)
    assert flow.effective_rate == 25


def test_the_rate_never_falls_below_one_a_second() -> None:
    flow = Flow(1, "t", rate=4)
    for second in range(1, 10):
        once(flow, BUSY, second * 1_000)
    assert flow.effective_rate == 1


def test_success_restores_the_rate_step_by_step() -> None:
    flow = Flow(1, "t", rate=100)
    once(flow, BUSY, 1_000)
    rates = []
    for second in range(2, 12):
        once(flow, SUCCESS, second * 1_000)
        rates.append(flow.effective_rate)
    assert rates == [55, 60, 66, 72, 79, 86, 94, 100, 100, 100]


def test_a_flow_without_a_rate_is_throttled_from_what_its_parallelism_allows() -> None:
    flow = Flow(1, "t", parallelism=20)
    assert flow.effective_rate is None
    once(flow, BUSY, 1_000)
    assert flow.effective_rate == 500


def test_success_and_final_answers_leave_an_unthrottled_flow_alone() -> None:
    flow = Flow(1, "t")
    once(flow, SUCCESS, 1_000)
    once(flow, Outcome(name="http_error", status=404), 2_000)
    assert flow.effective_rate is None
    assert flow.blocked_until_ms(2_000) == 2_000


def test_the_answers_of_probes_do_not_halve_the_rate_further() -> None:
    flow = Flow(1, "t", rate=100)
    for _ in range(10):
        once(flow, UNAVAILABLE, 1_000)
    for now_ms in (6_000, 16_000, 36_000):
        once(flow, UNAVAILABLE, now_ms)
    assert flow.effective_rate == 50


def test_what_a_flow_sustained_is_measured_while_it_has_more_to_send() -> None:
    flow = Flow(1, "t", parallelism=1)
    for step in range(0, 2_000, 20):
        flow.start("run", step)
        assert flow.blocked_until_ms(step) > step  # Another run waits.
        flow.end("run", SUCCESS, step)
    assert flow.sustained == 50
