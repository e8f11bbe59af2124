"""The circuit breaker: when the door closes, who knocks, and what counts."""

import pytest

from engine.core.breaker import NEVER_MS, Breaker, Door, counts_as_failure
from engine.core.model import Outcome

SUCCESS = Outcome(name="success", status=200)
DOWN = Outcome(name="connect_error")


def failing(times: int) -> Breaker:
    breaker = Breaker()
    for _ in range(times):
        breaker.end(DOWN, 1_000)
    return breaker


def test_ten_failures_in_a_row_open_it_and_nine_do_not() -> None:
    assert failing(9).blocked_until_ms(1_000) == 1_000
    assert failing(10).blocked_until_ms(1_000) == 6_000


def test_a_success_between_them_begins_the_count_anew() -> None:
    breaker = failing(9)
    breaker.end(SUCCESS, 1_000)
    for _ in range(9):
        breaker.end(DOWN, 1_000)
    assert breaker.door == Door.CLOSED


def test_one_probe_goes_through_and_nobody_beside_it() -> None:
    breaker = failing(10)
    assert breaker.start(6_000)
    assert breaker.blocked_until_ms(6_000) == NEVER_MS


def test_each_failed_probe_doubles_the_wait_up_to_a_minute() -> None:
    breaker, now_ms, waits = failing(10), 1_000, []
    for _ in range(6):
        wait_ms = breaker.blocked_until_ms(now_ms) - now_ms
        waits.append(wait_ms)
        now_ms += wait_ms
        breaker.start(now_ms)
        breaker.end(DOWN, now_ms)
    assert waits == [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker = failing(10)
    breaker.start(6_000)
    assert breaker.end(SUCCESS, 6_010)
    assert breaker.blocked_until_ms(6_010) == 6_010
    assert not breaker.end(SUCCESS, 6_020)


def test_attempts_that_began_before_it_opened_change_the_wait_no_more() -> None:
    breaker = failing(10)
    breaker.end(DOWN, 3_000)
    assert breaker.blocked_until_ms(3_000) == 6_000


def test_a_probe_that_was_never_sent_leaves_the_door_as_it_was() -> None:
    breaker = failing(10)
    breaker.start(6_000)
    breaker.withdraw()
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
