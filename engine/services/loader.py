"""The loader: from the journal into memory, within bounds.

It follows the planner's watermark, and no further than the lookahead: rows beyond are not read
before they are planned, retries of the next hour stay on disk. When memory is full it stops and
goes on as the queue drains. Start-up is the same loop: it begins behind the backlog, which waits to
be spread again (`recovery`).
"""

import asyncio
from typing import Protocol

from engine.clock import Clock
from engine.core.errors import Unavailable
from engine.services.waiting import Waiting
from engine.store import DueRun, HeldRun, Journal

LOOKAHEAD_MS = 5_000
"""How far ahead runs are planned and held (SPEC §8): many commits long, and short in memory."""

PAGE_RUNS_MAX = 10_000
"""Runs read at once: some 10 ms of the reader's thread, 2 ms of the loop."""

FORGET_EVERY_MS = 100
"""How often a thousand flows are looked at: 40,000 within four seconds, for 0.5 % of the loop."""

IDLE_SECONDS = 0.5
"""How often to look without being told: retries come into sight as time goes on."""


class Plan(Protocol):
    """How far the journal is planned, by `fire_after`, and whether anybody has looked lately."""

    @property
    def watermark_ms(self) -> int: ...

    def is_current(self, now_ms: int) -> bool: ...


class Loader:
    """Keeps `Waiting` filled from the journal."""

    def __init__(self, clock: Clock, journal: Journal, waiting: Waiting, planner: Plan) -> None:
        self._clock = clock
        self._journal = journal
        self._waiting = waiting
        self._planner = planner
        self._wake = asyncio.Event()
        self._forgot_ms = 0

    def wake(self) -> None:
        """There is something to read, or room."""
        self._wake.set()

    async def run(self) -> None:
        while True:
            while await self.run_once():
                pass
            self._wake.clear()
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def run_once(self) -> bool:
        """Read a page of all flows, then of those that have drained; whether there may be more."""
        now_ms = self._clock.now_ms()
        if not self._planner.is_current(now_ms):
            return False  # What waited through an absence is not to be held before it is spread.
        until_ms = min(now_ms + LOOKAHEAD_MS, self._planner.watermark_ms)
        self._forget_flows()
        more = await self._read_on(until_ms)
        for flow_id, after, limit in self._waiting.drained():
            page = await self._read(after, until_ms, limit, flow_id)
            if page is not None:
                self._waiting.read_back(flow_id, page, limit)
        return more

    def _forget_flows(self) -> None:
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._forgot_ms >= FORGET_EVERY_MS:
            self._forgot_ms = now_ms
            self._waiting.forget_idle_flows()

    async def _read_on(self, until_ms: int) -> bool:
        limit = min(PAGE_RUNS_MAX, self._waiting.room)
        if limit == 0 or self._waiting.reaches(until_ms):
            return False
        after = self._waiting.extend(until_ms)
        page = await self._read(after, until_ms, limit, None)
        if page is None:
            self._waiting.shrink(after[0])
            return False
        self._waiting.hold(page)
        if len(page) == limit:
            self._waiting.reach = min(self._waiting.reach, page[-1].key)
        return len(page) == limit

    async def _read(
        self, after: DueRun, until_ms: int, limit: int, flow_id: int | None
    ) -> list[HeldRun] | None:
        """A page of waiting runs; None when the journal cannot be read now."""
        try:
            page = await self._journal.due(
                after, until_ms, limit, flow_id=flow_id, known=self._waiting.knows
            )
        except Unavailable:
            return None
        # Of a flow that became known meanwhile, its row may be an old one.
        waiting = self._waiting
        waiting.learn(flow for flow in page.flows if not waiting.knows(flow.flow_id))
        return page.runs
