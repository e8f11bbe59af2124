"""Recovery: when a receiver is back, what waited for it is spread again (SPEC §8).

A breaker that closes would otherwise let a herd through: everything that became due while the door
was closed. Over `W = max(10 s, backlog / (0.5 r))` it is spread with a phase drawn from key,
attempt and epoch, so that the same shock has the same instants.
"""

import asyncio
from typing import Protocol

from engine.clock import Clock
from engine.core.errors import Unavailable
from engine.core.flow import Flow
from engine.core.missed import spread_ms
from engine.store import Journal

RETRY_SECONDS = 1.0
"""Before the journal is asked again after it could not be written."""


class Held(Protocol):
    """The flows and runs in memory."""

    def flow(self, flow_id: int) -> Flow: ...

    def drop_flow(self, flow_id: int) -> None: ...

    def shrink(self, before_ms: int) -> None: ...


class Recovery:
    """Spreads the backlogs of flows that have recovered, one after the other."""

    def __init__(self, clock: Clock, journal: Journal, held: Held, *, rate: int) -> None:
        self._clock = clock
        self._journal = journal
        self._held = held
        self._rate = rate
        self._recovered: asyncio.Queue[int] = asyncio.Queue()

    def recovered(self, flow_id: int) -> None:
        """A flow's breaker has closed."""
        self._recovered.put_nowait(flow_id)

    async def run(self) -> None:
        while True:
            flow_id = await self._recovered.get()
            try:
                await self.run_once(flow_id)
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                self._recovered.put_nowait(flow_id)

    async def run_once(self, flow_id: int) -> None:
        """Spread one flow's backlog."""
        now_ms = self._clock.now_ms()
        flow = self._held.flow(flow_id)
        backlog = await self._journal.count_waiting(flow_id, now_ms)
        if not backlog:
            return
        rate = min(self._rate, flow.effective_rate or self._rate)
        over_ms = spread_ms(backlog, rate)
        while await self._journal.spread_again(
            flow_id, now_ms=now_ms, spread_ms=over_ms, epoch=flow.breaker.opened
        ):
            pass
        self._held.drop_flow(flow_id)
        self._held.shrink(now_ms)
