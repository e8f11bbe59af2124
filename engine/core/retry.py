"""When a failed run is tried again (SPEC §7).

Exponential backoff with jitter that is deterministic: the wait follows from the run's key and the
attempt's number, so a restart, a replica or a reader of the journal computes the same instant.
Ids separate schedules, `scheduled_for` separates runs, the attempt separates waves. Everything is
whole milliseconds; a share of a wait is `(wait * u) >> 53` with a `u` of 53 bits.

The four shapes are those of Marc Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog,
2015): *full* spreads over all of the wait and collides least, *partial* ("equal" there) keeps half
of it, *decorrelated* walks from the last wait instead of counting attempts, *none* is the bare
exponential.

`Retry-After` is RFC 9110 §10.2.3, its dates §5.6.7.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from engine.core.identity import unit_u53
from engine.core.model import Outcome, RetryPolicy

MIN_WAIT_MS = 100
"""Least wait before another attempt. Full jitter can say 0; a receiver that just failed is left
alone for at least this long."""

RETRYABLE_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
"""Timeout, too early, too many requests, and the server's own failures: these can pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAt:
    """Try again, and not before `at_ms`."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """The run has failed: the outcome was final, or what it was granted is used up."""

    reason: Literal["final", "attempts", "age", "expired"]


Decision = RetryAt | GiveUp


def decide(
    policy: RetryPolicy,
    key: str,
    *,
    attempt: int,
    outcome: Outcome,
    now_ms: int,
    first_attempt_at_ms: int,
    attempts_granted_from: int = 0,
    expires_at_ms: int | None = None,
) -> Decision | None:
    """What follows attempt number `attempt`, which ended at `now_ms`; None: it succeeded.

    A replay grants attempts and age anew: `attempts_granted_from` is the number of attempts made
    before it, `first_attempt_at_ms` the first one since. No attempt starts at or after
    `expires_at_ms`.
    """
    if outcome.name == "success":
        return None
    if not is_retryable(outcome):
        return GiveUp(reason="final")
    if attempt - attempts_granted_from >= policy.max_attempts:
        return GiveUp(reason="attempts")
    at_ms = now_ms + _wait_ms(policy, key, attempt, outcome, now_ms)
    if expires_at_ms is not None and at_ms >= expires_at_ms:
        return GiveUp(reason="expired")
    if at_ms > first_attempt_at_ms + policy.max_age_seconds * 1000:
        return GiveUp(reason="age")
    return RetryAt(at_ms=at_ms)


def is_retryable(outcome: Outcome) -> bool:
    """Whether the same request could fare better later."""
    match outcome.name:
        case "http_error":
            return outcome.status in RETRYABLE_STATUSES
        case "success" | "blocked":
            return False
        case _:
            return True


def backoff_ms(policy: RetryPolicy, key: str, attempt: int) -> int:
    """Milliseconds to wait after failed attempt number `attempt` (from 1) of the run with `key`."""
    u = unit_u53(key, attempt)
    wait = _exponential_ms(policy, attempt)
    match policy.jitter:
        case "full":
            wait = (wait * u) >> 53
        case "partial":
            wait = wait // 2 + (((wait - wait // 2) * u) >> 53)
        case "decorrelated":
            wait = _decorrelated_ms(policy, key, attempt)
        case "none":
            pass
    return max(MIN_WAIT_MS, wait)


def parse_retry_after(text: str, now_ms: int) -> int | None:
    """Milliseconds that a `Retry-After` asks for, 0 for a date gone by; None if it is unreadable.

    Seconds, or any of the three date forms: IMF-fixdate, RFC 850's and asctime's.
    """
    text = text.strip(" \t")
    if _SECONDS.fullmatch(text):
        return int(text) * 1000
    for form in _HTTP_DATES:
        if match := form.fullmatch(text):
            date_ms = _http_date_ms(match, now_ms)
            return None if date_ms is None else max(0, date_ms - now_ms)
    return None


def _wait_ms(policy: RetryPolicy, key: str, attempt: int, outcome: Outcome, now_ms: int) -> int:
    """The computed backoff, or longer if the receiver asked: by `max_backoff` at most."""
    computed = backoff_ms(policy, key, attempt)
    asked = None if outcome.retry_after is None else parse_retry_after(outcome.retry_after, now_ms)
    if asked is None:
        return computed
    return max(computed, min(asked, computed + policy.max_backoff_seconds * 1000))


def _exponential_ms(policy: RetryPolicy, attempt: int) -> int:
    # Past as many doublings as the longest wait has bits, the wait is the longest one: attempt
    # 5,000 needs no power of 4,999.
    longest = policy.max_backoff_seconds * 1000
    growth: int = policy.multiplier ** min(attempt - 1, longest.bit_length())
    return min(longest, policy.min_backoff_seconds * 1000 * growth)


# Most walks have met within it; one that has not is begun again from twice as far.
_COUPLING_STEPS = 64


def _decorrelated_ms(policy: RetryPolicy, key: str, attempt: int) -> int:
    """The walk s(n) at n = `attempt`, without going through all of it.

    A step never puts a smaller wait above a larger one, and every wait lies between the shortest
    and the longest. Two walks that start some steps back, one from either end, therefore enclose
    the true one; where they have met, it is there too. (Propp and Wilson, "Exact sampling with
    coupled Markov chains", 1996, use the same argument.)
    """
    shortest, longest = policy.min_backoff_seconds * 1000, policy.max_backoff_seconds * 1000
    steps = _COUPLING_STEPS
    while True:
        start = max(0, attempt - steps)
        low, high = shortest, longest if start else shortest
        for n in range(start + 1, attempt + 1):
            u = unit_u53(key, n)
            low = min(longest, shortest + (((3 * low - shortest) * u) >> 53))
            high = min(longest, shortest + (((3 * high - shortest) * u) >> 53))
        if low == high:
            return low
        steps *= 2


# Whoever means "not soon" writes 2**31 or the largest number there is (RFC 9111 §1.2.2), of 64 bits
# at most.
_SECONDS = re.compile(r"[0-9]{1,20}")

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d|60)"
# The day's name says nothing that the date does not, and is not compared with it.
_HTTP_DATES = tuple(
    re.compile(form, re.ASCII)
    for form in (
        rf"[A-Z][a-z]{{2}}, (?P<day>\d\d) {_MONTH} (?P<year>\d{{4}}) {_TIME} GMT",
        rf"[A-Z][a-z]{{5,8}}, (?P<day>\d\d)-{_MONTH}-(?P<year>\d\d) {_TIME} GMT",
        rf"[A-Z][a-z]{{2}} {_MONTH} (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})",
    )
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _http_date_ms(match: re.Match[str], now_ms: int) -> int | None:
    year = int(match["year"])
    if len(match["year"]) == 2:
        # RFC 9110: never more than 50 years ahead, else the latest past year so written.
        horizon = (_EPOCH + timedelta(milliseconds=now_ms)).year + 50
        year = horizon - (horizon - year) % 100
    try:
        day = datetime(year, _MONTHS.index(match["month"]) + 1, int(match["day"]), tzinfo=UTC)
    except ValueError:
        return None
    hours = (day - _EPOCH).days * 24 + int(match["hour"])
    return ((hours * 60 + int(match["minute"])) * 60 + int(match["second"])) * 1000
