"""What the web layer needs of the engine, in the words of the domain."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from aiohttp import web
from prometheus_client import CollectorRegistry

from engine.about import About
from engine.clock import Clock
from engine.core.access import ApiKey, Quotas, Scope, Tenant
from engine.core.audit import Tally
from engine.core.curves import Figures
from engine.core.delay_shares import Shares
from engine.core.forecast import Forecast
from engine.core.forecast_audit import AuditedMinute
from engine.core.herd_advice import Advice
from engine.core.herd_document import Change, Span
from engine.core.herd_record import HerdRecord
from engine.core.herd_top import Top
from engine.core.once import Once, Record, Reply
from engine.core.revision import Condition
from engine.core.what_if import WhatIf
from engine.services.event_stream import Stream
from engine.services.flows import FlowState
from engine.services.monitor import Sight
from engine.web.run_ports import DeadLetters, Runs
from engine.web.schedule_ports import Backfills, Notices, Schedules

T = TypeVar("T")


class Monitor(Protocol):
    """What the amplification monitor sees and has seen."""

    def current(self) -> Sight: ...

    def last_hour(self) -> Figures: ...

    def by_second(self, figures: Figures) -> Mapping[str, Sequence[int]]:
        """The three curves of a window."""
        ...

    async def named(self, timetables: Sequence[tuple[int, int]]) -> Sequence[tuple[str, int]]: ...

    async def records(self, limit: int) -> Sequence[HerdRecord]:
        """Newest first."""
        ...


class ForecastAudit(Protocol):
    """Forecasts against what happened."""

    @property
    def minutes(self) -> Sequence[AuditedMinute]:
        """Those of the last hour, newest first."""
        ...


class Flows(Protocol):
    """The tenant's flows."""

    async def put(
        self,
        key: str,
        *,
        rate: int | None,
        parallelism: int,
        paused: bool,
        if_match: Condition = None,
    ) -> FlowState: ...

    async def delete(self, key: str, *, if_match: Condition = None) -> None: ...

    async def get(self, key: str) -> FlowState: ...

    async def page(
        self, *, limit: int, after_key: str | None
    ) -> tuple[Sequence[FlowState], str | None]:
        """By key; and the key to go on after, None at the end."""
        ...


class Forecasts(Protocol):
    """What will fire, what would, and what to change."""

    async def forecast(self, span: Span) -> tuple[Forecast, Top]: ...

    async def what_if(self, change: Change, span: Span) -> WhatIf: ...

    async def advice(self) -> Advice: ...


class Audit(Protocol):
    """The occurrence audit."""

    async def history_floor_ms(self) -> int:
        """The earliest `from` of an audit."""
        ...

    async def run(self, from_ms: int, to_ms: int) -> Tally:
        """What was owed with `from <= scheduled_for < to`, and what became of it."""
        ...


class Attributions(Protocol):
    """Where the time of many runs went."""

    async def shares(self, from_ms: int, to_ms: int) -> Shares:
        """Of the scheduled runs with `from <= scheduled_for < to`."""
        ...


class Events(Protocol):
    """What becomes of the tenant's runs, as it happens."""

    def open(
        self, *, schedule: str | None, runs: bool, herd: bool, after: str | None
    ) -> AbstractContextManager[Stream]:
        """A stream of a schedule's runs (by id) or all, of the herd's figures, or of both.

        `after`: the id of the last event that the client has. LimitReached: too many are open.
        """
        ...


