"""Recovery: after a shock, what has piled up is spread again (SPEC §8).

There are two shocks. A breaker that closes would let a herd through, everything that became due
behind the closed door; and an engine that returns finds due all that waited while nobody was there.
Either backlog gets new due times over `W = max(10 s, backlog / (0.5 r))`, `r` being the least of
the bucket's rate, the flow's, and what the flow last sustained.

The new due times are in the journal, a page of runs in each transaction. A crash in the middle
loses nothing and spreads nothing twice: runs that have their new time are not overdue any more, and
the next life finds the others as they were. Until then memory does not hold them, so that what is
due in its own time goes on beside.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

import structlog

from engine.clock import Clock
from engine.core.errors import Unavailable
from engine.core.flow import Flow
from engine.core.reseeding import OVERDUE_MS, window_ms
from engine.services.waiting import NOTHING
from engine.store import DueRun, Journal

RETRY_SECONDS = 1.0
"""Before the journal is asked again after it could not be written."""

log = structlog.get_logger("offbeat.recovery")


class Held(Protocol):
    """The flows and runs in memory."""

    def pace_of(self, flow_id: int, *rates: int | None) -> int: ...

    def flow(self, flow_id: int) -> Flow: ...

    def begin_after(self, due_ms: int, now_ms: int, *, yield_before_ms: int) -> None: ...

    def drop_flow(self, flow_id: int) -> None: ...

    def read_again(self, flow_id: int, from_ms: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shock:
    """What was due by `until_ms` is to be spread; `flow_id` None: of all flows."""

    flow_id: int | None
    until_ms: int
    epoch: int


class Recovery:
    """Spreads backlogs again, one shock after the other."""

    def __init__(self, clock: Clock, journal: Journal, held: Held, *, rate: int) -> None:
        self._clock = clock
        self._journal = journal
        self._held = held
        self._rate = rate
        self._shocks: dict[int | None, _Shock] = {}  # By flow, which has one at most: the last.
        self._shaken = asyncio.Event()

    def recovered(self, flow_id: int) -> None:
        """A flow's breaker has closed; what waits behind it leaves memory until it is spread."""
        self._held.drop_flow(flow_id)
        epoch = self._held.flow(flow_id).breaker.opened
        pending, until_ms = self._shocks.get(flow_id), self._clock.now_ms()
        if pending is not None:  # The clock may have stepped back since.
            until_ms = max(until_ms, pending.until_ms)
        self._add(_Shock(flow_id=flow_id, until_ms=until_ms, epoch=epoch))

    def returned(self, now_ms: int, watermark_ms: int, was_away: bool) -> None:
        """The engine is back, after a start or a suspension; it claims nothing before this.

        Memory begins anew, behind the backlog. Beyond the watermark rows may yet be planned.
        `was_away`: for so long that occurrences were missed. What is late by less then gives way to
        what is due from now on; after a mere restart, the earliest due is the most urgent.
        """
        until_ms = min(now_ms - OVERDUE_MS, watermark_ms)
        self._held.begin_after(until_ms, now_ms, yield_before_ms=now_ms if was_away else 0)
        self._add(_Shock(flow_id=None, until_ms=until_ms, epoch=now_ms))

    async def run(self) -> None:
        while True:
            await self._shaken.wait()
            flow_id, shock = next(iter(self._shocks.items()))
            try:
                await self.run_once(shock)
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if self._shocks[flow_id] is shock:  # Else the flow has had another meanwhile.
                del self._shocks[flow_id]
            if not self._shocks:
                self._shaken.clear()

    async def run_once(self, shock: _Shock) -> None:
        """Spread all of one shock's backlog."""
        # A return has one instant for all of it; flows that recover together wait for each other.
        now_ms = shock.epoch if shock.flow_id is None else self._clock.now_ms()
        backlogs = await self._journal.backlogs(shock.until_ms, shock.flow_id)
        total = sum(backlog.runs for backlog in backlogs)
        if total:
            log.info("backlog_spread_again", runs=total, flows=len(backlogs))
        for backlog in backlogs:
            over_ms = window_ms(
                backlog.runs,
                self._held.pace_of(backlog.flow_id, self._rate, backlog.rate),
                beside=total - backlog.runs,
                bucket_rate=self._rate,
            )
            await self._spread(backlog.flow_id, shock, now_ms, over_ms)
            # From then on: what became due while the flow waited for its turn may have spilled.
            self._held.read_again(backlog.flow_id, shock.until_ms)

    def _add(self, shock: _Shock) -> None:
        self._shocks.pop(shock.flow_id, None)  # The others' turn comes first.
        self._shocks[shock.flow_id] = shock
        self._shaken.set()

    async def _spread(self, flow_id: int, shock: _Shock, now_ms: int, over_ms: int) -> None:
        after: DueRun | None = NOTHING
        while after is not None:
            after = await self._journal.spread_again(
                flow_id,
                after,
                until_ms=shock.until_ms,
                now_ms=now_ms,
                window_ms=over_ms,
                epoch=shock.epoch,
            )
