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


def busy_second(flow: Flow, second: int, starts: int) -> None:
    """So many runs in a second, all served."""
    for index in range(starts):
        once(flow, SUCCESS, second * 1_000 + index * 1_000 // starts)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://api.example.com/hook", "api.example.com:443"),
        ("http://api.example.com?a=http://other.example:1/", "api.example.com:80"),
        ("https://API.example.com:8443/a?b#c", "api.example.com:8443"),
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]:8080"),
        ("http://[::1]/", "[::1]:80"),
        ("http://[2001:DB8:0:0::1]/", "[2001:db8::1]:80"),
        ("https://api.example.com./", "api.example.com:443"),
    ],
)
def test_a_target_that_names_no_flow_is_in_that_of_its_host_and_port(url: str, key: str) -> None:
    assert default_key(url) == key


def test_a_busy_answer_halves_the_rate_once_a_second() -> None:
    flow = Flow(1, "t", rate=100)
    busy_second(flow, 1, 100)
    once(flow, BUSY, 2_000)
    once(flow, BUSY, 2_500)
    assert flow.effective_rate == 50
    once(flow, UNAVAILABLE, 3_000)
    once(flow, UNAVAILABLE, 3_100)
    assert flow.effective_rate == 1  # Two runs a second: nobody went on at fifty.


def test_one_503_in_three_is_bad_luck_and_every_other_one_asks_for_less() -> None:
    flow = Flow(1, "t")
    for index in range(800):  # A hundred a second.
        once(flow, UNAVAILABLE if index % 3 == 2 else SUCCESS, 1_000 + index * 10)
    assert flow.effective_rate is None
    for index in range(150):
        once(flow, UNAVAILABLE if index % 2 else SUCCESS, 9_000 + index * 10)
    assert flow.effective_rate == 50


def test_a_receiver_that_refuses_two_of_three_is_asked_less_within_a_second() -> None:
    flow = Flow(1, "t", parallelism=1_000)
    for _ in range(100):
        flow.start("run", 2_000)
    for index in range(100):
        flow.end("run", UNAVAILABLE if index % 3 else SUCCESS, 2_000 + index * 10)
    assert flow.effective_rate == 50


def test_late_503s_are_weighed_against_what_the_flow_last_did() -> None:
    flow = Flow(1, "t")
    for _ in range(20):
        flow.start("run", 1_000)
    for _ in range(9):
        flow.end("run", UNAVAILABLE, 9_500)
    assert flow.effective_rate is None
    flow.end("run", UNAVAILABLE, 10_400)
    assert flow.effective_rate == 10


@pytest.mark.parametrize("rate", [None, 40, 1_000])
def test_what_is_halved_is_what_the_flow_did(rate: int | None) -> None:
    flow = Flow(1, "t", rate=rate)
    busy_second(flow, 1, 40)
    once(flow, BUSY, 2_000)
    assert flow.effective_rate == 20


def test_what_the_flow_did_in_the_second_just_begun_counts_when_it_is_more() -> None:
    flow = Flow(1, "t")
    busy_second(flow, 1, 10)
    for _ in range(30):
        flow.start("run", 2_000)
    flow.end("run", BUSY, 2_000)
    assert flow.effective_rate == 15


def test_a_late_answer_halves_what_the_flow_did_when_it_last_did_anything() -> None:
    flow = Flow(1, "t")
    for _ in range(20):
        flow.start("run", 1_000)
    flow.end("run", BUSY, 9_500)
    assert flow.effective_rate == 10


def test_what_the_flow_did_before_a_rest_is_not_halved() -> None:
    flow = Flow(1, "t")
    busy_second(flow, 1, 40)
    busy_second(flow, 3, 4)
    once(flow, BUSY, 4_000)
    assert flow.effective_rate == 2


def test_a_flow_throttled_already_is_halved_from_its_rate_and_not_from_before_it() -> None:
    flow = Flow(1, "t")
    for _ in range(40):
        flow.start("run", 1_900)
    flow.end("run", BUSY, 1_900)
    assert flow.effective_rate == 20
    once(flow, BUSY, 2_900)
    assert flow.effective_rate == 10


def test_a_limit_below_the_throttled_rate_holds_at_once_and_stays() -> None:
    flow = Flow(1, "t")
    busy_second(flow, 1, 40)
    once(flow, BUSY, 2_000)
    flow.rate = 5
    assert flow.effective_rate == 5
    busy_second(flow, 3, 5)
    assert flow.effective_rate == 5
    flow.rate = 30
    assert flow.effective_rate == 30  # The throttle has ended at the limit.


def test_a_limit_above_the_throttled_rate_leaves_it_to_the_receiver() -> None:
    flow = Flow(1, "t")
    busy_second(flow, 1, 40)
    once(flow, BUSY, 2_000)
    flow.rate = 200
    assert flow.effective_rate == 20


def test_a_lowered_limit_is_what_the_next_busy_answer_halves() -> None:
    flow = Flow(1, "t")
    busy_second(flow, 1, 40)
    once(flow, BUSY, 2_000)
    flow.rate = 8
    for _ in range(12):  # With what was saved up.
        flow.start("run", 3_000)
    flow.end("run", BUSY, 3_000)
    assert flow.effective_rate == 4


def test_the_rate_never_falls_below_one_a_second() -> None:
    flow = Flow(1, "t", rate=4)
    for second in range(1, 10):
        once(flow, BUSY, second * 1_000)
    assert flow.effective_rate == 1


def test_success_restores_the_rate_step_by_step() -> None:
    flow = Flow(1, "t", rate=100)
    busy_second(flow, 1, 100)
    once(flow, BUSY, 2_000)
    rates = []
    for second in range(3, 13):
        once(flow, SUCCESS, second * 1_000)
        rates.append(flow.effective_rate)
    assert rates == [55, 60, 66, 72, 79, 86, 94, 100, 100, 100]


def test_the_throttle_of_a_flow_without_a_rate_ends_where_it_holds_nothing_back() -> None:
    flow = Flow(1, "t", parallelism=1)
    busy_second(flow, 1, 90)
    once(flow, BUSY, 2_000)
    assert flow.effective_rate == 45
    once(flow, SUCCESS, 3_000)
    assert flow.effective_rate == 49
    once(flow, SUCCESS, 4_000)  # One at a time, 20 ms each, is fifty a second.
    assert flow.effective_rate is None


def test_success_and_final_answers_leave_an_unthrottled_flow_alone() -> None:
    flow = Flow(1, "t")
    once(flow, SUCCESS, 1_000)
    once(flow, Outcome(name="http_error", status=404), 2_000)
    assert flow.effective_rate is None
    assert flow.blocked_until_ms(2_000) == 2_000


def test_the_answers_of_probes_do_not_halve_the_rate_further() -> None:
    flow = Flow(1, "t", rate=100)
    busy_second(flow, 1, 10)
    for _ in range(10):
        once(flow, UNAVAILABLE, 2_000)
    assert flow.effective_rate == 5
    for now_ms in (7_000, 17_000, 37_000):
        once(flow, UNAVAILABLE, now_ms)
    assert flow.effective_rate == 5


def test_what_a_flow_sustained_is_measured_while_it_has_more_to_send() -> None:
    flow = Flow(1, "t", parallelism=1)
    for step in range(0, 3_000, 20):
        flow.start("run", step)
        assert flow.blocked_until_ms(step) > step  # Another run waits.
        flow.end("run", SUCCESS, step)
    assert flow.sustained == 50
