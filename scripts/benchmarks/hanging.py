"""Receivers that hang: what a million due runs cost in memory then, and what one costs the others.

The journal is filled by SQL, as the engine of a moment ago would have left it; a real engine
process starts on it. Receivers of this process take every request and answer none, until they are
released: attempts time out, breakers open, probes hang. Then everything must arrive.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import cast

from benchmarks.engines import Process, document, engine_process, open_store
from benchmarks.findings import Finding
from benchmarks.receiver import ANSWER
from benchmarks.reference import BODY
from engine.core.identity import format_instant
from engine.store.database import DATABASE_NAME

RUNS = 1_000_000
SCHEDULES = 1_000
RECEIVERS = 100

HUNG_SECONDS = 60
"""Four timeouts of 15 s: breakers have opened and been tried again."""

DRAIN_SECONDS_MAX = 900
IDLE_SECONDS = 10
LOOK_SECONDS = 0.5

MIB = 2**20
GROWTH_MIB_MAX = 128

OPTIONS = ("--rate", "20000", "--burst", "2000")

RATE = 1_000
OTHERS_SECONDS = 20
"""Beyond the timeout of 15 s: the hung one holds its 20 slots, and is then left to probes."""

OTHERS_SHARE_MIN = 0.95

_FILL = """
WITH RECURSIVE turn (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM turn WHERE n < :turns)
INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state, trigger,
  target_id, flow_id)
SELECT :now - n, id, :now, :now, 'planned', 'schedule', target_id, flow_id FROM turn, schedule
"""
_UNFINISHED = """
SELECT count(*) FROM job_run
WHERE state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL OR state = 'attempting'
"""


class Receivers:
    """A hundred of them, `holding` of which hold every request until `release`.

    `keys` are those of the requests that were answered.
    """

    def __init__(self, holding: int) -> None:
        self.keys: set[bytes] = set()
        self._holding = holding
        self._held: list[asyncio.Transport] = []
        self._servers: list[asyncio.Server] = []

    async def listen(self) -> list[str]:
        """Their URLs."""
        loop = asyncio.get_running_loop()
        for number in range(RECEIVERS):
            server = await loop.create_server(partial(_Taking, self, number), "127.0.0.1", 0)
            self._servers.append(server)
        ports = [server.sockets[0].getsockname()[1] for server in self._servers]
        return [f"http://127.0.0.1:{port}/hook" for port in ports]

    def take(self, number: int, key: bytes, transport: asyncio.Transport) -> None:
        """Answer a request to this receiver, or hold it."""
        if number < self._holding:
            self._held.append(transport)
        else:
            self.keys.add(key)
            transport.write(ANSWER)

    def release(self) -> None:
        """Answer from now on. What is held is not: its sender has given most of it up."""
        self._holding = 0
        for transport in self._held:
            transport.abort()

    def close(self) -> None:
        for server in self._servers:
            server.close()


class _Taking(asyncio.Protocol):
    def __init__(self, receivers: Receivers, number: int) -> None:
        self._receivers = receivers
        self._number = number
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        _, _, length = head.partition(b"\r\nContent-Length: ")
        if blank and len(body) >= int(length.partition(b"\r\n")[0] or 0):
            self._received = b""  # One request at a time, as the engine sends them.
            key = head.partition(b"Idempotency-Key: ")[2][:64]
            self._receivers.take(self._number, bytes.fromhex(key.decode()), self._transport)


async def hung(directory: Path) -> AsyncIterator[Finding]:
    """A million due runs, a hundred receivers that hang and are released after a minute."""
    with engine_process(directory / "empty", *OPTIONS) as process:
        await asyncio.sleep(IDLE_SECONDS)
        baseline = process.resident_bytes()
    receivers = Receivers(holding=RECEIVERS)
    now_ms = await _fill(directory / "full", await receivers.listen(), RUNS)
    options = (*OPTIONS, "--clock-start", format_instant(now_ms))
    with engine_process(directory / "full", *options) as process:
        peak = await _watch(process, lambda: False, HUNG_SECONDS)
        receivers.release()
        began = time.monotonic()
        database = directory / "full" / DATABASE_NAME
        drain_peak = await _watch(process, lambda: not _unfinished(database), DRAIN_SECONDS_MAX)
        took = time.monotonic() - began
    receivers.close()
    yield Finding(
        what=f"{RUNS:,} due, all receivers hung",
        measured=f"+{(peak - baseline) / MIB:.0f} MiB resident",
        reference=f"idle without any: {baseline / MIB:.0f} MiB",
        target=f"<= {GROWTH_MIB_MAX} MiB more",
        holds=peak - baseline <= GROWTH_MIB_MAX * MIB,
    )
    yield Finding(
        what="  released: lost",
        measured=f"{RUNS - len(receivers.keys):,}; {took:.0f} s",
        reference=f"resident meanwhile: +{(drain_peak - baseline) / MIB:.0f} MiB",
        target="0",
        holds=len(receivers.keys) == RUNS,
    )


async def neighbours(directory: Path) -> AsyncIterator[Finding]:
    """One of a hundred receivers hangs, with work for all of them at the engine's rate."""
    solo = await _count_others(directory / "solo", holding=0)
    beside = await _count_others(directory / "beside", holding=1)
    yield Finding(
        what="one of a hundred receivers hung",
        measured=f"{beside / OTHERS_SECONDS:,.0f}/s to the others",
        reference=f"none hung: {solo / OTHERS_SECONDS:,.0f}/s",
        target=f">= {OTHERS_SHARE_MIN:.2f} of it",
        holds=beside >= OTHERS_SHARE_MIN * solo,
    )


async def _count_others(directory: Path, *, holding: int) -> int:
    """How many requests all receivers but the first have answered after some seconds."""
    receivers = Receivers(holding)
    urls = await receivers.listen()
    now_ms = await _fill(directory, urls, 2 * RATE * OTHERS_SECONDS)
    options = ("--rate", str(RATE), "--clock-start", format_instant(now_ms))
    with engine_process(directory, *options):
        await asyncio.sleep(OTHERS_SECONDS)
        answered = len(receivers.keys)
    receivers.close()
    return answered if holding else answered * (RECEIVERS - 1) // RECEIVERS


async def _fill(directory: Path, urls: list[str], runs: int) -> int:
    """A journal with the runs, all due at the same instant; that instant."""
    now_ms = time.time_ns() // 1_000_000
    async with open_store(directory) as store:
        await store.journal.begin_life(now_ms - 1)
        await store.fill(_schedules(urls), now_ms - 1)
    with closing(sqlite3.connect(directory / DATABASE_NAME)) as db, db:
        db.execute(_FILL, {"now": now_ms, "turns": runs // SCHEDULES})
    return now_ms


def _schedules(urls: list[str]) -> Iterator[dict[str, object]]:
    """They have no occurrence of their own for years."""
    for number in range(SCHEDULES):
        url = urls[number % len(urls)]
        yield document(f"hung-{number}", url, BODY, cron="0 0 29 2 *")


async def _watch(process: Process, over: Callable[[], bool], seconds: float) -> int:
    """The most that the process had resident until it was over, or for so long."""
    peak, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        peak = max(peak, process.resident_bytes())
        if await asyncio.to_thread(over):
            break
        await asyncio.sleep(LOOK_SECONDS)
    return peak


def _unfinished(database: Path) -> int:
    with (
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db,
        suppress(sqlite3.OperationalError),
    ):
        return int(db.execute(_UNFINISHED).fetchone()[0])
    return 1
