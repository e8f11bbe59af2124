"""Failure notices as a tenant sets them: where they go, or that there are none."""

from collections.abc import Mapping
from typing import Any

from engine.clock import Clock
from engine.core.errors import NotFound
from engine.core.identity import schedule_id
from engine.core.model import Draft, Schedule
from engine.core.notice import NOTICES
from engine.core.notice_document import read_notices
from engine.core.revision import Condition
from engine.services.figures import Figures
from engine.services.schedules import Schedules, ScheduleStore


class Notices:
    """One tenant's. What is stored is a schedule (`core.notice`), and is judged like any other."""

    def __init__(
        self,
        clock: Clock,
        store: ScheduleStore,
        schedules: Schedules,
        figures: Figures,
        *,
        tenant: str,
        told: set[str],
    ) -> None:
        """`told`: the tenants that have a target, which the journal looks at (`store.notices`)."""
        self._clock = clock
        self._store = store
        self._schedules = schedules
        self._figures = figures
        self._tenant = tenant
        self._told = told
        self._id = schedule_id(tenant, NOTICES)

    async def put(
        self, draft: Draft | Mapping[str, Any], *, if_match: Condition = None
    ) -> tuple[Schedule, bool]:
        """Tell a target from now on, even if it answered 410 before; and whether it is the first.

        A mapping is a document as `PUT /v1/notices` takes it, and is this program's own: its target
        may be `inproc:NAME`.
        """
        if not isinstance(draft, Draft):
            draft = read_notices(draft, tenant=self._tenant, inproc=True)
        stored = await self._schedules.put(draft, if_match=if_match)
        self._told.add(self._tenant)
        return stored

    async def get(self) -> Schedule:
        """Who is told. Raises `NotFound` when nobody is."""
        try:
            return await self._store.get(self._id)
        except NotFound:
            raise _nobody() from None

    async def delete(self, *, if_match: Condition = None) -> None:
        """Tell nobody; notices that wait are cancelled."""
        try:
            cancelled = await self._store.delete(self._id, self._clock.now_ms(), if_match=if_match)
        except NotFound:
            raise _nobody() from None
        self._figures.cancel(cancelled)
        self._told.discard(self._tenant)


def _nobody() -> NotFound:
    return NotFound(
        "nobody is told of failures: PUT /v1/notices (offbeat notices set) names a target"
    )
