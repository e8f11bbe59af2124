"""The engine as each tenant sees it: its own schedules, runs, flows, backfills, audit, delays,
events, notices and secrets.

What is made for one tenant cannot name another's: each service below takes the tenant once, here,
and puts it into every question to the store.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from engine.clock import Clock
from engine.core.egress import Refusal
from engine.services.attribution import Attributions, AttributionStore
from engine.services.audit import Audit, AuditStore
from engine.services.backfill import Backfills, BackfillStore
from engine.services.credentials import Credentials
from engine.services.dead_letters import DeadLetters, DeadLetterStore
from engine.services.events import Events, TenantEvents
from engine.services.figures import Figures
from engine.services.flows import Flows, FlowStore
from engine.services.forecast import Forecasts
from engine.services.notices import Notices
from engine.services.runs import Runs, RunStore
from engine.services.schedules import Agenda, Schedules, ScheduleStore
from engine.services.signing_secrets import SigningSecrets, TenantSecrets
from engine.services.waiting import Waiting

TENANTS_KEPT = 1_024
"""Tenants whose services are kept ready; to make them again takes microseconds."""


class Stores(Protocol):
    """What the services of one tenant read and write: whoever reads much waits by itself."""

    @property
    def schedules(self) -> ScheduleStore: ...

    @property
    def runs(self) -> RunStore: ...

    @property
    def flows(self) -> FlowStore: ...

    @property
    def backfills(self) -> BackfillStore: ...

    @property
    def dead_letters(self) -> DeadLetterStore: ...

    @property
    def audit(self) -> AuditStore: ...

    @property
    def attributions(self) -> AttributionStore: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantServices:
    """One tenant's engine."""

    tenant: str
    clock: Clock
    subsecond: bool
    secrets: TenantSecrets
    schedules: Schedules
    runs: Runs
    flows: Flows
    backfills: Backfills
    dead_letters: DeadLetters
    audit: Audit
    forecasts: Forecasts
    attributions: Attributions
    events: TenantEvents
    notices: Notices


class Tenancy:
    """Makes each tenant's services from what all tenants share."""

    def __init__(
        self,
        clock: Clock,
        stores: Callable[[str], Stores],
        agenda: Agenda,
        waiting: Waiting,
        figures: Figures,
        *,
        forecasts: Forecasts,
        events: Events,
        rate: int,
        subsecond: bool,
        secrets: SigningSecrets,
        interval_seconds_min: Callable[[str], int],
        egress: Refusal,
        credentials: Credentials,
        told: set[str],
    ) -> None:
        """`stores`: a tenant's; `forecasts`, `events`: the node's; `rate`: the bucket's.

        `interval_seconds_min`: the least that a tenant's schedules may have; `egress`: judges the
        addresses that they call; `credentials`: seals the headers that they send; `told`: the
        tenants that have a target for notices.
        """
        self._clock = clock
        self._stores = stores
        self._agenda = agenda
        self._waiting = waiting
        self._figures = figures
        self._forecasts = forecasts
        self._events = events
        self._rate = rate
        self._subsecond = subsecond
        self._secrets = secrets
        self._interval_seconds_min = interval_seconds_min
        self._egress = egress
        self._credentials = credentials
        self._told = told
        self.of = lru_cache(TENANTS_KEPT)(self._of)

    def _of(self, tenant: str) -> TenantServices:
        clock, stores, waiting = self._clock, self._stores(tenant), self._waiting
        schedules = Schedules(
            clock,
            stores.schedules,
            self._agenda,
            waiting,
            self._figures,
            tenant=tenant,
            subsecond=self._subsecond,
            interval_seconds_min=self._interval_seconds_min,
            egress=self._egress,
            credentials=self._credentials,
        )
        return TenantServices(
            tenant=tenant,
            clock=clock,
            subsecond=self._subsecond,
            secrets=self._secrets.of(tenant),
            schedules=schedules,
            runs=Runs(clock, stores.runs, waiting, self._figures, tenant=tenant),
            flows=Flows(clock, stores.flows, waiting, tenant=tenant),
            backfills=Backfills(clock, stores.backfills, waiting, tenant=tenant, rate=self._rate),
            dead_letters=DeadLetters(
                clock, stores.dead_letters, waiting, tenant=tenant, rate=self._rate
            ),
            audit=Audit(clock, stores.audit, tenant=tenant),
            forecasts=self._forecasts.of(tenant),
            attributions=Attributions(stores.attributions, tenant=tenant),
            events=self._events.of(tenant),
            notices=Notices(
                clock,
                stores.schedules,
                schedules,
                self._figures,
                tenant=tenant,
                told=self._told,
            ),
        )
