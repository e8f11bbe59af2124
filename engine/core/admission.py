"""Whether a run that has become due may be attempted now (SPEC §4, §5)."""

from enum import StrEnum

from engine.core.model import CatchUp, Overlap, RunTrigger, State


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
    WAIT = "wait"
    """Another run of its schedule is active: it waits in line behind it."""
    OVERLAP = "overlap"
    """Another run of its schedule is active, and the policy is to skip it then."""
    SUPERSEDE = "supersede"
    """A newer run has the one place in which a run may wait."""


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


def waits_in_line(trigger: str, catch_up: CatchUp) -> bool:
    """Whether a run waits for its turn under any policy: somebody asked for just this one."""
    asked_for = trigger in (RunTrigger.MANUAL, RunTrigger.BACKFILL)
    return asked_for or (trigger == RunTrigger.CATCH_UP and catch_up == "all")


def admit_beside(overlap: Overlap, trigger: str, catch_up: CatchUp) -> Admission:
    """Judge a due run that was never attempted while another run of its schedule is active."""
    if overlap == "allow":
        return Admission.CLAIM
    if overlap == "skip" and not waits_in_line(trigger, catch_up):
        return Admission.OVERLAP
    return Admission.WAIT
