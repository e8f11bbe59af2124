"""Who ate the objective: the delays of a tenant's runs by component, read page by page."""

import asyncio
from typing import Protocol

from engine.core.delay_shares import Shares, Tally
from engine.core.errors import Unavailable
from engine.store import RunKey

RUNS_READ_MAX = 200_000
"""Runs of one attribution, the earliest of its span: two seconds of a reader's thread. In a herd
their order says nothing of how late they were, so the first of a larger one stand for all."""


class AttributionStore(Protocol):
    """Runs of the trigger `schedule` with what their attempts noted."""

    async def tally(
        self, tenant: str, tally: Tally, after: RunKey, to_ms: int
    ) -> tuple[int, RunKey | None]:
        """Add a page of runs behind `after`, `scheduled_for < to`; how many were read, and where
        the next page begins."""
        ...


class Attributions:
    """One tenant's, one at a time."""

    def __init__(self, store: AttributionStore, *, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._running = False

    async def shares(self, from_ms: int, to_ms: int) -> Shares:
        """Of the runs with `from <= scheduled_for < to` that have had an attempt.

        Raises `Unavailable` while another one runs.
        """
        if self._running:
            raise Unavailable("another attribution is running: ask again when it is done")
        self._running = True
        try:
            return await self._shares(from_ms, to_ms)
        finally:
            self._running = False

    async def _shares(self, from_ms: int, to_ms: int) -> Shares:
        tally, read = Tally(), 0
        after: RunKey | None = (from_ms, -1)
        while after is not None and read < RUNS_READ_MAX:
            count, after = await self._store.tally(self._tenant, tally, after, to_ms)
            read += count
            await asyncio.sleep(0)
        return await asyncio.to_thread(tally.shares, complete=after is None)
