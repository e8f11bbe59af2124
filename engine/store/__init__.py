"""What the services ask of the journal, in the words of the domain.

A second store is one more file that satisfies `Journal`, one more folder of SQL, and the same
conformance suite. Everything here is durable when it returns; nothing is seen before it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from engine.core.herd_record import HerdRecord
from engine.core.model import (
    Finished,
    Outcome,
    RetryPolicy,
    Schedule,
    State,
    Target,
    Timing,
    Trigger,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the engine has come, in calendar milliseconds.

    `alive`: the last instant it is known to have run. `watermark`: every owed run with
    `fire_after <= watermark` is planned. `lives`: how often it has started.
    `cancelled`: runs that were to end with the attempt that the last life did not see end.
    """

    alive_ms: int
    watermark_ms: int
    lives: int
    cancelled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTimetable:
    """A timetable with live schedules; `reach_ms` is their largest offset."""

    timetable_id: int
    trigger: Trigger
    reach_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One occurrence of a timetable for the schedules with after < offset <= until.

    `after_schedule` carries a page on inside one offset.
    """

    timetable_id: int
    instant_ms: int
    after_offset_ms: int
    until_offset_ms: int
    after_schedule: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AtSlice:
    """The one-shots with after < fire_after <= until; `after_schedule` as in `Slice`."""

    after_ms: int
    until_ms: int
    after_schedule: int = 0


Arrival = tuple[int, int, int, int]
"""(timetable or 0, scheduled_for, fire_after to the hundredth of a second, runs): runs planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What one planning step wrote, the slices (one cut short) that remain, the watermark now."""

    rows: int
    rest: tuple[Slice | AtSlice, ...]
    watermark_ms: int
    arrivals: tuple[Arrival, ...] = ()


DueRun = tuple[int, int, int]
"""(next_attempt_at, scheduled_for, schedule row): the order in which runs become due."""


class HeldRun(NamedTuple):
    """A run as memory holds it: its place in the order, and what fairness asks of it.

    `rank` is a `core.fairness.Class`, `priority` 0 (first) to 3. `held_until_ms`: when its turn in
    its schedule's line came, if it waited there.
    """

    due_ms: int
    scheduled_for_ms: int
    schedule_row: int
    flow_id: int
    rank: int
    priority: int
    held_until_ms: int = 0

    @property
    def key(self) -> DueRun:
        """Its place in the order."""
        return self[:3]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowLimits:
    """A flow's row: whose it is and what it may do."""

    flow_id: int
    tenant: str
    key: str
    rate: int | None
    parallelism: int
    paused: bool
    revision: int = 1


class Judged(NamedTuple):
    """A slice of downtime judged: whether there is more, and how many occurrences were skipped."""

    more: bool
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """The runs of a flow that wait and are due, and the flow's limit of its rate."""

    flow_id: int
    runs: int
    rate: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePage:
    """Runs in order of due time, and the flows among theirs that the reader did not know yet."""

    runs: list[HeldRun]
    flows: list[FlowLimits]


class Claim(NamedTuple):
    """A run with its attempt journaled: all that sending it and judging its outcome needs.

    Not a dataclass: made for each delivery, in 0.4 us instead of 1.7.
    """

    scheduled_for_ms: int
    schedule_row: int
    fire_after_ms: int
    trigger: str
    attempt: int
    granted_from: int
    first_attempt_at_ms: int | None
    schedule_id: str
    schedule_name: str
    tenant: str
    deadline_seconds: int | None
    pause_after_failures: int
    due_at_ms: int
    delete_after_completion: bool
    is_exclusive: bool
    retry: RetryPolicy
    target: Target

    @property
    def expires_at_ms(self) -> int | None:
        """From when on no attempt may start: the instant after the deadline."""
        if self.deadline_seconds is None:
            return None
        return self.scheduled_for_ms + self.deadline_seconds * 1_000 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The outcome of one claim: what to send, and what ended without an attempt.

    `due`: runs that waited in line and may try again, and notices of what expired.
    """

    claims: tuple[Claim, ...]
    ended: tuple[Finished, ...]
    due: tuple[HeldRun, ...] = ()


class Ended(NamedTuple):
    """A finished attempt and what it makes of its run. Not a dataclass: made for each delivery."""

    claim: Claim
    started_at_ms: int
    ended_at_ms: int
    outcome: Outcome
    state: State
    reason: str | None
    next_attempt_at_ms: int | None
    is_probe: bool
    run: HeldRun
    timing: Timing


class Recorded(NamedTuple):
    """What came of finished attempts: runs that may be due (those that waited in line for one of
    them to end, and the notices of what failed), and how many were not tried again, since they had
    been cancelled or their schedule deleted."""

    due: list[HeldRun]
    cancelled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What became of one write: the schedule as it is now, and what the loops must know of it.

    `cancelled`: runs whose instant the edit took away.
    """

    schedule: Schedule
    created: bool
    timetable: KnownTimetable | None = None
    due: tuple[DueRun, ...] = ()
    cancelled: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs to list; bounds on `scheduled_for`, from inclusive, to exclusive."""

    tenant: str
    schedule_id: str | None = None
    state: State | None = None
    from_ms: int | None = None
    to_ms: int | None = None


RunKey = tuple[int, int]
"""Where a page of runs ends, for the store: `scheduled_for` and the schedule's row."""

