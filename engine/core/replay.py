"""Replays: whether a run that has ended may be sent again, and when each of many (SPEC §5, §6).

A replay keeps key and bytes, numbers attempts on, and grants attempts and age anew. What it does
not grant is time: a deadline counts from `scheduled_for`, so what was worthless stays worthless.

Many at once are a herd that no jitter knows: the i-th of n becomes due at `now + W * (i + u) / n`,
`u` drawn from its schedule and the instant, as catch-up and backfill are spread. They keep the
order of `scheduled_for`, and half of the rate is left to everybody else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.core.errors import WrongState
from engine.core.missed import due_ms, spread_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which failed runs of a tenant are meant; what is None, or empty, leaves all of them in.

    `labels`: of their schedules, all of these. `host`: of their target, with its port. `reason`:
    why they failed; `outcome`, `status`: how their last attempt ended. Bounds on `scheduled_for`,
    from inclusive, to exclusive.
    """

    tenant: str
    schedule_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    host: str | None = None
    reason: str | None = None
    outcome: str | None = None
    status: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None


class DeadLetter(NamedTuple):
    """A failed run: its key, and what decides whether and when it may be sent again."""

    scheduled_for_ms: int
    schedule_row: int
    schedule_id: str
    deadline_seconds: int | None
    is_schedule_deleted: bool

    def is_replayable(self, now_ms: int) -> bool:
        """Whether an attempt could be made."""
        return not self.is_schedule_deleted and not is_past_deadline(
            self.scheduled_for_ms, self.deadline_seconds, now_ms
        )


def refuse_replay(
    scheduled_for_ms: int, *, is_deleted: bool, deadline_seconds: int | None, now_ms: int
) -> None:
    """Raise `WrongState` when no attempt could be made."""
    if is_deleted:
        raise WrongState(
            "schedule_deleted",
            "the run's schedule is deleted: put it again under its name, then replay",
        )
    if is_past_deadline(scheduled_for_ms, deadline_seconds, now_ms):
        raise WrongState(
            "deadline_passed",
            f"the run is worthless {deadline_seconds} s after its scheduled_for (deadline_seconds),"
            " which is over",
        )


def is_past_deadline(scheduled_for_ms: int, deadline_seconds: int | None, now_ms: int) -> bool:
    """Whether no attempt may start any more."""
    return deadline_seconds is not None and now_ms > scheduled_for_ms + deadline_seconds * 1_000


def replay_due_ms(letter: DeadLetter, index: int, count: int, *, now_ms: int, rate: int) -> int:
    """When the `index`-th (from 0) of `count` runs that are replayed together becomes due.

    A deadline is worth more than an even spread: its run is due within half of what is left of it.
    """
    window_ms = spread_ms(count, rate)
    if letter.deadline_seconds is not None:
        left_ms = letter.scheduled_for_ms + letter.deadline_seconds * 1_000 - now_ms
        window_ms = min(window_ms, max(0, left_ms) // 2)
    return due_ms(
        letter.schedule_id,
        index,
        count,
        resume_ms=now_ms,
        spread_ms=window_ms,
        fire_after_ms=now_ms,
    )
