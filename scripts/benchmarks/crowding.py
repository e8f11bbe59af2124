"""Slow clients on the API: 200 that drip, stall or read slowly, beside one that just asks.

The same engine is measured twice, alone and crowded: deliveries at a steady pace, as the receiver
sees their lateness, and an ordinary GET ten times a second. The clients come back as soon as they
are sent away. They run in a process of their own, so that their work is not the engine's.
"""

import asyncio
import http.client
import json
import multiprocessing
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.delivering import receiving
from benchmarks.engines import Process, document, engine_process
from benchmarks.findings import Finding, percentile
from benchmarks.receiver import Receiver
from benchmarks.reference import BODY

CLIENTS_OF_A_KIND = 40
"""Of five kinds: 200 in all."""

SCHEDULES = 200
"""Each every second: 200 deliveries a second, spread over it."""

SECONDS = 20
"""Of each measurement: longer than a head or body may take, so that all are sent away and back."""

ASKED_PER_SECOND = 10
GET_MS_MAX = 200
LATENESS_MS_MORE = 50
"""What the crowd may add to the p99 of lateness: a few turns of a busy loop."""

DRIP_SECONDS = 1.0


class _Seen(NamedTuple):
    """Milliseconds of the GETs, the lateness of the deliveries, the engine's share of a core."""

    gets: list[float]
    lateness: list[float]
    busy: float


async def slowclients(directory: Path) -> AsyncIterator[Finding]:
    """An ordinary GET and the deliveries, alone and beside 200 slow clients."""
    with receiving() as receiver, engine_process(directory) as process:
        await asyncio.to_thread(_put, process.listen, receiver)
        alone = await asyncio.to_thread(_measure, process, receiver)
        with _crowd(process.listen):
            crowded = await asyncio.to_thread(_measure, process, receiver)
    p99 = percentile(crowded.gets, 99)
    yield Finding(
        what=f"GET beside {5 * CLIENTS_OF_A_KIND} slow clients, p99",
        measured=f"{p99:.0f} ms (p50 {percentile(crowded.gets, 50):.0f})",
        reference=f"without them: {percentile(alone.gets, 99):.0f} ms",
        target=f"<= {GET_MS_MAX} ms",
        holds=p99 <= GET_MS_MAX,
    )
    late, before = percentile(crowded.lateness, 99), percentile(alone.lateness, 99)
    yield Finding(
        what="  deliveries beside them, lateness p99",
        measured=f"{late:.0f} ms (p50 {percentile(crowded.lateness, 50):.0f})",
        reference=f"without them: {before:.0f} ms (p50 {percentile(alone.lateness, 50):.0f})",
        target=f"<= {LATENESS_MS_MORE} ms more",
        holds=late <= before + LATENESS_MS_MORE,
    )
    yield Finding(
        what="  the engine's share of a core",
        measured=f"{crowded.busy:.2f}",
        reference=f"without them: {alone.busy:.2f}",
    )


def _put(listen: str, receiver: Receiver) -> None:
    """Schedules for every second of which each has its own part, by their jitter's phase."""
    with closing(http.client.HTTPConnection(listen)) as connection:
        for number in range(SCHEDULES):
            schedule = document(
                f"slow-{number}",
                receiver.url,
                BODY,
                every=1,
                jitter_seconds=1,
                flow_key=str(number),
            )
            path = f"/v1/schedules/{schedule.pop('name')}"
            connection.request(
                "PUT", path, json.dumps(schedule), {"Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            assert answer.status == 201, answer.read()
            answer.read()


def _measure(process: Process, receiver: Receiver) -> _Seen:
    """Ask for a while on connections of their own, and look when deliveries arrived."""
    receiver.arrivals()
    gets: list[float] = []
    start, used = time.perf_counter(), process.cpu_seconds()
    for number in range(SECONDS * ASKED_PER_SECOND):
        time.sleep(1 / ASKED_PER_SECOND)
        began = time.perf_counter()
        with closing(http.client.HTTPConnection(process.listen, timeout=30)) as connection:
            connection.request("GET", f"/v1/schedules/slow-{number % SCHEDULES}")
            assert connection.getresponse().status == 200
        gets.append((time.perf_counter() - began) * 1_000)
    late = [(instant - due) * 1_000 for instant, due in receiver.arrivals()]
    busy = (process.cpu_seconds() - used) / (time.perf_counter() - start)
    return _Seen(gets, late, busy)


@contextmanager
def _crowd(listen: str) -> Iterator[None]:
    """The clients, in a process of their own, from when all are connected."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run_crowd, args=(listen, theirs), daemon=True)
    process.start()
    ours.recv()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _run_crowd(listen: str, pipe: Any) -> None:
    asyncio.run(_crowd_in(listen, pipe))


async def _crowd_in(listen: str, pipe: Any) -> None:
    host, _, port = listen.rpartition(":")
    kinds = (_drip_head, _drip_body, _read_slowly, _idle, _half_open_stream)
    tasks = [
        asyncio.create_task(_again_and_again(kind, host, int(port)))
        for kind in kinds
        for _ in range(CLIENTS_OF_A_KIND)
    ]
    await asyncio.sleep(1)
    pipe.send("connected")
    await asyncio.gather(*tasks)


Kind = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]


async def _again_and_again(kind: Kind, host: str, port: int) -> None:
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port, limit=2**12)
            with suppress(OSError):
                await kind(reader, writer)
            writer.transport.abort()
        await asyncio.sleep(0.1)


async def _drip_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _drip(writer, b"GET /v1/schedules HTTP/1.1\r\nX-Slow: ")


async def _drip_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = "PUT /v1/schedules/never HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
    await _drip(writer, f"{head}Content-Type: application/json\r\n\r\n{{".encode())


async def _read_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"GET /v1/schedules?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while await reader.read(2**10):  # noqa: ASYNC110  # It waits for nothing: it is slow.
        await asyncio.sleep(DRIP_SECONDS)


async def _idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while await reader.read(2**12):
        pass


async def _half_open_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await asyncio.sleep(SECONDS)


async def _drip(writer: asyncio.StreamWriter, start: bytes) -> None:
    writer.write(start)
    while not writer.is_closing():
        await asyncio.sleep(DRIP_SECONDS)
        writer.write(b"x")
