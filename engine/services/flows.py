"""Flows as a tenant sees them: limits on disk, and how each stands right now."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from engine.clock import Clock
from engine.core.breaker import Door
from engine.core.flow import Flow
from engine.core.revision import Condition
from engine.store import FlowLimits


class FlowStore(Protocol):
    """Flows by key. Raises the errors of `core.errors`; a write is durable."""

    async def put(
        self,
        tenant: str,
        key: str,
        *,
        rate: int | None,
        parallelism: int,
        paused: bool,
        now_ms: int,
        if_match: Condition,
    ) -> FlowLimits: ...

    async def delete(
        self, tenant: str, key: str, now_ms: int, *, if_match: Condition
    ) -> FlowLimits:
        """The limits that it has now."""
        ...

    async def get(self, tenant: str, key: str) -> FlowLimits: ...

    async def page(
        self, tenant: str, *, limit: int, after_key: str
    ) -> tuple[list[FlowLimits], str | None]: ...


class Live(Protocol):
    """The flows in memory."""

    def knows(self, flow_id: int) -> bool: ...

    def flow(self, flow_id: int) -> Flow: ...

    def learn(self, flows: Iterable[FlowLimits]) -> None: ...

    def waiting_of(self, flow_id: int) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowState:
    """A flow's limits, and what it has in memory and on the wire.

    `effective_rate`: the rate in force, lower than `limits.rate` while the receiver asks for less;
    None without any. `held`: runs of it in memory, due or about to be.
    """

    limits: FlowLimits
    inflight: int
    held: int
    door: Door
    effective_rate: int | None


class Flows:
    """One tenant's flows."""

    def __init__(self, clock: Clock, store: FlowStore, live: Live, *, tenant: str) -> None:
        self._clock = clock
        self._store = store
        self._live = live
        self._tenant = tenant

    async def put(
        self,
        key: str,
        *,
        rate: int | None,
        parallelism: int,
        paused: bool,
        if_match: Condition = None,
    ) -> FlowState:
        """Set a flow's limits; they hold at once. Raises `PreconditionFailed`, `LimitReached`."""
        limits = await self._store.put(
            self._tenant,
            key,
            rate=rate,
            parallelism=parallelism,
            paused=paused,
            now_ms=self._clock.now_ms(),
            if_match=if_match,
        )
        # Also of a flow that is not in memory: a page that is being read may have its old row.
        self._live.learn((limits,))
        return self._state(limits)

    async def delete(self, key: str, *, if_match: Condition = None) -> None:
        """Give a flow's limits back. Raises `NotFound`, `PreconditionFailed`."""
        now_ms = self._clock.now_ms()
        limits = await self._store.delete(self._tenant, key, now_ms, if_match=if_match)
        self._live.learn((limits,))

    async def get(self, key: str) -> FlowState:
        """A flow. Raises `NotFound`."""
        return self._state(await self._store.get(self._tenant, key))

    async def page(
        self, *, limit: int, after_key: str | None
    ) -> tuple[list[FlowState], str | None]:
        """Up to `limit` flows by key, and the key after which to go on."""
        found, next_key = await self._store.page(
            self._tenant, limit=limit, after_key=after_key or ""
        )
        return [self._state(limits) for limits in found], next_key

    def _state(self, limits: FlowLimits) -> FlowState:
        if not self._live.knows(limits.flow_id):
            return FlowState(
                limits=limits, inflight=0, held=0, door=Door.CLOSED, effective_rate=limits.rate
            )
        flow = self._live.flow(limits.flow_id)
        return FlowState(
            limits=limits,
            inflight=flow.inflight,
            held=self._live.waiting_of(limits.flow_id),
            door=flow.breaker.door,
            effective_rate=flow.effective_rate,
        )
