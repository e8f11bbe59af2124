"""The pruner: old history becomes counted ranges and loose rows leave, a little at a time."""

import asyncio

from engine.clock import Clock
from engine.core.errors import Unavailable
from engine.store import Journal

PAUSE_SECONDS = 0.2
"""Between two batches, so that pruning takes a few percent of the disk's time."""

IDLE_SECONDS = 60.0
"""Between two looks when nothing is old enough."""

_DAY_MS = 86_400_000


class Pruner:
    """Keeps history within its age and its number of runs, and sweeps behind it."""

    def __init__(self, clock: Clock, journal: Journal, *, days: int, runs: int) -> None:
        self._clock = clock
        self._journal = journal
        self._days = days
        self._runs = runs
        self._swept = 0

    async def run(self) -> None:
        while True:
            pruned = await self.run_once()
            await asyncio.sleep(PAUSE_SECONDS if pruned else IDLE_SECONDS)

    async def run_once(self) -> int:
        """Prune one batch, or sweep one window; how many rows of history went."""
        before_ms = self._clock.now_ms() - self._days * _DAY_MS
        try:
            await self._journal.delete_complete(self._clock.now_ms())
            pruned = await self._journal.prune(before_ms=before_ms, runs_max=self._runs)
            if not pruned:
                self._swept = await self._journal.sweep(self._swept, before_ms=before_ms)
        except Unavailable:
            return 0  # It can wait.
        return pruned
