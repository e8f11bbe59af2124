"""Backoff against the published vectors; decisions and `Retry-After` value by value."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.identity import parse_instant, unit_u53
from engine.core.model import BackoffShape, Outcome, RetryPolicy
from engine.core.retry import (
    GiveUp,
    RetryAt,
    backoff_ms,
    decide,
    is_retryable,
    parse_retry_after,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "offbeat-v1.json").read_text())
SHAPES: tuple[BackoffShape, ...] = ("full", "partial", "decorrelated", "none")
FAILED = Outcome(name="http_error", status=503)
NOON = parse_instant("2026-11-30T12:00:00Z")
# Attempt 1 under this policy waits 10 s, attempt 2 20 s: exact, so that limits can be hit exactly.
PLAIN = RetryPolicy(min_backoff_seconds=10, max_backoff_seconds=60, jitter="none", max_attempts=3)


def after_first(outcome: Outcome = FAILED, **changes: Any) -> object:
    """The decision at noon, when attempt 1, begun a second before, ended so."""
    situation = {"attempt": 1, "now_ms": NOON, "first_attempt_at_ms": NOON - 1000}
    return decide(PLAIN, "key", outcome=outcome, **situation | changes)


@pytest.mark.parametrize("vector", VECTORS["retry"])
@pytest.mark.parametrize("shape", SHAPES)
def test_backoff_is_as_published(vector: dict[str, Any], shape: BackoffShape) -> None:
    policy = RetryPolicy(
        min_backoff_seconds=vector["min_backoff_ms"] // 1000,
        max_backoff_seconds=vector["max_backoff_ms"] // 1000,
        multiplier=vector["multiplier"],
        jitter=shape,
    )
    wait = backoff_ms(policy, vector["idempotency_key"], vector["attempt"])
    assert wait == vector["delay_ms"][shape]


@pytest.mark.parametrize("attempt", [100, 1_100, 5_000, 10**9])
@pytest.mark.parametrize("multiplier", [2, 10])
def test_a_large_attempt_number_waits_the_longest_and_overflows_nothing(
    attempt: int, multiplier: int
) -> None:
    policy = RetryPolicy(jitter="none", multiplier=multiplier)
    assert backoff_ms(policy, "key", attempt) == 3_600_000


def test_a_multiplier_of_one_never_grows() -> None:
    assert backoff_ms(RetryPolicy(jitter="none", multiplier=1), "key", 5_000) == 5_000


@pytest.mark.parametrize(
    ("shape", "lowest", "highest"),
    [("full", 100, 9_999), ("partial", 5_000, 9_999), ("decorrelated", 10_000, 29_999)],
)
def test_a_thousand_runs_that_fail_together_come_back_apart(
    shape: BackoffShape, lowest: int, highest: int
) -> None:
    policy = RetryPolicy(min_backoff_seconds=10, jitter=shape)
    waits = [backoff_ms(policy, f"key {n}", 1) for n in range(1_000)]
    assert lowest <= min(waits)
    assert max(waits) <= highest
    seconds = [sum(wait // 1000 == s for wait in waits) for s in range(lowest // 1000, 30)]
    assert max(seconds) < 300
    assert waits == [backoff_ms(policy, f"key {n}", 1) for n in range(1_000)]


@given(
    st.text(max_size=4),
    st.integers(1, 400),
    st.integers(1, 60),
    st.sampled_from([1, 3, 40, 3_000, 3_000_000]),
)
def test_a_decorrelated_wait_found_from_the_near_past_is_the_whole_walk(
    key: str, attempt: int, shortest: int, widening: int
) -> None:
    longest = shortest * widening
    wait = low = shortest * 1000
    for n in range(1, attempt + 1):
        wait = min(longest * 1000, low + (((3 * wait - low) * unit_u53(key, n)) >> 53))
    policy = RetryPolicy(
        min_backoff_seconds=shortest, max_backoff_seconds=longest, jitter="decorrelated"
    )
    assert backoff_ms(policy, key, attempt) == wait


def test_a_receiver_that_failed_is_left_alone_for_a_tenth_of_a_second() -> None:
    policy = RetryPolicy(min_backoff_seconds=1)
    assert min(backoff_ms(policy, f"key {n}", 1) for n in range(100)) == 100


@pytest.mark.parametrize(
    ("outcome", "retryable"),
    [
        *[(Outcome(name="http_error", status=s), True) for s in (408, 425, 429, 500, 503, 599)],
        *[(Outcome(name="http_error", status=s), False) for s in (101, 301, 307, 400, 404, 410)],
        (Outcome(name="http_error", status=600), False),
        (Outcome(name="success", status=204), False),
        (Outcome(name="connect_error"), True),
        (Outcome(name="tls_error"), True),
        (Outcome(name="dns_error"), True),
        (Outcome(name="timeout"), True),
        (Outcome(name="protocol_error"), True),
        (Outcome(name="crash"), True),
        (Outcome(name="blocked"), False),
    ],
)
def test_what_can_pass_is_retried_and_what_cannot_is_final(
    outcome: Outcome, retryable: bool
) -> None:
    assert is_retryable(outcome) is retryable
    if outcome.name != "success":
        expected = RetryAt(at_ms=NOON + 10_000) if retryable else GiveUp(reason="final")
        assert after_first(outcome) == expected


def test_after_a_success_there_is_nothing_to_decide() -> None:
    assert after_first(Outcome(name="success", status=200)) is None


def test_the_last_attempt_granted_is_the_last() -> None:
    assert after_first(attempt=2) == RetryAt(at_ms=NOON + 20_000)
    assert after_first(attempt=3) == GiveUp(reason="attempts")


def test_a_replay_grants_attempts_anew_and_counts_on() -> None:
    assert after_first(attempt=5, attempts_granted_from=3) == RetryAt(at_ms=NOON + 60_000)
    assert after_first(attempt=6, attempts_granted_from=3) == GiveUp(reason="attempts")


def test_no_retry_starts_beyond_the_age_that_the_policy_grants() -> None:
    day_ago = NOON + 10_000 - 86_400_000
    assert after_first(first_attempt_at_ms=day_ago) == RetryAt(at_ms=NOON + 10_000)
    assert after_first(first_attempt_at_ms=day_ago - 1) == GiveUp(reason="age")


def test_no_retry_starts_at_or_after_the_deadline() -> None:
    assert after_first(expires_at_ms=NOON + 10_001) == RetryAt(at_ms=NOON + 10_000)
    assert after_first(expires_at_ms=NOON + 10_000) == GiveUp(reason="expired")


@pytest.mark.parametrize(
    ("retry_after", "wait_seconds"),
    [
        ("15", 15),
        ("70", 70),
        ("71", 70),  # At most the longest wait (60 s) beyond the computed one (10 s).
        ("999999999", 70),
        ("2147483648", 70),
        ("18446744073709551615", 70),
        ("3", 10),  # Never earlier than computed.
        ("0", 10),
        ("Mon, 30 Nov 2026 12:00:40 GMT", 40),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 10),
        ("soon", 10),
    ],
)
def test_retry_after_is_obeyed_within_bounds(retry_after: str, wait_seconds: int) -> None:
    outcome = Outcome(name="http_error", status=429, retry_after=retry_after)
    assert after_first(outcome) == RetryAt(at_ms=NOON + wait_seconds * 1000)


@pytest.mark.parametrize(
    ("text", "wait_ms"),
    [
        ("120", 120_000),
        (" 007\t", 7_000),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60_000),
        ("Monday, 30-Nov-26 12:01:00 GMT", 60_000),
        ("Mon Nov 30 12:01:00 2026", 60_000),
        ("Tue Dec  1 12:00:00 2026", 86_400_000),
        ("Mon, 30 Nov 2026 12:00:60 GMT", 60_000),  # A leap second is the second after it.
        ("Fri, 31 Dec 9999 23:59:60 GMT", 251_606_260_800_000),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0),
        ("Wednesday, 30-Nov-76 12:00:00 GMT", 1_577_923_200_000),  # 2076: 50 years ahead.
        ("Wednesday, 30-Nov-77 12:00:00 GMT", 0),  # 1977: 51 would be too many.
    ],
)
def test_every_form_of_retry_after_is_read(text: str, wait_ms: int) -> None:
    assert parse_retry_after(text, NOON) == wait_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "1.5",
        "1e3",
        "٣",
        "9" * 5_000,
        "Mon, 30 Nov 2026 12:01:00",
        "Mon, 30 Nov 2026 12:01:00 UTC",
        "Mon, 30 Nov 2026 25:01:00 GMT",
        "Mon, 31 Feb 2026 12:01:00 GMT",
        "Mon, 30 Foo 2026 12:01:00 GMT",
        "Mon, 01 Jan 0000 12:01:00 GMT",
        "2026-11-30T12:01:00Z",
    ],
)
def test_an_unreadable_retry_after_says_nothing(text: str) -> None:
    assert parse_retry_after(text, NOON) is None
