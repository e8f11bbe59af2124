"""What a program without an engine would do: bare aiohttp loops to compare deliveries with.

`default_loop` is the first example of aiohttp's documentation. `tuned_loop` is what somebody writes
who has measured: no redirects, no cookie jar, no decompression, one deadline sweep in place of a
timer for each request, URL, headers and body prepared once, the answer released unread, the garbage
collector told to stay away. Both keep `concurrency` requests in flight until `count` are answered,
and return seconds. `paced_loop` sends with the tuned session, and has a timer of the loop for each
request.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.payload import BytesPayload
from multidict import CIMultiDict
from yarl import URL

TIMEOUT_SECONDS = 15
BODY = b'{"order": 4711, "note": "' + b"x" * 173 + b'"}'  # 200 bytes.
HEADERS = {"Content-Type": "application/json", "X-Attempt": "1"}


async def default_loop(url: str, count: int, concurrency: int) -> float:
    """`session.post` and `read`, everything as it comes."""
    async with ClientSession(connector=TCPConnector(limit=concurrency)) as session:

        async def send() -> None:
            async with session.post(url, data=BODY, headers=HEADERS) as response:
                await response.read()

        return await in_flight(send, count, concurrency)


async def tuned_loop(url: str, count: int, concurrency: int) -> float:
    """aiohttp's session with all that a delivery does not need switched off."""
    async with _tuned_session(url, concurrency) as send:
        with _quiet_collector():
            return await in_flight(send, count, concurrency)


async def paced_loop(url: str, waits: Sequence[float], concurrency: int) -> list[float]:
    """How late each request starts, in seconds, that a timer starts so many seconds from now."""
    loop = asyncio.get_running_loop()
    late: list[float] = []
    tasks: list[asyncio.Task[None]] = []
    async with _tuned_session(url, concurrency) as send:

        def start(due: float) -> None:
            late.append(loop.time() - due)
            tasks.append(asyncio.ensure_future(send()))

        with _quiet_collector():
            now = loop.time()
            for wait in waits:
                loop.call_at(now + wait, start, now + wait)
            await asyncio.sleep(max(waits) + 1)
            await asyncio.gather(*tasks)
    return late


@asynccontextmanager
async def _tuned_session(
    url: str, concurrency: int
) -> AsyncIterator[Callable[[], Coroutine[Any, Any, None]]]:
    session = ClientSession(
        connector=TCPConnector(limit=concurrency),
        cookie_jar=DummyCookieJar(),
        timeout=ClientTimeout(),
        auto_decompress=False,
    )
    parsed, headers, body = URL(url), CIMultiDict(HEADERS), BytesPayload(BODY)
    loop = asyncio.get_running_loop()
    deadlines: dict[asyncio.Task[Any], float] = {}

    async def send() -> None:
        task = asyncio.current_task()
        assert task is not None
        deadlines[task] = loop.time() + TIMEOUT_SECONDS
        response = await session.post(parsed, data=body, headers=headers, allow_redirects=False)
        response.release()

    sweeper = asyncio.create_task(_sweep(deadlines))
    async with session:
        yield send
    sweeper.cancel()


async def in_flight(send: Callable[[], Awaitable[None]], count: int, concurrency: int) -> float:
    """Call `send` `count` times, `concurrency` at once; seconds from first to last."""
    left = iter(range(count))

    async def worker() -> None:
        for _ in left:
            await send()

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return time.perf_counter() - started


@contextmanager
def _quiet_collector() -> Iterator[None]:
    """`gc.freeze` and a higher threshold, so that no pass over old objects falls into the loop."""
    threshold = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()


async def _sweep(deadlines: dict[asyncio.Task[Any], float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(0.1)
        now = loop.time()
        for task, deadline in list(deadlines.items()):
            if deadline < now:
                task.cancel()
