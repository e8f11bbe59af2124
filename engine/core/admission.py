"""Whether a run that has become due may be attempted now (SPEC §4, §5)."""

from enum import StrEnum

from engine.core.model import State


class Admission(StrEnum):
    """What to do with a run that was brought forward for its claim."""

    CLAIM = "claim"
    DROP = "drop"
    """It has moved on (finished, cancelled, moved to later): nothing to do."""
    EXPIRE = "expire"
    """Its deadline has passed: worthless now."""
    SKIP = "skip"
    """Never attempted, and its schedule is paused."""
    HOLD = "hold"
    """A retry whose schedule is paused: it waits for the resumption."""


def admit(
    *,
    state: str,
    next_attempt_at_ms: int | None,
    scheduled_for_ms: int,
    deadline_seconds: int | None,
    is_paused: bool,
    is_manual: bool,
    now_ms: int,
) -> Admission:
    """Judge one run at `now_ms`. A manual run is somebody's wish and ignores the pause."""
    if state not in (State.PLANNED, State.RETRY_WAIT):
        return Admission.DROP
    if next_attempt_at_ms is None or next_attempt_at_ms > now_ms:
        return Admission.DROP
    if deadline_seconds is not None and now_ms > scheduled_for_ms + deadline_seconds * 1_000:
        return Admission.EXPIRE
    if is_paused and not is_manual:
        return Admission.SKIP if state == State.PLANNED else Admission.HOLD
    return Admission.CLAIM
