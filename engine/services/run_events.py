"""Events of runs: a run's new state, made from what was written to the journal."""

from typing import NamedTuple

from engine.core.model import Finished, State
from engine.store import Claim, Ended


class RunEvent(NamedTuple):
    """A run's new state. `attempt`: of how many attempts it knows by then."""

    id: str
    at_ms: int
    schedule_id: str
    schedule_name: str
    scheduled_for_ms: int
    state: State
    reason: str | None
    attempt: int
    outcome: str | None = None
    status: int | None = None
    next_attempt_at_ms: int | None = None


def attempting(at_ms: int, event_id: str, claim: Claim) -> RunEvent:
    """The attempt of a claim starts."""
    return RunEvent(
        id=event_id,
        at_ms=at_ms,
        schedule_id=claim.schedule_id,
        schedule_name=claim.schedule_name,
        scheduled_for_ms=claim.scheduled_for_ms,
        state=State.ATTEMPTING,
        reason=None,
        attempt=claim.attempt,
    )


def expired(at_ms: int, event_id: str, claim: Claim) -> RunEvent:
    """A claim was taken back: its deadline had gone by."""
    event = attempting(at_ms, event_id, claim)
    return event._replace(state=State.FAILED, reason="expired", attempt=claim.attempt - 1)


def finished(at_ms: int, event_id: str, run: Finished) -> RunEvent:
    """A run ended when its turn came, without an attempt."""
    return RunEvent(
        id=event_id,
        at_ms=at_ms,
        schedule_id=run.schedule_id,
        schedule_name=run.schedule_name,
        scheduled_for_ms=run.scheduled_for_ms,
        state=run.state,
        reason=run.reason,
        attempt=run.attempts,
    )


def ended(event_id: str, end: Ended) -> RunEvent:
    """An attempt ended."""
    event = attempting(end.ended_at_ms, event_id, end.claim)
    return event._replace(
        state=end.state,
        reason=end.reason,
        outcome=end.outcome.name,
        status=end.outcome.status,
        next_attempt_at_ms=end.next_attempt_at_ms,
    )
