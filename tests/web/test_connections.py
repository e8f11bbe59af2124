"""Connections that cost and ask nothing: how many there may be, and how long each may wait."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from engine.web import connection, connection_limits, json_bodies, ndjson, unsent
from engine.web.application import create_app
from engine.web.server import CONNECTION_SETTINGS, Listener, start_server
from tests.web.api_client import WAIT_SECONDS_MAX
from tests.web.conftest import MemoryEngine

HELD_MAX = 3
SCHEDULES = b"GET /v1/schedules HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIVE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
READY = LIVE.replace(b"/livez", b"/readyz")

Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def serve(engine: MemoryEngine) -> Iterator:
    """Run a scenario, a function of how to connect, beside a server."""

    def serve(scenario):
        async def main():
            listener = Listener("127.0.0.1:0")
            listener.bind()
            server = await start_server(create_app(engine), listener)
            port = int(server.listen.rpartition(":")[2])
            wires: list[Wire] = []

            async def connect(first: bytes = b"") -> Wire:
                wires.append(await asyncio.open_connection("127.0.0.1", port))
                wires[-1][1].write(first)
                return wires[-1]

            try:
                return await scenario(connect)
            finally:
                for _, writer in wires:
                    writer.close()
                await server.stop()

        return asyncio.run(asyncio.wait_for(main(), WAIT_SECONDS_MAX))

    return serve


@pytest.fixture(params=["CONNECTIONS_MAX", "CONNECTIONS_PER_ADDRESS_MAX"])
def full_at_three(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, request.param, HELD_MAX)


async def ask(wire: Wire, request: bytes) -> tuple[int, dict[str, str]]:
    """The status and headers of the answer to a request on an open connection."""
    reader, writer = wire
    writer.write(request)
    status, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
    headers = dict(field.split(": ", 1) for field in fields)
    await reader.readexactly(int(headers["Content-Length"]))
    return int(status.split()[1]), headers


async def hold(connect, count: int) -> list[Wire]:
    """Connections that the server has answered once, and keeps."""
    wires = [await connect() for _ in range(count)]
    assert [(await ask(wire, LIVE))[0] for wire in wires] == [200] * count
    return wires


def test_the_limits_are_those_that_the_security_page_promises():
    assert connection.HEAD_SECONDS_MAX == 10
    assert json_bodies.BODY_SECONDS_MAX == 10
    assert ndjson.LINE_SECONDS_MAX == 10
    assert connection.ANSWER_SECONDS_MAX == 30
    assert CONNECTION_SETTINGS["keepalive_timeout"] == 30
    assert connection_limits.CONNECTIONS_MAX == 400
    assert connection_limits.CONNECTIONS_PER_ADDRESS_MAX == 300
    assert connection_limits.RESERVE == 16


def test_health_is_told_when_every_connection_is_taken(serve, full_at_three):
    async def scenario(connect):
        await hold(connect, HELD_MAX)
        return [await ask(await connect(), request) for request in (LIVE, READY, SCHEDULES)]

    live, ready, refused = serve(scenario)
    assert (live[0], ready[0], refused[0]) == (200, 200, 503)
    assert all(headers["Connection"] == "close" for _, headers in (live, ready, refused))
    assert refused[1]["Retry-After"] == "1"


def test_those_that_hold_a_place_are_answered_and_leave_it_to_others(serve, full_at_three):
    async def scenario(connect):
        first, second, _ = await hold(connect, HELD_MAX)
        kept = await ask(second, SCHEDULES)
        first[1].close()
        await first[1].wait_closed()
        # The server hears of it before it accepts what comes later.
        return kept[0], (await ask(await connect(), SCHEDULES))[0]

    assert serve(scenario) == (200, 200)


def test_silent_connections_do_not_keep_health_checks_out(serve, full_at_three):
    async def scenario(connect):
        await hold(connect, HELD_MAX)
        silent = [await connect() for _ in range(connection_limits.RESERVE)]
        live = await ask(await connect(), LIVE)
        gone = await silent[0][0].read()
        return live[0], gone

    assert serve(scenario) == (200, b"")


@pytest.mark.parametrize("sent", [b"", b"GET / HT", SCHEDULES[:-2]])
def test_a_head_that_does_not_come_is_given_up(serve, monkeypatch, sent):
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.05)

    async def scenario(connect):
        reader, _ = await connect(sent)
        return await reader.read()

    head, _, body = serve(scenario).rpartition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert json.loads(body)["code"] == "timeout"


def test_a_later_request_that_drips_is_given_up_too(serve, monkeypatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.05)

    async def scenario(connect):
        wire = await connect()
        first = await ask(wire, LIVE)
        wire[1].write(b"GET /livez")
        return first[0], await wire[0].read()

    first, rest = serve(scenario)
    assert first == 200
    assert rest.startswith(b"HTTP/1.1 408 ")


def test_a_head_that_drips_behind_another_request_is_cut_off_with_the_keep_alive(
    serve, monkeypatch
):
    monkeypatch.setitem(CONNECTION_SETTINGS, "keepalive_timeout", 0.05)

    async def scenario(connect):
        wire = await connect()
        first = await ask(wire, LIVE + b"GET /livez")
        return first[0], await asyncio.wait_for(wire[0].read(), timeout=5)

    assert serve(scenario) == (200, b"")


def test_the_deadline_of_a_head_is_not_that_of_the_next(serve, monkeypatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.05)

    async def scenario(connect):
        idle = await connect()
        first = await ask(idle, LIVE)
        reader, _ = await connect(b"GET ")
        await reader.read()  # Longer than a head may take.
        return first[0], (await ask(idle, LIVE))[0]

    assert serve(scenario) == (200, 200)


def test_a_client_that_does_not_take_its_answer_is_cut_off(serve, engine, api, monkeypatch):
    target = {"url": "http://h/", "body": "x" * 100_000}
    for number in range(150):  # More than the buffers between two sockets take.
        assert api.put(f"large-{number}", {"every": 60, "target": target}).status == 201
    whole = len(api.get("/v1/schedules?limit=1000").body)
    monkeypatch.setattr(connection, "ANSWER_SECONDS_MAX", 0.05)
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.5)

    async def scenario(connect):
        reader, writer = await connect()
        writer.transport.pause_reading()
        writer.write(SCHEDULES.replace(b"schedules", b"schedules?limit=1000"))
        clock, _ = await connect()
        await clock.read()  # Its head is not awaited any longer, and so long the other's answer is.
        writer.transport.resume_reading()
        taken = 0
        with suppress(ConnectionResetError):
            while piece := await reader.read(2**20):
                taken += len(piece)
        return taken

    assert serve(scenario) < whole


def test_a_tenant_that_does_not_take_its_answers_is_made_no_more_until_it_does(
    serve, engine, api, monkeypatch
):
    target = {"url": "http://h/", "body": "x" * 100_000}
    for number in range(150):  # More than the buffers between two sockets take.
        assert api.put(f"large-{number}", {"every": 60, "target": target}).status == 201
    monkeypatch.setattr(unsent, "UNSENT_BYTES_MAX", 1_000_000)

    async def scenario(connect):
        reader, writer = await connect(SCHEDULES.replace(b"schedules", b"schedules?limit=1000"))
        await reader.readuntil(b"\r\n\r\n")
        other = await connect()
        status, headers = await ask(other, SCHEDULES)
        live = (await ask(other, LIVE))[0]
        writer.transport.abort()
        while (await ask(other, SCHEDULES))[0] != 200:
            pass
        return status, headers["Retry-After"], live

    assert serve(scenario) == (429, "1", 200)


def test_a_batch_whose_lines_drip_is_given_up(serve, monkeypatch):
    monkeypatch.setattr(ndjson, "LINE_SECONDS_MAX", 0.05)

    async def scenario(connect):
        reader, _ = await connect(
            b"POST /v1/schedules:batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n"
            b"Content-Type: application/x-ndjson\r\n\r\n{}\n{"
        )
        return await reader.readuntil(b"\r\n\r\n")

    assert serve(scenario).startswith(b"HTTP/1.1 408 ")


def test_two_hundred_slow_clients_leave_an_ordinary_request_its_answer(serve):
    drips = (b"", b"GET /v1/sch", SCHEDULES[:-2], LIVE + b"GET", SCHEDULES.replace(b"GET", b"PUT"))

    async def scenario(connect):
        for number in range(200):
            await connect(drips[number % len(drips)])
        return (await ask(await connect(), SCHEDULES))[0]

    assert serve(scenario) == 200
