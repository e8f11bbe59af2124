"""The circuit breaker: when the door closes, who knocks, and what counts."""

import pytest

from engine.core.breaker import NEVER_MS, Breaker, Door, counts_as_failure
from engine.core.model import Outcome

SUCCESS = Outcome(name="success", status=200)
DOWN = Outcome(name="connect_error")
RUN, EARLIER = "run", "earlier"


def failing(times: int) -> Breaker:
    breaker = Breaker()
    for _ in range(times):
        breaker.end(RUN, DOWN, 1_000)
    return breaker


def test_ten_failures_in_a_row_open_it_and_nine_do_not() -> None:
    assert failing(9).blocked_until_ms(1_000) == 1_000
    assert failing(10).blocked_until_ms(1_000) == 6_000


def test_a_success_between_them_begins_the_count_anew() -> None:
    breaker = failing(9)
    breaker.end(RUN, SUCCESS, 1_000)
    for _ in range(9):
        breaker.end(RUN, DOWN, 1_000)
    assert breaker.door == Door.CLOSED


def test_one_probe_goes_through_and_nobody_beside_it() -> None:
    breaker = failing(10)
    breaker.start(RUN, 6_000)
    assert breaker.is_probe(RUN)
    assert breaker.blocked_until_ms(6_000) == NEVER_MS


def test_each_failed_probe_doubles_the_wait_up_to_a_minute() -> None:
    breaker, now_ms, waits = failing(10), 1_000, []
    for _ in range(6):
        wait_ms = breaker.blocked_until_ms(now_ms) - now_ms
        waits.append(wait_ms)
        now_ms += wait_ms
        breaker.start(RUN, now_ms)
        breaker.end(RUN, DOWN, now_ms)
    assert waits == [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker = failing(10)
    breaker.start(RUN, 6_000)
    assert breaker.end(RUN, SUCCESS, 6_010)
    assert breaker.blocked_until_ms(6_010) == 6_010
    assert not breaker.end(RUN, SUCCESS, 6_020)


def test_attempts_that_began_before_it_opened_change_the_wait_no_more() -> None:
    breaker = failing(10)
    breaker.end(RUN, DOWN, 3_000)
    assert breaker.blocked_until_ms(3_000) == 6_000


def test_an_earlier_attempt_that_fails_beside_the_probe_speaks_for_itself_alone() -> None:
    breaker = failing(10)
    breaker.start(RUN, 6_000)
    breaker.end(EARLIER, DOWN, 6_500)
    breaker.withdraw(EARLIER)
    assert breaker.is_probe(RUN)
    assert breaker.blocked_until_ms(6_500) == NEVER_MS
    breaker.end(RUN, DOWN, 7_000)
    assert breaker.blocked_until_ms(7_000) == 17_000


def test_a_probe_that_was_never_sent_leaves_the_door_as_it_was() -> None:
    breaker = failing(10)
    breaker.start(RUN, 6_000)
    breaker.withdraw(RUN)
    assert breaker.blocked_until_ms(6_000) == 6_000


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [
        (SUCCESS, False),
        (DOWN, True),
        (Outcome(name="timeout"), True),
        (Outcome(name="tls_error"), True),
        (Outcome(name="dns_error"), True),
        (Outcome(name="protocol_error"), True),
        (Outcome(name="http_error", status=500), True),
        (Outcome(name="http_error", status=503), True),
        (Outcome(name="http_error", status=429), False),
        (Outcome(name="http_error", status=404), False),
        (Outcome(name="blocked"), False),
    ],
)
def test_what_counts_is_the_receivers_state(outcome: Outcome, counts: bool) -> None:
    assert counts_as_failure(outcome) is counts