class Keys(Protocol):
    """API keys."""

    @property
    def required(self) -> bool:
        """Whether there are any, so that everybody needs one."""
        ...

    def find(self, text: str) -> ApiKey | None: ...

    def knows(self, key: ApiKey) -> bool:
        """Whether a key that was found is still one."""
        ...

    def wait_ms(self, key: ApiKey) -> int:
        """Count a request of a key: 0, or how long it has to wait for the next."""
        ...

    async def create(
        self,
        *,
        tenant: str,
        scope: Scope,
        name: str | None,
        record: Record[ApiKey] | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key and its text. NotFound: there is no such tenant; Conflict without keys."""
        ...

    def text_again(self, once: Once, created_at_ms: int) -> str:
        """The text of the key that a request with a record made at that instant.

        Raises Conflict when it was revoked since.
        """
        ...

    def page(self, *, limit: int, after_id: str | None) -> tuple[Sequence[ApiKey], str | None]:
        """By id; and the id to go on after, None at the end."""
        ...

    async def revoke(self, key_id: str) -> None: ...


class Answers(Protocol):
    """What requests with an idempotency key were answered."""

    async def once(
        self,
        once: Once,
        work: Callable[[Record[T]], Awaitable[object]],
        answer: Callable[[T], Reply],
    ) -> Reply | None:
        """The answer that was kept; None when there was none and `work` has been done.

        KeyTaken when another request has the key, InProgress while the same one is under way.
        """
        ...


class Tenants(Protocol):
    """Who has schedules here. `put` says whether the tenant was made."""

    async def put(
        self, name: str, quotas: Quotas, *, if_match: Condition = None
    ) -> tuple[Tenant, bool]: ...

    async def get(self, name: str) -> Tenant: ...

    async def page(
        self, *, limit: int, after_name: str | None
    ) -> tuple[Sequence[Tenant], str | None]:
        """By name; and the name to go on after, None at the end."""
        ...

    async def delete(self, name: str, *, if_match: Condition = None) -> None:
        """Conflict while it has schedules, runs or keys."""
        ...


class Secrets(Protocol):
    """The tenant's signing secrets."""

    @property
    def active(self) -> Sequence[str]:
        """Newest first: two while they rotate."""
        ...

    async def rotate(self) -> None:
        """Conflict while two are active."""
        ...

    async def retire(self) -> None:
        """Conflict when there is but one."""
        ...


class TenantFace(Protocol):
    """The engine as one tenant sees it."""

    @property
    def tenant(self) -> str: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def subsecond(self) -> bool: ...

    @property
    def secrets(self) -> Secrets: ...

    @property
    def schedules(self) -> Schedules: ...

    @property
    def runs(self) -> Runs: ...

    @property
    def flows(self) -> Flows: ...

    @property
    def backfills(self) -> Backfills: ...

    @property
    def dead_letters(self) -> DeadLetters: ...

    @property
    def audit(self) -> Audit: ...

    @property
    def forecasts(self) -> Forecasts: ...

    @property
    def attributions(self) -> Attributions: ...

    @property
    def events(self) -> Events: ...

    @property
    def notices(self) -> Notices: ...


class EngineFace(Protocol):
    """The engine as the web layer sees it."""

    def of(self, tenant: str) -> TenantFace: ...

    @property
    def tenant(self) -> str:
        """Whom everybody acts for while there are no keys."""
        ...

    @property
    def keys(self) -> Keys: ...

    @property
    def answers(self) -> Answers: ...

    @property
    def tenants(self) -> Tenants: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def monitor(self) -> Monitor: ...

    @property
    def forecasts(self) -> Forecasts: ...

    @property
    def forecast_audit(self) -> ForecastAudit: ...

    @property
    def registry(self) -> CollectorRegistry: ...

    @property
    def listen(self) -> str:
        """`HOST:PORT` or `unix:PATH`."""
        ...

    @property
    def about(self) -> About:
        """Its versions and settings, without secrets."""
        ...

    def end_streams(self) -> None:
        """End all event streams at once."""
        ...

    def checks(self) -> Mapping[str, str | None]:
        """What the engine needs to do its work, and why it has it not right now, or None."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """For whom a request acts, what it may do, and the key that says so, if one does."""

    tenant: str
    scope: Scope
    key: ApiKey | None = None


ENGINE: web.AppKey[EngineFace] = web.AppKey("engine")
MOUNTED_AT: web.RequestKey[str] = web.RequestKey("mounted_at", str)
"""Where a request keeps the address under which the interface is mounted; empty: at the root."""

CALLER: web.RequestKey[Caller] = web.RequestKey("caller", Caller)
"""Where a request keeps its `Caller`; `access.py` puts it there."""


def engine_of(request: web.Request) -> TenantFace:
    """The engine as the tenant for whom this request acts sees it."""
    return request.app[ENGINE].of(request[CALLER].tenant)


def forecasts_of(request: web.Request) -> Forecasts:
    """The whole node's for an administrator, of the caller's own runs for everybody else."""
    if request[CALLER].scope is Scope.ADMIN:
        return request.app[ENGINE].forecasts
    return engine_of(request).forecasts
