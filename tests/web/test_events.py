"""`/v1/events` on a real socket: the format, who hears what, and how a stream ends."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from engine.core.access import Scope
from engine.web import events
from tests.web.api_client import WAIT_SECONDS_MAX
from tests.web.keyed import Node, keyed_node

PLAIN = {"every": 86_400, "target": {"url": "http://h.example/"}}


class Block(NamedTuple):
    """A block of the stream: its fields."""

    event: str | None
    id: str | None
    data: Any


class Client:
    """A client that listens."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def block(self) -> Block:
        """The next block with an id or data; IncompleteReadError at the end."""
        while True:
            text = (await self.response.content.readuntil(b"\n\n")).decode()
            fields = dict(line.split(": ", 1) for line in text.split("\n") if line[1:])
            if "id" in fields or "data" in fields:
                data = json.loads(fields.get("data", "null"))
                return Block(fields.get("event"), fields.get("id"), data)

    async def run(self) -> Block:
        """The next block about a run."""
        while (block := await self.block()).event != "run":
            pass
        return block


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with keyed_node(tmp_path) as node:
        yield node


@asynccontextmanager
async def listening(node: Node, tenant: str, scope: Scope, query: str = "", **headers: str):
    headers["Authorization"] = f"Bearer {node.keys[tenant, scope]}"
    url = f"{node.url}/v1/events{query}"
    async with (
        asyncio.timeout(WAIT_SECONDS_MAX),
        aiohttp.ClientSession() as session,
        session.get(url, headers=headers) as response,
    ):
        assert response.status == 200
        yield Client(response)


async def trigger(node: Node, tenant: str, name: str) -> None:
    """A run of a schedule, which is made for it."""
    headers = {"Authorization": f"Bearer {node.keys[tenant, Scope.WRITE]}"}
    url = f"{node.url}/v1/schedules/{name}"
    async with aiohttp.ClientSession(headers=headers) as session:
        await session.put(url, json=PLAIN)
        await session.post(f"{url}:trigger")


def test_a_run_is_told_in_blocks_that_a_browser_reads(node: Node):
    async def main():
        async with listening(node, "acme", Scope.READ) as client:
            begun = await client.block()
            await trigger(node, "acme", "report")
            blocks = [await client.run(), await client.run()]
            return client.response.headers, begun, blocks

    headers, begun, (start, end) = node.run(main())
    assert headers["Content-Type"] == "text/event-stream"
    assert headers["Cache-Control"] == "no-store"
    life = begun.id.partition("-")[0]
    assert [block.id for block in (begun, start, end)] == [f"{life}-{n}" for n in range(3)]
    assert start.data["state"] == "attempting"
    run = node.ask("GET", f"/v1/runs/{end.data['id']}", key=node.keys["acme", Scope.READ]).json
    shared = ("id", "schedule_id", "schedule_name", "scheduled_for", "state", "attempt_count")
    assert {name: end.data[name] for name in shared} == {name: run[name] for name in shared}
    assert (end.data["outcome"], end.data["status"], end.data["next_attempt_at"]) == (
        "success", 200, None,
    )  # fmt: skip
    assert end.data["at"] == run["ended_at"]


def test_a_stream_has_its_own_tenants_runs_and_those_of_the_schedule_that_was_named(node: Node):
    async def main():
        async with (
            listening(node, "acme", Scope.READ) as acme,
            listening(node, "acme", Scope.READ, "?schedule=report") as report,
        ):
            await report.block()
            await trigger(node, "globex", "report")
            names = []
            for name in ("other", "report"):
                await trigger(node, "acme", name)
                names += [(await acme.run()).data["schedule_name"] for _ in range(2)]
            return names, (await report.run()).data["schedule_name"]

    names, named = node.run(main())
    assert (names, named) == (["other", "other", "report", "report"], "report")


def test_who_comes_back_with_its_last_id_goes_on_there(node: Node):
    async def main():
        async with listening(node, "acme", Scope.READ) as client:
            await client.block()
            await trigger(node, "acme", "report")
            start = await client.run()
        back = {"Last-Event-ID": start.id}
        async with listening(node, "acme", Scope.READ, **back) as client:
            end = await client.block()
        async with listening(node, "globex", Scope.READ, **back) as stranger:
            return start, end, await stranger.block()

    start, end, stranger = node.run(main())
    assert (end.event, end.data["id"], end.data["state"]) == ("run", start.data["id"], "succeeded")
    assert stranger.event == "reset"
    assert stranger.id not in (start.id, end.id)


def test_the_nodes_figures_are_for_administrators(node: Node):
    async def main():
        async with listening(node, "acme", Scope.ADMIN, "?types=herd") as client:
            return await client.block()

    herd = node.run(main())
    assert (herd.event, herd.id) == ("herd", None)
    assert set(herd.data) == {
        "at", "backlog", "tokens", "verdict", "demand", "planned", "served",
    }  # fmt: skip
    refused = node.ask("GET", "/v1/events?types=herd", key=node.keys["acme", Scope.WRITE])
    assert (refused.status, refused.json["code"]) == (403, "insufficient_scope")


@pytest.mark.parametrize("query", ["types=", "types=run", "types=runs,,herd", "type=runs",
                                   f"schedule={'x' * 129}"])  # fmt: skip
def test_a_query_that_is_not_understood_is_refused(node: Node, query: str):
    answer = node.ask("GET", f"/v1/events?{query}", key=node.keys["acme", Scope.ADMIN])
    assert (answer.status, answer.json["code"]) == (422, "invalid_query")


def test_a_key_that_is_revoked_hears_nothing_more(node: Node):
    async def main():
        node.keys["acme", Scope.READ] = node_key = (
            await node.engine.keys.create(tenant="acme", scope=Scope.READ, name=None)
        )[1]
        async with listening(node, "acme", Scope.READ) as client:
            await client.block()
            await node.engine.keys.revoke(node_key.split("_")[1])
            await trigger(node, "acme", "report")
            return await client.response.content.read()

    assert b"event: run" not in node.run(main())


def test_silence_is_broken_by_a_comment(node: Node, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.02)

    async def main():
        async with listening(node, "acme", Scope.READ) as client:
            await client.block()
            return await client.response.content.readuntil(b"\n\n")

    assert node.run(main()) == b":\n\n"


def test_a_client_that_left_leaves_its_place(node: Node, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.01)

    async def main():
        async with listening(node, "acme", Scope.READ) as client:
            await client.block()
            during = streams(node)
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while streams(node):  # noqa: ASYNC110  # What sets it is in the server.
                await asyncio.sleep(0)
        return during

    assert node.run(main()) == 1


def test_head_opens_no_stream(node: Node):
    headers = {"Authorization": f"Bearer {node.keys['acme', Scope.READ]}"}

    async def main():
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.head(f"{node.url}/v1/events") as response,
        ):
            return response.status, response.content_type, streams(node)

    assert node.run(main()) == (200, "text/event-stream", 0)


def streams(node: Node) -> int:
    return int(node.engine.registry.get_sample_value("scheduler_event_streams") or 0)
