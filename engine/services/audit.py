"""The occurrence audit: a tenant's schedules, slice by slice, beside whatever else goes on."""

import asyncio
from typing import Protocol

from engine.clock import Clock
from engine.core.audit import Tally
from engine.core.errors import Fault, Invalid, Unavailable
from engine.core.identity import format_instant


class AuditStore(Protocol):
    """What the journal says of schedules, runs and ranges."""

    async def history_floor_ms(self, tenant: str) -> int:
        """Since when nothing that an audit of this tenant needs was pruned."""
        ...

    async def slice(
        self, tenant: str, after_ms: int, until_ms: int, position: tuple[int, int]
    ) -> tuple[Tally, tuple[int, int] | None]:
        """The tally of some schedules from `position` on, of one moment; and the next position."""
        ...


class Audit:
    """One tenant's audits, one at a time."""

    def __init__(self, clock: Clock, store: AuditStore, *, tenant: str) -> None:
        self._clock = clock
        self._store = store
        self._tenant = tenant
        self._running = False

    async def history_floor_ms(self) -> int:
        """The earliest `from` of an audit."""
        return await self._store.history_floor_ms(self._tenant)

    async def run(self, from_ms: int, to_ms: int) -> Tally:
        """What was owed with `from <= scheduled_for < to`, and what became of it.

        Raises `Invalid` for what lies before history, `Unavailable` while another audit runs.
        """
        floor_ms = await self.history_floor_ms()
        if from_ms < floor_ms:
            raise Invalid(Fault("/from", f"history begins at {format_instant(floor_ms)}"))
        if self._running:
            raise Unavailable("another audit is running: ask again when it is done")
        self._running = True
        try:
            return await self._run(from_ms - 1, to_ms - 1)
        finally:
            self._running = False

    async def _run(self, after_ms: int, until_ms: int) -> Tally:
        tally = Tally()
        position: tuple[int, int] | None = (0, after_ms)
        while position is not None:
            some, position = await self._store.slice(self._tenant, after_ms, until_ms, position)
            tally += some
            await asyncio.sleep(0)
        return tally
