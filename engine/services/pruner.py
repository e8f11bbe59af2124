"""The pruner: old history becomes counted ranges and loose rows leave, a little at a time."""

import asyncio

from engine.clock import Clock
from engine.core.errors import Unavailable
from engine.store import Journal, RunKey

PAUSE_SECONDS = 0.2
"""Between two batches, so that pruning takes a few percent of the disk's time."""

IDLE_SECONDS = 60.0
"""Between two looks when nothing is old enough."""

_DAY_MS = 86_400_000

_BEGINNING: RunKey = (-(2**62), 0)
"""Before any run."""


class Pruner:
    """Keeps history within its age and its number of runs, and sweeps behind it.

    Of too many runs those go that some tenants hold beyond an equal share, oldest first; one census
    says how many for all the batches that take them.
    """

    def __init__(self, clock: Clock, journal: Journal, *, days: int, runs: int) -> None:
        self._clock = clock
        self._journal = journal
        self._days = days
        self._runs = runs
        self._swept = 0
        self._excess: dict[str, int] = {}
        self._place = _BEGINNING

    async def run(self) -> None:
        while True:
            more = await self.run_once()
            await asyncio.sleep(PAUSE_SECONDS if more else IDLE_SECONDS)

    async def run_once(self) -> bool:
        """Prune one batch, or sweep one window; whether there may be more to prune."""
        before_ms = self._clock.now_ms() - self._days * _DAY_MS
        try:
            await self._journal.delete_complete(self._clock.now_ms())
            if await self._journal.prune_old(before_ms) or await self._prune_excess():
                return True
            self._swept = await self._journal.sweep(self._swept, before_ms=before_ms)
        except Unavailable:
            pass  # It can wait.
        return False

    async def _prune_excess(self) -> bool:
        """Go on through history once for each census; whether there is a next step."""
        if not self._excess:
            self._excess = await self._journal.count_excess(self._runs)
            self._place = _BEGINNING
            if not self._excess:
                return False
        gone, place = await self._journal.prune_excess(self._place, self._excess)
        left = {tenant: runs - gone.get(tenant, 0) for tenant, runs in self._excess.items()}
        self._excess = {tenant: runs for tenant, runs in left.items() if runs} if place else {}
        self._place = place or _BEGINNING
        return bool(self._excess)
