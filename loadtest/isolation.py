"""Who pays for whom: noisy tenants and hung destinations, in virtual time.

The scenarios ask what a herd does; these ask what it does to those who have no part in it. Real
planner, journal, queue and bucket, receivers without a network: what is found is policy and not
speed. Each experiment gives its figures; `claims` makes all of them at full size.
"""

import asyncio
import logging
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import structlog

from engine.app import Engine
from engine.config import Config
from engine.core.document import read_schedule
from engine.core.model import Outcome
from engine.services.transport import HttpRequest
from engine.testing import VirtualClock, run_virtual
from loadtest.arithmetic import ms_of, text_of
from loadtest.figures import quantile
from loadtest.journal import DATABASE
from loadtest.run_virtual import MEMORY, PUT_AT_ONCE
from loadtest.workload import NOON_MS

T = TypeVar("T")

RATE, CONCURRENCY = 1_000, 256
"""The engine's defaults."""

LEAD_MS = 60_000
"""The calendar before noon: schedules are put, and the lookahead is quiet."""

HUNG_MS = 3_600_000
"""An answer that no timeout waits for."""

_OK = Outcome(name="success", status=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something promised, at full size: what was found, and whether it holds."""

    what: str
    found: str
    holds: bool


def claims() -> Iterator[Claim]:
    """All of it at full size; some minutes of CPU time."""
    quiet = noisy_tenant(backlog=100_000, seconds=90)
    yield Claim(
        what="lateness p99 of a run a second beside another tenant's 100,000: alone + 250 ms",
        found=f"{quiet.beside_ms} ms; alone {quiet.solo_ms} ms",
        holds=quiet.beside_ms <= quiet.solo_ms + 250,
    )
    jain = equal_tenants(tenants=10, backlog=3_000, seconds=10)
    yield Claim(
        what="Jain's index of ten tenants with equal backlogs over 10 s: 0.99",
        found=f"{jain:.6f}",
        holds=jain >= 0.99,
    )
    hung = hung_destination(hosts=100, seconds=60, rate=1_280, delay_ms=200)
    yield Claim(
        what="one of 100 destinations hung, slots and tokens used up: 95 % of alone for the others",
        found=f"{hung.beside / hung.solo:.1%}",
        holds=hung.beside >= 0.95 * hung.solo,
    )
    yield Claim(
        what="attempts used up at it: as many as before its breaker opened, by 10 failures",
        found=f"{hung.spent} of {hung.before}; probes after {len(hung.probes_ms)} waits",
        holds=hung.spent == hung.before,
    )
    caught_up = downtime(missed=100_000, fresh_rate=300)
    yield Claim(
        what="lateness p99 of 300 fresh runs a second while 100,000 missed catch up: 1 s",
        found=f"{caught_up.fresh_ms} ms; caught up in {caught_up.seconds:.0f} s",
        holds=caught_up.fresh_ms <= 1_000 and caught_up.missed == 100_000,
    )


class Arrival(NamedTuple):
    """A request as its receiver saw it; receivers are known by the first label of their host."""

    at_ms: int
    host: str
    fire_after_ms: int


@dataclass(slots=True)
class Receivers:
    """Every receiver: what reached it, and how long its answer takes."""

    clock: VirtualClock
    delay_ms: Callable[[str], int]
    arrivals: list[Arrival] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> Outcome:
        host = request.url.split("/")[2].partition(".")[0]
        fire_after_ms = ms_of(dict(request.headers)["X-Fire-After"])
        self.arrivals.append(Arrival(self.clock.now_ms(), host, fire_after_ms))
        await asyncio.sleep(self.delay_ms(host) / 1_000)
        return _OK

    async def close(self) -> None:
        """Nothing to close."""


@dataclass(frozen=True, slots=True)
class World:
    """A calendar before noon, a directory in memory, and receivers; `size` is the trouble's."""

    size: int
    directory: Path
    receivers: Receivers

    @property
    def clock(self) -> VirtualClock:
        return self.receivers.clock

    def engine(self, *, rate: int = RATE) -> Engine:
        config = Config(
            data_dir=self.directory,
            rate=rate,
            concurrency=CONCURRENCY,
            drain_timeout_seconds=1,  # Who hangs is not waited for.
            admin_key_file=_operator_key(self.directory.parent),  # Several tenants take keys.
        )
        return Engine(
            config, clock=self.clock, transport=lambda: self.receivers, busy=self.clock.hold
        )

    def ask(self, query: str, *values: object) -> int:
        """One number from the journal."""
        with closing(sqlite3.connect(self.directory / DATABASE)) as db:
            (number,) = db.execute(query, values).fetchone()
            return int(number)

    async def until(self, instant_ms: int) -> None:
        await self.clock.run_for(instant_ms - self.clock.now_ms())


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Lateness (p99, ms) of a quiet tenant, alone and beside one with a backlog."""

    solo_ms: int
    beside_ms: int
    runs: int


def noisy_tenant(backlog: int, seconds: int, *, hosts: int = 100) -> Neighbour:
    """One tenant has `backlog` runs due at noon, to `hosts` hosts; another one run a second."""

    async def main(world: World) -> list[int]:
        async with world.engine() as engine:
            await put(engine, "quiet", 1, every=1)
            await put(engine, "noisy", world.size, at=text_of(NOON_MS), hosts=hosts)
            await world.until(NOON_MS + seconds * 1_000)
        return sorted(
            a.at_ms - a.fire_after_ms
            for a in world.receivers.arrivals
            if a.host == "quiet-0" and a.at_ms >= NOON_MS
        )

    solo, beside = (_in_world(main, size, lambda _: 20) for size in (0, backlog))
    return Neighbour(
        solo_ms=quantile(solo, 0.99), beside_ms=quantile(beside, 0.99), runs=len(beside)
    )


def equal_tenants(tenants: int, backlog: int, seconds: int) -> float:
    """Jain's index of what tenants with equal backlogs get within `seconds`; 1 is equal."""

    async def main(world: World) -> list[int]:
        async with world.engine() as engine:
            for tenant in range(tenants):
                # The more hosts, the more turns a queue of flows alone would give.
                await put(engine, f"t{tenant}", backlog, at=text_of(NOON_MS), hosts=1 + tenant)
            await world.until(NOON_MS + seconds * 1_000)
        served = Counter(a.host.partition("-")[0] for a in world.receivers.arrivals)
        return [served[f"t{tenant}"] for tenant in range(tenants)]

    shares = _in_world(main, backlog, lambda _: 20)
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hung:
    """One destination of many hangs: what the others were served, and what became of it.

    `solo`, `beside`: requests to the others, without it and with it. `opened_ms`: when its breaker
    had seen ten failures, from noon on. `before`: requests to it until then. `probes_ms`: when it
    was asked again. `spent`: attempts that its runs have used up.
    """

    solo: int
    beside: int
    opened_ms: int
    before: int
    probes_ms: list[int]
    spent: int


def hung_destination(hosts: int, seconds: int, *, rate: int, delay_ms: int) -> Hung:
    """`hosts` hosts have more runs due at noon than `rate` a second makes of `seconds`."""
    name = "all-0"

    async def main(world: World) -> tuple[list[Arrival], tuple[int, int]]:
        async with world.engine(rate=rate) as engine:
            await put(engine, "all", rate * seconds * 5 // 4, hosts=hosts, at=text_of(NOON_MS))
            await world.until(NOON_MS + seconds * 1_000)
            found = world.ask(_OPENED, name), world.ask(_SPENT, name)
        return world.receivers.arrivals, (found[0] - NOON_MS, found[1])

    solo, _ = _in_world(main, 0, lambda _: delay_ms)
    all_, (opened_ms, spent) = _in_world(main, 0, lambda h: HUNG_MS if h == name else delay_ms)
    hung_ms = [a.at_ms - NOON_MS for a in all_ if a.host == name]
    probes_ms = [ms for ms in hung_ms if ms > opened_ms]
    return Hung(
        solo=sum(a.host != name for a in solo),
        beside=len(all_) - len(hung_ms),
        opened_ms=opened_ms,
        before=len(hung_ms) - len(probes_ms),
        probes_ms=probes_ms,
        spent=spent,
    )


_OPENED = """
SELECT coalesce((SELECT a.ended_at FROM attempt a JOIN job_run r USING (scheduled_for, schedule_id)
  JOIN flow f ON f.id = r.flow_id
  WHERE f.key LIKE ? || '.%' AND a.outcome = 'timeout' ORDER BY a.ended_at LIMIT 1 OFFSET 9), 0)
"""
_SPENT = """
SELECT sum(r.attempt - r.granted_from) FROM job_run r JOIN flow f ON f.id = r.flow_id
WHERE f.key LIKE ? || '.%' AND r.state <> 'attempting'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp:
    """What a return did to fresh runs: p99 lateness (ms) of `fresh` runs while `missed` caught up.

    `seconds`: how long that took.
    """

    fresh_ms: int
    fresh: int
    missed: int
    seconds: float


def downtime(missed: int, fresh_rate: int, *, rate: int = RATE) -> CaughtUp:
    """The engine is away for an hour, in which `missed` hourly schedules were due once."""

    async def main(world: World) -> CaughtUp:
        async with world.engine(rate=rate) as engine:
            await put(engine, "hourly", world.size, hosts=100, every=3_600, phase=1_800)
            await put(engine, "fresh", fresh_rate, hosts=10, every=1, catch_up="skip")
            await world.until(NOON_MS - 10_000)
        world.receivers.arrivals.clear()
        world.clock.step(3_600_000)
        async with world.engine(rate=rate):
            returned_ms = world.clock.now_ms()
            await world.until(returned_ms + 2_100 * missed // rate + 15_000)
        caught_up = [a for a in world.receivers.arrivals if a.host.startswith("hourly")]
        last_ms = caught_up[-1].at_ms
        late = sorted(
            a.at_ms - a.fire_after_ms
            for a in world.receivers.arrivals
            if a.host.startswith("fresh") and returned_ms <= a.fire_after_ms <= last_ms
        )
        return CaughtUp(
            fresh_ms=quantile(late, 0.99),
            fresh=len(late),
            missed=len(caught_up),
            seconds=(last_ms - returned_ms) / 1_000,
        )

    return _in_world(main, missed, lambda _: 20)


def _operator_key(directory: Path) -> Path:
    path = directory / "operator.key"
    path.touch(mode=0o600)
    path.write_text("obk_operator_" + "0" * 64)
    return path


async def put(engine: Engine, tenant: str, count: int, *, hosts: int = 1, **trigger: Any) -> None:
    """Schedules of a tenant, to each of its hosts in turn."""

    def documents() -> Iterator[dict[str, Any]]:
        for number in range(count):
            url = f"http://{tenant}-{number % hosts}.example/hook"
            yield {
                "name": f"{tenant}-{number}",
                **trigger,
                "jitter_seconds": 0,
                "target": {"url": url},
            }

    left = documents()
    while batch := list(islice(left, PUT_AT_ONCE)):
        drafts = [read_schedule(document, tenant=tenant) for document in batch]
        for result in await engine.of(tenant).schedules.put_many(drafts):
            assert not isinstance(result, Exception), result


def _in_world(
    main: Callable[[World], Awaitable[T]], size: int, delay_ms: Callable[[str], int]
) -> T:
    async def started(clock: VirtualClock) -> T:
        return await main(World(size, Path(name) / "data", Receivers(clock, delay_ms)))

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        return run_virtual(started, NOON_MS - LEAD_MS)
