"""A delivery: an attempt under way, the request that it sends, and what comes of its outcome."""

import asyncio
from dataclasses import dataclass

from engine.core.credentials import without_credentials
from engine.core.identity import Signer
from engine.core.model import Outcome, State, Timing
from engine.core.request import attempt_headers
from engine.core.retry import Decision, GiveUp, RetryAt, decide
from engine.services.transport import HttpRequest
from engine.services.waits import Wait
from engine.store import Claim, Ended, HeldRun


@dataclass(slots=True, eq=False)
class Delivery:
    """An attempt under way.

    `key`: its run's idempotency key. Of the instants, `started_at_ms` is the calendar's,
    `started_s` the event loop's, `deadline_ms` on the monotonic clock.
    """

    claim: Claim
    run: HeldRun
    key: str
    wait: Wait
    is_probe: bool
    started_at_ms: int
    started_s: float
    deadline_ms: int
    request: HttpRequest | None = None
    task: asyncio.Task[None] | None = None
    expired: bool = False


def request_of(delivery: Delivery, signer: Signer) -> HttpRequest:
    """What the attempt sends, signed."""
    claim = delivery.claim
    target = claim.target
    headers = attempt_headers(
        signer,
        target.headers,
        key=delivery.key,
        schedule_id=claim.schedule_id,
        schedule_name=claim.schedule_name,
        scheduled_for_ms=claim.scheduled_for_ms,
        fire_after_ms=claim.fire_after_ms,
        attempt=claim.attempt,
        trigger=claim.trigger,
        now_ms=delivery.started_at_ms,
        body=target.body,
    )
    return HttpRequest(
        url=target.url,
        method=target.method,
        headers=headers,
        body=target.body,
        tenant=claim.tenant,
    )


def judge(delivery: Delivery, outcome: Outcome, now_ms: int) -> Ended:
    """What an outcome that came at `now_ms` makes of the run."""
    claim = delivery.claim
    if claim.target.sealed:
        outcome = without_credentials(outcome, claim.target)
    decision = decide(
        claim.retry,
        delivery.key,
        attempt=claim.attempt,
        outcome=outcome,
        now_ms=now_ms,
        first_attempt_at_ms=claim.first_attempt_at_ms or delivery.started_at_ms,
        # Neither the closed door nor the probe uses up a run's attempts.
        attempts_granted_from=claim.granted_from + delivery.is_probe,
        expires_at_ms=claim.expires_at_ms,
    )
    state, reason, next_ms = _disposal(decision)
    return Ended(
        claim=claim,
        started_at_ms=delivery.started_at_ms,
        ended_at_ms=now_ms,
        outcome=outcome,
        state=state,
        reason=reason,
        next_attempt_at_ms=next_ms,
        is_probe=delivery.is_probe and state == State.RETRY_WAIT,
        run=delivery.run,
        timing=_timing(delivery, now_ms),
    )


def _disposal(decision: Decision | None) -> tuple[State, str | None, int | None]:
    """The run's state, its reason and when it is next due."""
    match decision:
        case RetryAt(at_ms=at_ms):
            return State.RETRY_WAIT, None, at_ms
        case GiveUp(reason=reason):
            return State.FAILED, reason, None
        case None:
            return State.SUCCEEDED, None, None


def _timing(delivery: Delivery, ended_at_ms: int) -> Timing:
    """The attempt's times; what it did not come to, it would have come to at its end."""
    request, started_s = delivery.request, delivery.started_s
    connect_ms = first_byte_ms = max(0, ended_at_ms - delivery.started_at_ms)
    if request is not None and request.connected_s is not None:
        connect_ms = int((request.connected_s - started_s) * 1_000 + 0.5)
    if request is not None and request.answered_s is not None:
        first_byte_ms = int((request.answered_s - started_s) * 1_000 + 0.5)
    waited_ms, held_ms, flow_ms, bucket_ms, journal_ms = delivery.wait
    return Timing(waited_ms, held_ms, flow_ms, bucket_ms, journal_ms, connect_ms, first_byte_ms)
