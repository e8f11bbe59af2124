"""What the simulations share: the real engine on a virtual loop, and a receiver that remembers."""

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from engine.app import Engine
from engine.config import Config
from engine.core.document import read_schedule
from engine.core.identity import format_instant, parse_instant
from engine.core.model import Outcome, Schedule
from engine.services.transport import HttpRequest
from engine.testing import FakeTransport, VirtualClock, run_virtual

T = TypeVar("T")
MINUTE_MS = 60_000
HOUR_MS = 3_600_000


class Sent(NamedTuple):
    """A request as the receiver saw it; instants as RFC 3339 text."""

    at: str
    name: str
    scheduled_for: str
    attempt: int
    trigger: str
    key: str


@dataclass
class World:
    """A calendar, a directory, and whatever was sent by any engine that lived in it."""

    clock: VirtualClock
    directory: Path
    answer: Callable[[HttpRequest], Outcome]
    delay_ms: Callable[[HttpRequest], int]
    ledger: list[tuple[int, HttpRequest]]

    def engine(self, **settings: Any) -> Engine:
        """A new engine on the same directory; its requests join the ledger."""
        transport = FakeTransport(self.clock, answer=self.answer, delay_ms=self.delay_ms)
        transport.ledger = self.ledger
        config = Config(data_dir=self.directory, **settings)
        return Engine(config, clock=self.clock, transport=lambda: transport, busy=self.clock.hold)

    def sent(self, name: str | None = None) -> list[Sent]:
        """What reached the receiver, oldest first."""
        return [sent for sent in self._all() if name in (None, sent.name)]

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What the journal's file says."""
        with closing(sqlite3.connect(self.directory / "offbeat.db")) as db:
            return db.execute(statement, values).fetchall()

    async def until(self, instant: str) -> None:
        """Let time pass until this instant."""
        await self.clock.run_for(parse_instant(instant) - self.clock.now_ms())

    def now(self) -> str:
        return format_instant(self.clock.now_ms())

    def _all(self) -> Iterator[Sent]:
        for at_ms, request in self.ledger:
            headers = dict(request.headers)
            yield Sent(
                at=format_instant(at_ms),
                name=headers["X-Schedule-Name"],
                scheduled_for=headers["X-Scheduled-For"],
                attempt=int(headers["X-Attempt"]),
                trigger=headers["X-Trigger"],
                key=headers["Idempotency-Key"],
            )


def simulate(
    main: Callable[[World], Awaitable[T]],
    directory: Path,
    start: str,
    *,
    answer: Callable[[HttpRequest], Outcome] = lambda _: Outcome(name="success", status=200),
    delay_ms: Callable[[HttpRequest], int] = lambda _: 0,
) -> T:
    """Run `main` in a world that starts at `start`."""

    async def run(clock: VirtualClock) -> T:
        return await main(World(clock, directory, answer, delay_ms, []))

    return run_virtual(run, parse_instant(start))


async def put(engine: Engine, name: str, **document: Any) -> Schedule:
    """Store a schedule as a tenant would, to a target that answers at once."""
    document.setdefault("target", {"url": "http://127.0.0.1:9/hook"})
    draft = read_schedule(document, tenant=engine.tenant, name=name)
    schedule, _ = await engine.schedules.put(draft)
    return schedule
