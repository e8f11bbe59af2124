"""Recovery: shocks that come while the journal cannot be written."""

import asyncio
from typing import Any

from engine.core.errors import Unavailable
from engine.core.flow import Flow
from engine.services.recovery import Recovery
from engine.store import Backlog
from engine.testing import VirtualClock, run_virtual

NOW_MS = 1_796_040_000_000


class Journal:
    """A journal without a backlog, which keeps what it was asked for: until when, which flow."""

    def __init__(self, clock: VirtualClock, *, answers_after_ms: int = 0) -> None:
        self._clock = clock
        self._answers_after_ms = answers_after_ms
        self.is_full = False
        self.asked: list[tuple[int, int | None]] = []

    async def backlogs(self, until_ms: int, flow_id: int | None) -> list[Backlog]:
        if self.is_full:
            raise Unavailable("the disk is full")
        self.asked.append((until_ms - NOW_MS, flow_id))
        await self._clock.run_for(self._answers_after_ms)
        return []


class Memory:
    """Flows without runs."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None

    def flow(self, flow_id: int) -> Flow:
        return Flow(flow_id, "default")


def test_a_flow_has_one_shock_pending_the_last_however_often_its_breaker_closes() -> None:
    async def main(clock: VirtualClock) -> list[tuple[int, int | None]]:
        journal: Any = Journal(clock)
        journal.is_full = True
        recovery = Recovery(clock, journal, Memory(), rate=1_000)
        running = asyncio.create_task(recovery.run())
        recovery.recovered(1)
        recovery.returned(NOW_MS, NOW_MS, was_away=False)
        for _ in range(100):
            await clock.run_for(700)
            recovery.recovered(1)
        recovery.recovered(2)
        clock.step(-5_000)
        recovery.recovered(1)
        journal.is_full = False
        await clock.run_for(10_000)
        running.cancel()
        asked: list[tuple[int, int | None]] = journal.asked
        return asked

    asked = run_virtual(main, NOW_MS)
    assert sorted(asked, key=str) == [(-15_000, None), (70_000, 1), (70_000, 2)]


def test_a_breaker_that_closes_again_while_its_backlog_is_spread_has_a_shock_of_its_own() -> None:
    async def main(clock: VirtualClock) -> list[tuple[int, int | None]]:
        journal: Any = Journal(clock, answers_after_ms=3_000)
        recovery = Recovery(clock, journal, Memory(), rate=1_000)
        running = asyncio.create_task(recovery.run())
        recovery.recovered(1)
        recovery.recovered(2)
        await clock.run_for(2_000)
        recovery.recovered(1)
        await clock.run_for(20_000)
        running.cancel()
        asked: list[tuple[int, int | None]] = journal.asked
        return asked

    assert run_virtual(main, NOW_MS) == [(0, 1), (0, 2), (2_000, 1)]
