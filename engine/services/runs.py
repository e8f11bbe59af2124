"""Runs as a tenant reads, cancels and replays them."""

from collections.abc import Iterable
from typing import Protocol

from engine.clock import Clock
from engine.core.model import Attempt, Run, State, Target
from engine.core.once import Record
from engine.services.figures import Figures
from engine.store import DueRun, RunFilter, RunPlace


class RunStore(Protocol):
    """Runs by their schedule's text id. Raises the errors of `core.errors`; a write is durable."""

    async def get(
        self, tenant: str, schedule_id: str, scheduled_for_ms: int
    ) -> tuple[Run, list[Attempt]]: ...

    async def target(self, tenant: str, schedule_id: str, scheduled_for_ms: int) -> Target: ...

    async def page(
        self, which: RunFilter, *, limit: int, after: RunPlace | None
    ) -> tuple[list[Run], RunPlace | None]: ...

    async def cancel(
        self,
        tenant: str,
        schedule_id: str,
        scheduled_for_ms: int,
        now_ms: int,
        *,
        record: Record[Run] | None,
    ) -> tuple[Run, list[DueRun]]:
        """The run, cancelled or to be when its attempt ends, and what may go in its place."""
        ...

    async def replay(
        self,
        tenant: str,
        schedule_id: str,
        scheduled_for_ms: int,
        now_ms: int,
        *,
        record: Record[Run] | None,
    ) -> tuple[Run, list[DueRun]]: ...


class Held(Protocol):
    """Where runs that are due anew are offered."""

    def offer(self, runs: Iterable[DueRun]) -> None: ...


class Runs:
    """One tenant's runs. Errors are those of `core.errors`; what is changed is durable."""

    def __init__(
        self, clock: Clock, store: RunStore, held: Held, figures: Figures, *, tenant: str
    ) -> None:
        self._clock = clock
        self._store = store
        self._held = held
        self._figures = figures
        self._tenant = tenant

    async def get(self, schedule_id: str, scheduled_for_ms: int) -> tuple[Run, list[Attempt]]:
        """A run and its finished attempts. Raises `NotFound`."""
        return await self._store.get(self._tenant, schedule_id, scheduled_for_ms)

    async def target(self, schedule_id: str, scheduled_for_ms: int) -> Target:
        """What each attempt of a run sends, its credentials masked. Raises `NotFound`."""
        return await self._store.target(self._tenant, schedule_id, scheduled_for_ms)

    async def page(
        self,
        *,
        schedule: str | None,
        state: State | None,
        from_ms: int | None,
        to_ms: int | None,
        limit: int,
        after: RunPlace | None,
    ) -> tuple[list[Run], RunPlace | None]:
        """Up to `limit` runs, newest `scheduled_for` first, and the key after which to go on."""
        which = RunFilter(
            tenant=self._tenant,
            schedule_id=schedule,
            state=state,
            from_ms=from_ms,
            to_ms=to_ms,
        )
        return await self._store.page(which, limit=limit, after=after)

    async def cancel(
        self, schedule_id: str, scheduled_for_ms: int, *, record: Record[Run] | None = None
    ) -> Run:
        """Cancel a run that has not ended; one that is attempting, when that attempt ends.

        That attempt is not broken off, and if it ends the run, that end stands. Raises `NotFound`,
        `WrongState`.
        """
        now_ms = self._clock.now_ms()
        run, due = await self._store.cancel(
            self._tenant, schedule_id, scheduled_for_ms, now_ms, record=record
        )
        self._figures.cancel(run.state == State.CANCELLED)
        self._held.offer(due)
        return run

    async def replay(
        self, schedule_id: str, scheduled_for_ms: int, *, record: Record[Run] | None = None
    ) -> Run:
        """Send a run again that has ended: same key and bytes. Raises `NotFound`, `WrongState`."""
        now_ms = self._clock.now_ms()
        run, due = await self._store.replay(
            self._tenant, schedule_id, scheduled_for_ms, now_ms, record=record
        )
        self._held.offer(due)
        return run
