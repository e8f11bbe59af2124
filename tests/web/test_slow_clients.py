"""Two hundred clients that are slow on purpose, and one that just asks.

How fast the one is answered is measured by `scripts/bench slowclients`; here nothing is timed, and
the deadlines of the slow ones are shortened so that they pass. Who is sent away comes back at once.
"""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from engine.web import connection, json_bodies
from tests.web.api_client import WAIT_SECONDS_MAX
from tests.web.keyed import Node, node_on

CLIENTS_OF_A_KIND = 40
DEADLINE_SECONDS = 0.5
"""Instead of 10 s for a head or a body."""

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
}
"""How each begins; those that drip then send a byte at a time."""

STAY = {
    "says no more": b"GET /livez" + HOST + b"\r\n",
    "does not read": b"GET /v1/events" + HOST + b"\r\n",
}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", DEADLINE_SECONDS)
    monkeypatch.setattr(json_bodies, "BODY_SECONDS_MAX", DEADLINE_SECONDS)
    with node_on(tmp_path) as node:
        yield node


class SlowClient:
    """One of a kind: slow until the server closes the connection, and then on a new one."""

    def __init__(self, kind: str, port: int) -> None:
        self.connected = asyncio.Event()
        self.sent_away = asyncio.Event()
        self.kind, self._port = kind, port

    async def run(self) -> None:
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            try:
                writer.write((SENT_AWAY | STAY)[self.kind])
                self.connected.set()
                await self._drip(reader, writer)
                self.sent_away.set()
            finally:
                writer.transport.abort()

    async def _drip(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):  # It sent on after it had been told.
            while not reader.at_eof():
                with suppress(TimeoutError):
                    # Not `wait_for`, which may swallow that the test is over (before Python 3.12).
                    async with asyncio.timeout(DRIP_SECONDS):
                        await reader.read(4_096)
                if "drips" in self.kind:
                    writer.write(b"x")


def test_all_ordinary_requests_are_answered_all_deliveries_made_and_the_slow_ones_sent_away(
    node: Node,
):
    path, document = "/v1/schedules/ordinary", {"target": {"url": "http://127.0.0.1:9/"}}
    node.ask("PUT", path, body={"every": 31_536_000, **document})
    clients, tasks = node.run(crowd(int(node.url.rpartition(":")[2])))
    runs = [node.ask("POST", f"{path}:trigger") for _ in range(ORDINARY)]
    assert {run.status for run in runs} == {202}
    assert {node.ask("GET", path).status for _ in range(ORDINARY)} == {200}
    assert {node.ask("GET", health).status for health in ("/livez", "/readyz")} == {200}
    for run in runs:
        asked = f"/v1/runs/{run.json['id']}"
        node.until(lambda asked=asked: node.ask("GET", asked).json["state"], "succeeded")
    node.run(all_of([client.sent_away for client in clients if client.kind in SENT_AWAY]))
    node.run(end(tasks))


async def crowd(port: int) -> tuple[list[SlowClient], list[asyncio.Task[None]]]:
    """All of them, connected."""
    clients = [
        SlowClient(kind, port) for kind in SENT_AWAY | STAY for _ in range(CLIENTS_OF_A_KIND)
    ]
    tasks = [asyncio.create_task(client.run()) for client in clients]
    await all_of([client.connected for client in clients])
    return clients, tasks


async def end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    _, left = await asyncio.wait(tasks, timeout=WAIT_SECONDS_MAX)
    assert not left


async def all_of(events: list[asyncio.Event]) -> None:
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        for event in events:
            await event.wait()
