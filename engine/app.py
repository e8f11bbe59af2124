"""The composition root: the only module that knows concrete classes and puts them together."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import TracebackType
from typing import Self

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry

from engine.about import about
from engine.clock import Clock, SystemClock
from engine.config import Config
from engine.core.access import ApiKey
from engine.core.addresses import Address
from engine.core.bucket import TokenBucket
from engine.core.egress import Egress
from engine.core.errors import ConfigError
from engine.listening import is_private
from engine.loops import Loops
from engine.secret_file import read_admin_key
from engine.services.answers import Answers
from engine.services.connector import trusting
from engine.services.credentials import Credentials
from engine.services.dispatcher import Dispatcher
from engine.services.events import Events
from engine.services.figures import Figures
from engine.services.forecast import Forecasts
from engine.services.forecast_audit import ForecastAudit
from engine.services.handlers import Handler, Handlers, HandlingTransport
from engine.services.keys import Keys
from engine.services.loader import Loader
from engine.services.metrics import Metrics
from engine.services.monitor import Monitor
from engine.services.nodes import Nodes
from engine.services.occurrences import Computed, compute
from engine.services.own_addresses import OwnAddresses
from engine.services.planner import Planner
from engine.services.pruner import Pruner
from engine.services.pulse import Pulse
from engine.services.readiness import checks_of
from engine.services.recovery import Recovery
from engine.services.scaler import Scaler
from engine.services.signing_secrets import SigningSecrets
from engine.services.tenancy import Tenancy, TenantServices
from engine.services.tenants import Tenants
from engine.services.timer import Timer
from engine.services.transport import AiohttpTransport, Transport
from engine.services.waiting import Waiting
from engine.store.access import SqliteKeys, SqliteTenants
from engine.store.answers import SqliteAnswers
from engine.store.database import WAL_RESET_FIXED
from engine.store.directory import DataDirectory, hold, refuse_earlier_clock
from engine.store.herd import SqliteHerd
from engine.store.journal import SqliteJournal
from engine.store.monitor import SqliteHerdRecords
from engine.store.signing_secrets import SqliteSecrets
from engine.store.tenant_stores import stores_of
from engine.store.turns import Turns
from engine.store.writer import Reader, Writer
from engine.web.application import create_app

log = structlog.get_logger("offbeat")


class Engine:
    """One engine on one data directory: `async with Engine(config) as engine`.

    It lives in the running loop of any program and touches nothing that is the program's: signals,
    logging, the loop's policy, the interpreter's settings and the default metrics registry are as
    they were. `engine.process` is the program that sets them up for an engine alone. So events go
    where the program's structlog takes them, and are masked if it masks them (docs/security.md).
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        transport: Callable[[], Transport] | None = None,
        busy: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`clock`, `transport` and `busy` are the seams of virtual runs (`engine.testing`)."""
        self._config = config
        self._make_transport = transport or self._own_transport
        self.own_addresses = OwnAddresses()
        self._busy = busy
        self._directory: DataDirectory | None = None
        self._handlers = Handlers()
        self._loops = Loops()
        self._state = "starting"
        self.clock = clock or SystemClock(start_ms=config.clock_start_ms)
        self.tenant = config.tenant
        self.listen = config.listen
        self.subsecond = config.jitter_subsecond
        self.about = about(config, sqlite=sqlite3.sqlite_version)
        self.figures = Figures()
        self.registry = CollectorRegistry()
        self.on_locked: Callable[[], None] = lambda: None
        """Called when the directory is ours and not touched yet; what it raises ends the start."""

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:  # Whatever it was: nothing may stay open behind it.
            await self._release()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def drain(self) -> None:
        """Claim nothing more, and let what is under way end within the drain timeout."""
        if self._state != "running":
            return
        self._state = "stopping"
        self.end_streams()
        self.dispatcher.stop()
        try:
            async with asyncio.timeout(self._config.drain_timeout_seconds):
                await asyncio.wait(
                    [self._dispatching, self._loops.failure], return_when="FIRST_COMPLETED"
                )
        except TimeoutError:
            log.warning("drain_timeout", abandoned=self.dispatcher.inflight)
            self.dispatcher.abandon()

    async def stop(self) -> None:
        """Drain, and close. Cancelled meanwhile, it drains no longer and closes all the same."""
        try:
            await self.drain()
        finally:
            await self._release()
            self._state = "stopped"

    async def failed(self) -> None:
        """Wait until one of the loops fails, and raise its error."""
        await asyncio.shield(self._loops.failure)

    def checks(self) -> dict[str, str | None]:
        """For each thing that the engine needs, why it is missing now; None: it is there."""
        return checks_of(self._state, self.planner, self._writer, self.clock.now_ms())

    def unready(self) -> list[str]:
        """Why the engine cannot do its work right now; empty when it can."""
        return [reason for reason in self.checks().values() if reason]

    def of(self, tenant: str) -> TenantServices:
        """The engine as this tenant sees it."""
        return self._tenancy.of(tenant)

    def handler(self, name: str) -> Callable[[Handler], Handler]:
        """`@engine.handler("NAME")`: what the target `inproc:NAME` calls (`services.handlers`)."""

        def add(handler: Handler) -> Handler:
            self._handlers.add(name, handler)
            return handler

        return add

    async def occurrences(
        self, name: str, from_ms: int, to_ms: int | None = None, *, limit: int = 1_000
    ) -> list[Computed]:
        """Those of a schedule, past and future, with `from_ms <= scheduled_for < to_ms`."""
        return await compute(await self.schedules.get(name), from_ms, to_ms, limit)

    def web_app(self) -> web.Application:
        """The HTTP interface, to serve or to mount; the setting `listen` says where it is served.

        A mounted one has the outer server's time limits. Without keys it answers this machine.
        While `listen` is on loopback, a Host that is not this machine's is answered 421, mounted
        too: behind a name of its own, set `listen` to the address that it is reached at.
        """
        return create_app(self)

    def refusal(self, address: Address, port: int) -> str | None:
        """Why no delivery may connect there and which setting would let it; None: it may."""
        return self._egress.refusal(address, port, own=self.own_addresses.hold(address, port))

    def _own_transport(self) -> Transport:
        ca_file = self._config.egress_ca_file
        return AiohttpTransport(
            self.refusal,
            concurrency=self._config.concurrency,
            tls=None if ca_file is None else trusting(ca_file),
        )

    async def _start(self) -> None:
        file = self._config.admin_key_file
        admin = read_admin_key(file, self.tenant) if file else None
        self._directory = await hold(
            self._config.data_dir,
            timeout_seconds=self._config.lock_timeout_seconds,
            on_locked=self.on_locked,
            sole_tenant=self.tenant if admin is None else None,
            key_file=self._config.master_key_file,
        )
        path = self._directory.path
        self._writer = Writer(self.clock, path, busy=self._busy)
        self._writer.on_commit = self.figures.commit
        journal_reader, api_reader, herd_reader = (Reader(path, busy=self._busy) for _ in range(3))
        self._connections = (self._writer, journal_reader, api_reader, herd_reader)
        for connection in self._connections:  # A forecast has its own: it reads for half a second.
            await connection.open()
        await self._read_keys(api_reader, admin, master=self._directory.master)
        master, store = self._directory.master, SqliteSecrets(self._writer, api_reader)
        turns = Turns(api_reader)
        self._signing, self._credentials = SigningSecrets(store, master), Credentials(master)
        self.answers = Answers(self.clock, SqliteAnswers(turns), master=master)
        await self._signing.load()
        # Without keys, who reaches the engine is on its machine: its networks are theirs.
        self._egress = Egress(openings=self._config.egress_allow, private=not self.keys.required)
        self._assemble(journal_reader, api_reader, herd_reader)
        self._assemble_tenancy(api_reader, turns)
        self._loops.start(self._writer.run())
        await self.tenants.load()
        last_ms = await self._journal.last_instant_ms()
        refuse_earlier_clock(self._config.clock_start_ms, last_ms)
        await self._credentials.check(self._journal.has_sealed_targets)
        progress = await self._journal.begin_life(self.clock.now_ms())
        await self.planner.start(progress)
        loops = (
            self.planner,
            self.loader,
            self.timer,
            self.monitor,
            self.forecast_audit,
            self.recovery,
            self.pruner,
            self.pulse,
            self.scaler,
            self.keys,
            self.nodes,
            self._events,
        )
        for loop in loops:
            self._loops.start(loop.run())
        self._dispatching = self._loops.start(self.dispatcher.run())
        self._state = "running"
        log.info(
            "started",
            version=self.about.versions["offbeat"],
            sqlite=sqlite3.sqlite_version,
            data_dir=str(self._config.data_dir),
            tenant=self.tenant,
            life=progress.lives,
            timetables=self.planner.timetables,
        )
        if sqlite3.sqlite_version_info < WAL_RESET_FIXED:
            # We write and checkpoint on one connection, which stays clear of the fault.
            log.warning("sqlite_before_wal_reset_fix", version=sqlite3.sqlite_version)

    async def _read_keys(
        self, api_reader: Reader, of_file: ApiKey | None, *, master: bytes
    ) -> None:
        store = SqliteKeys(self._writer, api_reader)
        self.keys = Keys(self.clock, store, of_file=of_file, master=master)
        await self.keys.load()
        if not self.keys.required and not is_private(self.listen):
            raise ConfigError(
                f"--listen {self.listen} is open to others: name a file with the first key in "
                "OFFBEAT_AUTH__ADMIN_KEY_FILE, or listen on 127.0.0.1 or unix:PATH"
            )

    def _assemble(self, journal_reader: Reader, api_reader: Reader, herd_reader: Reader) -> None:
        config, clock, figures = self._config, self.clock, self.figures
        journal = self._journal = SqliteJournal(self._writer, journal_reader)
        journal.on_skip, journal.open_target = figures.skip, self._credentials.open
        slots, strangers = config.concurrency, self.keys.required
        waiting = self.waiting = Waiting(clock.now_ms(), slots=slots, strangers=strangers)
        self.planner = Planner(
            clock, journal, waiting, figures, rate=config.rate, accept_clock=config.accept_clock
        )
        self.loader = Loader(clock, journal, waiting, self.planner)
        self.transport = HandlingTransport(self._handlers, self._make_transport())
        self.dispatcher = Dispatcher(
            clock,
            journal,
            waiting,
            self.transport,
            gate=self.planner,
            bucket=TokenBucket(config.rate, config.burst_tokens, clock.monotonic_ms()),
            signer=self._signing.signer,
            figures=figures,
        )
        self.timer = Timer(clock, waiting, self.dispatcher.wake)
        self.pruner = Pruner(clock, journal, days=config.history_days, runs=config.history_runs)
        self.recovery = Recovery(clock, journal, waiting, rate=config.rate)
        self.dispatcher.on_recovery = self.recovery.recovered
        self.pulse = Pulse(clock, figures)
        self.scaler = Scaler(clock, self.dispatcher, figures, ceiling=config.concurrency)
        self.monitor = Monitor(
            clock,
            SqliteHerdRecords(self._writer, api_reader),
            rate=config.rate,
            burst=config.burst_tokens,
            days=config.history_days,
            waiting=waiting,
            tokens=lambda: self.dispatcher.tokens,
        )
        herd = SqliteHerd(herd_reader)
        self.forecasts = Forecasts(
            clock,
            herd,
            rate=config.rate,
            burst=config.burst_tokens,
            tokens=lambda: self.dispatcher.tokens,
        )
        self.forecast_audit = ForecastAudit(clock, self.forecasts, self.monitor, herd)
        self.monitor.forecast_of = self.forecast_audit.digest_of
        self.nodes = Nodes(
            clock, self.forecasts, backlog=lambda: waiting.startable, rate=config.rate
        )
        waiting.on_hold = self.timer.wake
        waiting.on_shrink = self.loader.wake
        self.planner.on_planned = self._on_planned
        self.dispatcher.on_room = self.loader.wake
        self.planner.on_return = self.recovery.returned
        self.planner.on_arrivals = self.monitor.arrived
        self.dispatcher.on_start = self.monitor.started
        self.dispatcher.on_unserved = self.monitor.unserved
        events = self._events = Events(clock, figures, herd_second=self.monitor.last_second)
        self.end_streams = events.end_streams
        self.dispatcher.on_claimed, self.dispatcher.on_expired = events.claimed, events.expired
        self.dispatcher.on_recorded = events.recorded
        self.registry.register(self._metrics())

    def _assemble_tenancy(self, api_reader: Reader, turns: Turns) -> None:
        self.tenants = Tenants(self.clock, SqliteTenants(self._writer, api_reader), own=self.tenant)
        self.tenants.only_own = not self.keys.required
        self.tenants.on_rate = lambda tenant, rate: self.waiting.limit_tenant(
            tenant, rate, self.clock.monotonic_ms()
        )
        self._tenancy = Tenancy(
            self.clock,
            partial(stores_of, self._writer, turns),
            self.planner,
            self.waiting,
            self.figures,
            forecasts=self.forecasts,
            events=self._events,
            rate=self._config.rate,
            subsecond=self.subsecond,
            secrets=self._signing,
            interval_seconds_min=self.tenants.interval_seconds_min,
            egress=self.refusal,
            credentials=self._credentials,
            told=self._journal.told,
        )
        # A keyless or embedded engine works as the tenant of its settings.
        own = self.of(self.tenant)
        self.schedules, self.runs, self.flows = own.schedules, own.runs, own.flows
        self.backfills, self.audit, self.secrets = own.backfills, own.audit, own.secrets
        self.attributions, self.events, self.notices = own.attributions, own.events, own.notices

    def _on_planned(self) -> None:
        self.loader.wake()
        self.dispatcher.wake()

    def _metrics(self) -> Metrics:
        return Metrics(
            clock=self.clock,
            figures=self.figures,
            queue=self.waiting,
            sender=self.dispatcher,
            plan=self.planner,
            sights=self.monitor,
            nodes=self.nodes,
            streams=self._events,
            is_ready=lambda: not self.unready(),
            is_writable=lambda: self._writer.trouble is None,
        )

    async def _release(self) -> None:
        await self._loops.stop()
        if hasattr(self, "transport"):
            await self.transport.close()
        for connection in reversed(getattr(self, "_connections", ())):
            await connection.close()
        if self._directory is not None:
            self._directory.release()
            self._directory = None
