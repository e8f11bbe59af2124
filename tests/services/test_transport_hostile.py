"""Receivers that never end, or send too much (cases C43 and C44)."""

import asyncio
import gzip
import tracemalloc
from functools import partial

import pytest

from tests.services.loopback import OK, broken, loopback, request, success, transport

HEAD = b"HTTP/1.1 200 OK\r\n"
ENDLESS = HEAD + b"\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
MEMORY_BYTES_MAX = 2_000_000

# What each says, bit by bit, before it falls silent with the response still open.
SILENT = {
    "a chunk at a time": (CHUNKED, b"1\r\nx\r\n", b"1\r\nx\r\n"),
    "a header at a time": (HEAD, b"X-1: x\r\n", b"X-2: x\r\n"),
    "nothing": (),
    "half of its length": (HEAD + b"Content-Length: 10\r\n\r\n", b"01234"),
    "continue": (b"HTTP/1.1 100 Continue\r\n\r\n",) * 3,
}


@pytest.mark.parametrize("pieces", SILENT.values(), ids=SILENT.keys())
def test_cancelled_attempt_closes_its_connection_at_once(run, pieces):
    async def scenario():
        said = asyncio.Event()

        async def handle(line):
            await line.request()
            for piece in pieces:
                await line.send(piece)
            said.set()
            await line.hang_up_awaited()

        async with loopback(handle=handle) as receiver, transport() as it:
            attempt = asyncio.create_task(it.send(request(receiver.url)))
            await said.wait()
            attempt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await attempt
            await receiver.until(lambda r: r.open == 0)

    run(scenario())


def test_three_hundred_names_that_are_never_answered_delay_no_other_tenant(run):
    async def look_up(name):
        if "hole" in name:
            await asyncio.get_running_loop().create_future()
        return ["127.0.0.1"]

    async def scenario():
        async with loopback(OK) as well, transport(concurrency=400, look_up=look_up) as it:
            hung = [
                asyncio.create_task(it.send(request(f"http://{i}.hole.example/", tenant="mallory")))
                for i in range(300)
            ]
            for i in range(100):
                url = f"http://{i}.example:{well.port}/"
                assert await it.send(request(url, tenant="victim")) == success()
            assert not any(attempt.done() for attempt in hung)
            for attempt in hung:
                attempt.cancel()
            await asyncio.gather(*hung, return_exceptions=True)

    run(scenario())


def test_two_hundred_silent_receivers_do_not_stop_another(run):
    async def silence(line):
        await line.request()
        await line.hang_up_awaited()

    async def scenario():
        async with loopback(handle=silence) as hung, loopback(OK) as well, transport(201) as it:
            attempts = [asyncio.create_task(it.send(request(hung.url))) for _ in range(200)]
            await hung.until(lambda r: len(r.requests) == 200)
            assert await it.send(request(well.url)) == success()
            for attempt in attempts:
                attempt.cancel()
            await hung.until(lambda r: r.open == 0)
            await asyncio.wait(attempts)
            assert all(attempt.cancelled() for attempt in attempts)

    run(scenario())


def test_cancelled_connecting_leaves_room_for_the_next(run):
    async def never_greet(line):
        await line.hang_up_awaited()

    async def scenario():
        async with loopback(handle=never_greet) as deaf, loopback(OK) as well, transport(1) as it:
            attempt = asyncio.create_task(it.send(request(f"https://127.0.0.1:{deaf.port}/")))
            await deaf.until(lambda r: r.connections == 1)
            attempt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await attempt
            assert await it.send(request(well.url)) == success()

    run(scenario())


async def endless(line, start, piece):
    """Send `start`, and `piece` until the other end has had enough."""
    await line.request()
    await line.send(start)
    while True:
        await line.send(piece)


BOMB = gzip.compress(bytes(1_000_000)) * 200  # 200 kB of gzip members, which inflate to 200 MB.
BOMB_HEAD = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB)
LONG_HEAD = HEAD + b"X: " + b"y" * (65_536 - 100 - len(HEAD) - 7) + b"\r\n\r\n"
ZEROS = bytes(4_096)
# Where it starts, what follows without end, the outcome.
FLOODS = {
    "body": (ENDLESS, bytes(65_536), success(ZEROS, cut=True)),
    "body behind a long head": (LONG_HEAD, bytes(65_536), success(bytes(100), cut=True)),
    "body in large chunks": (
        CHUNKED,
        b"10000\r\n" + bytes(65_536) + b"\r\n",
        success(ZEROS, cut=True),
    ),
    "body in small chunks": (CHUNKED, b"1\r\n\0\r\n" * 1_000, success(ZEROS, cut=True)),
    "gzip bomb": (BOMB_HEAD, BOMB, success(BOMB[:4_096], cut=True)),
    "headers": (HEAD, b"X: y\r\n" * 1_000, broken("broken response: Too many headers received")),
    "one header": (HEAD + b"X: ", b"y" * 65_536, broken("response head over 65536 bytes")),
    "interim answers": (
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000,
        broken("response head over 65536 bytes"),
    ),
}


@pytest.mark.parametrize(("start", "piece", "outcome"), FLOODS.values(), ids=FLOODS.keys())
def test_flood_is_cut_and_memory_stays_small(run, start, piece, outcome):
    async def scenario():
        flood = partial(endless, start=start, piece=piece)
        async with loopback(handle=flood) as receiver, transport() as it:
            tracemalloc.start()
            try:
                assert await it.send(request(receiver.url)) == outcome
                await receiver.until(lambda r: r.open == 0)
                assert tracemalloc.get_traced_memory()[1] < MEMORY_BYTES_MAX
            finally:
                tracemalloc.stop()

    run(scenario())
