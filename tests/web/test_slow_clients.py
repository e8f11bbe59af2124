"""Two hundred clients that are slow on purpose beside one that just asks: who is answered, who goes.

How fast the one is answered is measured by `scripts/bench slowclients`; here nothing is timed, and
the deadlines of the slow ones are shortened so that they pass.
"""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from engine.web import connection, json_bodies
from engine.web.server import CONNECTION_SETTINGS
from tests.web.api_client import WAIT_SECONDS_MAX
from tests.web.keyed import Node, node_on

CLIENTS_OF_A_KIND = 40
DEADLINE_SECONDS = 0.5
"""Instead of 10 s for a head or a body, and of 30 s for the next request."""

DRIP_SECONDS = 0.05
ORDINARY = 50
HOST = b" HTTP/1.1\r\nHost: localhost\r\n"
PUT = (
    b"PUT /v1/schedules/slow"
    + HOST
    + b"Content-Type: application/json\r\nContent-Length: 99999\r\n\r\n"
)

SENT_AWAY = {
    "drips a head": b"GET /v1/schedules" + HOST + b"X-Slow: ",
    "drips a body": PUT + b"{",
    "says nothing": b"",
    "says no more": b"GET /livez" + HOST + b"\r\n",
}
"""How each kind begins; those that drip then send a byte at a time."""

LEFT_ALONE = b"GET /v1/events" + HOST + b"\r\n"
"""It never reads what it is told, but nothing is told it that would not fit into its buffers."""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", DEADLINE_SECONDS)
    monkeypatch.setattr(json_bodies, "BODY_SECONDS_MAX", DEADLINE_SECONDS)
    monkeypatch.setitem(CONNECTION_SETTINGS, "keepalive_timeout", DEADLINE_SECONDS)
    with node_on(tmp_path) as node:
        yield node


async def be_slow(port: int, kind: str, connected: asyncio.Semaphore) -> None:
    """Go on until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(SENT_AWAY[kind])
    connected.release()
    answered = asyncio.create_task(reader.read())
    while not answered.done():
        await asyncio.wait([answered], timeout=DRIP_SECONDS)
        if "drips" in kind:
            writer.write(b"x")
    writer.transport.abort()
    with suppress(ConnectionResetError):  # It sent on after it had been told.
        await answered


def test_all_ordinary_requests_are_answered_all_deliveries_made_and_the_slow_ones_sent_away(
    node: Node,
):
    path, document = "/v1/schedules/ordinary", {"target": {"url": "http://127.0.0.1:9/"}}
    node.ask("PUT", path, body={"every": 31_536_000, **document})
    slow, streams = node.run(crowd(int(node.url.rpartition(":")[2])))
    runs = [node.ask("POST", f"{path}:trigger") for _ in range(ORDINARY)]
    assert {run.status for run in runs} == {202}
    assert {node.ask("GET", path).status for _ in range(ORDINARY)} == {200}
    assert {node.ask("GET", health).status for health in ("/livez", "/readyz")} == {200}
    assert not all(task.done() for task in slow), "they have been there all the time"
    for run in runs:
        asked = f"/v1/runs/{run.json['id']}"
        node.until(lambda asked=asked: node.ask("GET", asked).json["state"], "succeeded")
    node.run(asyncio.wait_for(asyncio.gather(*slow), WAIT_SECONDS_MAX))
    for writer in streams:
        writer.transport.abort()


async def crowd(port: int) -> tuple[list[asyncio.Task[None]], list[asyncio.StreamWriter]]:
    """All of them, connected: those that will be sent away, and those that stay."""
    connected = asyncio.Semaphore(0)
    slow = [
        asyncio.create_task(be_slow(port, kind, connected))
        for kind in SENT_AWAY
        for _ in range(CLIENTS_OF_A_KIND)
    ]
    for _ in slow:
        await connected.acquire()
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CLIENTS_OF_A_KIND)]
    for _, writer in opened:
        writer.write(LEFT_ALONE)
    return slow, [writer for _, writer in opened]
