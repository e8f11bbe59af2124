"""Tenants: making them, their quotas, and what these refuse."""

from collections.abc import Callable
from typing import Protocol

import structlog

from engine.clock import Clock
from engine.core.access import INTERVAL_SECONDS_MIN, Quotas, Tenant
from engine.core.errors import NO_TENANT, Conflict, LimitReached, NotFound
from engine.core.revision import Condition

TENANTS_MAX = 10_000
"""Tenants of one node: their quotas are in memory, and each costs the fair queue its turn."""

PAGE = 1_000

log = structlog.get_logger("offbeat.tenants")


class TenantStore(Protocol):
    """Tenants on disk. A write is durable."""

    async def put(
        self, name: str, quotas: Quotas, now_ms: int, *, if_match: Condition
    ) -> Tenant: ...

    async def get(self, name: str) -> Tenant: ...

    async def page(self, *, limit: int, after_name: str) -> tuple[list[Tenant], str | None]: ...

    async def delete(self, name: str, *, if_match: Condition) -> None:
        """Raises `Conflict` while it has schedules, their runs or keys."""
        ...


class Tenants:
    """All tenants of one engine. Errors are those of `core.errors`."""

    def __init__(self, clock: Clock, store: TenantStore, *, own: str) -> None:
        """`own`: the tenant of the settings, which is always there."""
        self._clock = clock
        self._store = store
        self._own = own
        self._quotas: dict[str, Quotas] = {}
        self.only_own = False
        self.on_rate: Callable[[str, int | None], None] = lambda _tenant, _rate: None
        """Called for each tenant with a rate of its own, and when one has another or none."""

    async def load(self) -> None:
        """Read the quotas, and make the tenant of the settings if it is not there."""
        after: str | None = ""
        while after is not None:
            found, after = await self._store.page(limit=PAGE, after_name=after)
            for tenant in found:
                self._know(tenant.name, tenant.quotas)
        if self._own not in self._quotas:
            await self._put(self._own, Quotas())

    def interval_seconds_min(self, name: str) -> int:
        """The least interval that a tenant's schedules may have."""
        quotas = self._quotas.get(name, Quotas())
        return quotas.interval_seconds_min or INTERVAL_SECONDS_MIN

    async def put(
        self, name: str, quotas: Quotas, *, if_match: Condition = None
    ) -> tuple[Tenant, bool]:
        """Make a tenant or give one other quotas; the tenant, and whether it was made."""
        is_new = name not in self._quotas
        if is_new and self.only_own:
            raise Conflict(
                "without keys there is one tenant: start the engine with "
                "OFFBEAT_AUTH__ADMIN_KEY_FILE, which names a file with the first key"
            )
        if is_new and len(self._quotas) >= TENANTS_MAX:
            raise LimitReached(
                "tenants_max", TENANTS_MAX, f"there are {TENANTS_MAX:,} tenants: delete some"
            )
        tenant = await self._put(name, quotas, if_match)
        log.info("tenant_created" if is_new else "tenant_changed", tenant=name)
        return tenant, is_new

    async def get(self, name: str) -> Tenant:
        """A tenant. Raises `NotFound`."""
        return await self._store.get(name)

    async def page(self, *, limit: int, after_name: str | None) -> tuple[list[Tenant], str | None]:
        """Up to `limit` tenants by name, and the name after which to go on."""
        return await self._store.page(limit=limit, after_name=after_name or "")

    async def delete(self, name: str, *, if_match: Condition = None) -> None:
        """Delete a tenant that has nothing left. Raises `NotFound`, `Conflict`."""
        if name == self._own:
            raise Conflict("this is the tenant of the engine's own settings")
        if name not in self._quotas:
            raise NotFound(NO_TENANT)
        await self._store.delete(name, if_match=if_match)
        self._know(name, Quotas())
        del self._quotas[name]
        log.info("tenant_deleted", tenant=name)

    async def _put(self, name: str, quotas: Quotas, if_match: Condition = None) -> Tenant:
        tenant = await self._store.put(name, quotas, self._clock.now_ms(), if_match=if_match)
        self._know(name, quotas)
        return tenant

    def _know(self, name: str, quotas: Quotas) -> None:
        before = self._quotas.get(name, Quotas())
        self._quotas[name] = quotas
        if quotas.rate != before.rate:
            self.on_rate(name, quotas.rate)
