"""Runs as a tenant reads them."""

from engine.core.model import Attempt, Run, State
from engine.store import RunFilter, RunKey, RunStore


class Runs:
    """One tenant's history."""

    def __init__(self, store: RunStore, *, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    async def get(self, schedule_id: str, scheduled_for_ms: int) -> tuple[Run, list[Attempt]]:
        """A run and its finished attempts. Raises `NotFound`."""
        return await self._store.get(self._tenant, schedule_id, scheduled_for_ms)

    async def page(
        self,
        *,
        schedule: str | None,
        state: State | None,
        from_ms: int | None,
        to_ms: int | None,
        limit: int,
        after: RunKey | None,
    ) -> tuple[list[Run], RunKey | None]:
        """Up to `limit` runs, newest `scheduled_for` first, and the key after which to go on."""
        which = RunFilter(
            tenant=self._tenant,
            schedule_id=schedule,
            state=state,
            from_ms=from_ms,
            to_ms=to_ms,
        )
        return await self._store.page(which, limit=limit, after=after)
