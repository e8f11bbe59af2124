"""Backfill: runs for past occurrences that have none, spread, and written a slice at a time.

Nothing is acknowledged before all of it is on disk. A call that was cut short has planned its
oldest occurrences; the same call again plans the rest, since what has a run is passed over.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.clock import Clock
from engine.core.backfill import Backfill, Span
from engine.core.missed import spread_ms
from engine.core.notice import identify
from engine.core.once import Record
from engine.core.revision import Condition
from engine.store import DueRun

RUNS_PLANNED_MAX = 500
"""Runs written in one transaction: some 20 ms, so claims and outcomes wait no longer."""


class BackfillStore(Protocol):
    """The past of schedules by their text id. Raises the errors of `core.errors`."""

    async def span(
        self, schedule_id: str, from_ms: int, to_ms: int, now_ms: int, *, if_match: Condition
    ) -> Span:
        """What `from <= scheduled_for < to` leaves to a backfill.

        Raises `NotFound`; `PreconditionFailed`; `Invalid` when it is too much; `Conflict` while
        the schedule is paused or downtime is being judged.
        """
        ...

    async def flow_of(self, schedule_id: str) -> tuple[int, int | None]:
        """The id of its flow, and the rate that the flow is limited to."""
        ...

    async def gaps(self, span: Span, after_ms: int) -> tuple[list[int], int | None]:
        """The occurrences without a run of a page after `after_ms`, and where the next begins."""
        ...

    async def keep(self, record: Record[Backfill], done: Backfill) -> None:
        """Keep the answer to what was planned."""
        ...

    async def plan(
        self, span: Span, instants: Sequence[int], part: range, *, now_ms: int, rate: int
    ) -> list[DueRun]:
        """Plan a part in one transaction; those that had no run yet. `Conflict` after an edit."""
        ...


class Held(Protocol):
    """Where runs that are due anew are offered, and how fast flows are served."""

    def pace_of(self, flow_id: int, *rates: int | None) -> int: ...

    def offer(self, runs: Iterable[DueRun]) -> None: ...


class Backfills:
    """One tenant's backfills. Errors are those of `BackfillStore`; what returns is durable."""

    def __init__(
        self, clock: Clock, store: BackfillStore, held: Held, *, tenant: str, rate: int
    ) -> None:
        """`rate`: of the token bucket. Backfills are given half of it, or of their flow's pace."""
        self._clock = clock
        self._store = store
        self._held = held
        self._tenant = tenant
        self._rate = rate

    async def run(
        self,
        name: str,
        *,
        from_ms: int,
        to_ms: int,
        dry_run: bool,
        if_match: Condition = None,
        record: Record[Backfill] | None = None,
    ) -> Backfill:
        """Plan the past occurrences with `from <= scheduled_for < to` that have no run.

        The record is kept behind the last of many transactions: until then, the same call again
        plans the rest.
        """
        now_ms = self._clock.now_ms()
        identity = identify(self._tenant, name)
        span = await self._store.span(identity, from_ms, to_ms, now_ms, if_match=if_match)
        gaps = instants = await self._gaps(span)
        flow_id, flow_rate = await self._store.flow_of(identity)
        rate = self._held.pace_of(flow_id, self._rate, flow_rate)
        if not dry_run:
            instants = await self._plan(span, gaps, now_ms, rate)
        done = Backfill()
        if instants:
            done = Backfill(
                count=len(instants),
                first_ms=instants[0],
                last_ms=instants[-1],
                spread_until_ms=now_ms + spread_ms(len(gaps), rate),
            )
        if record is not None:
            await self._store.keep(record, done)
        return done

    async def _gaps(self, span: Span) -> list[int]:
        found: list[int] = []
        after_ms: int | None = span.after_ms
        while after_ms is not None:
            page, after_ms = await self._store.gaps(span, after_ms)
            found += page
        return found

    async def _plan(self, span: Span, gaps: Sequence[int], now_ms: int, rate: int) -> list[int]:
        """Write the runs; the instants of those that no other call has planned meanwhile."""
        planned: list[int] = []
        for start in range(0, len(gaps), RUNS_PLANNED_MAX):
            part = range(start, min(start + RUNS_PLANNED_MAX, len(gaps)))
            due = await self._store.plan(span, gaps, part, now_ms=now_ms, rate=rate)
            self._held.offer(due)
            planned += [instant for _, instant, _ in due]
        return planned