RunPlace = tuple[int, str]
"""The same for a tenant, with the schedule's id: row numbers would tell how many others have."""


class HerdRecords(Protocol):
    """The records of herds, kept as long as history."""

    async def add(self, record: HerdRecord, *, forget_before_ms: int) -> None:
        """Store a record, the larger of two of one instant, and forget the oldest."""
        ...

    async def newest(self, limit: int) -> list[HerdRecord]: ...

    async def names(self, timetables: Sequence[int]) -> dict[int, str]:
        """What timetables are called; one that is gone is left out."""
        ...


class Journal(Protocol):
    """The write-ahead journal as the planner, the loader, the dispatcher and the pruner see it."""

    async def begin_life(self, now_ms: int) -> Progress:
        """Count a start and return attempts of earlier lives to waiting; the progress before it."""
        ...

    async def last_instant_ms(self) -> int:
        """The newest instant in the journal."""
        ...

    async def timetables(self) -> list[KnownTimetable]:
        """Those with live schedules; one that this version cannot read is left out and logged."""
        ...

    async def plan(
        self, slices: Sequence[Slice | AtSlice], *, horizon_ms: int, now_ms: int
    ) -> Planned:
        """Write the runs of a bounded part of `slices`; the watermark moves when none is left.

        It may stay when nothing was written: an idle engine spares the disk, and planning again
        from where it stays finds the same nothing.
        """
        ...

    async def due(
        self,
        after: DueRun,
        until_ms: int,
        limit: int,
        *,
        flow_id: int | None,
        known: Callable[[int], bool],
    ) -> DuePage:
        """Waiting runs later than `after` and due by `until_ms`, of one flow or of all.

        `known`: whether the caller has a flow's limits already; asked from another thread.
        """
        ...

    async def backlogs(self, until_ms: int, flow_id: int | None) -> list[Backlog]:
        """What was due by `until_ms` and waits, of one flow or of all; not what is to be judged."""
        ...

    async def spread_again(
        self, flow_id: int, after: DueRun, *, until_ms: int, now_ms: int, window_ms: int, epoch: int
    ) -> DueRun | None:
        """Give some of a flow's backlog behind `after` new due times within the window.

        After which run to go on; None when that was all of it.
        """
        ...

    async def claim(self, runs: Sequence[HeldRun], now_ms: int) -> Claimed:
        """Journal an attempt for each run that may have one; what has moved on drops out."""
        ...

    async def expire(self, claims: Sequence[Claim], now_ms: int) -> list[HeldRun]:
        """Take back attempts that did not start in time: their runs expire. Due runs: as `end`."""
        ...

    async def end(self, ended: Sequence[Ended]) -> Recorded:
        """Journal finished attempts."""
        ...

    async def open_downtime(self, watermark_ms: int, *, resume_ms: int, rate: int) -> int:
        """Set the stretch since `watermark_ms` aside to be judged; the new watermark."""
        ...

    async def judge_downtime(self, now_ms: int) -> Judged:
        """Judge a slice of the oldest stretch."""
        ...

    async def resume_ended_pauses(self, now_ms: int) -> tuple[list[KnownTimetable], list[DueRun]]:
        """Resume schedules whose pause has run out; their timetables and the runs due anew."""
        ...

    async def reset_progress(self, now_ms: int) -> None:
        """Believe the clock: plan from `now_ms` on although the journal has later instants."""
        ...

    async def prune_old(self, before_ms: int) -> int:
        """Turn older runs into counted ranges and drop old revisions; how many rows went."""
        ...

    async def count_excess(self, runs_max: int) -> dict[str, int]:
        """How many runs too many each tenant holds, if all together hold over `runs_max`."""
        ...

    async def prune_excess(
        self, after: RunKey, excess: Mapping[str, int]
    ) -> tuple[dict[str, int], RunKey | None]:
        """Turn the oldest of these runs after a key into counted ranges.

        How many of each tenant's went, and the key after which to go on; None at the end.
        """
        ...

    async def delete_complete(self, now_ms: int) -> int:
        """Delete schedules that asked for it and have nothing left to do; how many."""
        ...

    async def sweep(self, after: int, *, before_ms: int) -> int:
        """Forget timetables, targets, and schedules deleted before then that nothing refers to.

        It looks at a window of row ids behind `after`, and gives where the next one begins: 0 when
        it has come to the end.
        """
        ...
