"""`:batch` from those who would hold it: how many at once, for how long, and with which key."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine.core.access import Scope
from engine.web import batch, ndjson
from tests.web.keyed import Node, keyed_node


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with keyed_node(tmp_path) as node:
        yield node


def line(name: str) -> bytes:
    return (
        json.dumps({"name": name, "every": 3600, "target": {"url": "http://h/"}}).encode() + b"\n"
    )


@asynccontextmanager
async def post(node: Node, key: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    """A batch that is being sent; its body is asked for when the engine is ready for it."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/x-ndjson"}
    url = node.url + "/v1/schedules:batch"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=pieces, headers=headers, expect100=True) as response,
    ):
        yield response


def test_a_key_that_is_revoked_stores_nothing_more(node):
    key = node.create_key("acme", Scope.WRITE)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"".join(line(f"before-{number}") for number in range(batch.STORED_AT_ONCE))
        await node.engine.keys.revoke(key.split("_")[1])
        yield line("after")

    async def send() -> tuple[int, Any]:
        async with post(node, key, pieces()) as response:
            return response.status, await response.json(content_type=None)

    status, problem = node.run(send())
    assert (status, problem["code"]) == (401, "key_unknown")
    reader = node.keys["acme", Scope.READ]
    assert node.ask("GET", "/v1/schedules/after", key=reader).status == 404


def test_a_tenant_has_so_many_batches_under_way(node, monkeypatch):
    monkeypatch.setattr(batch, "BATCHES_AT_ONCE", 2)
    acme, globex = (node.keys[tenant, Scope.WRITE] for tenant in ("acme", "globex"))

    async def send() -> None:
        end = asyncio.Event()

        async def held(name: str, entered: asyncio.Event) -> int:
            async def pieces() -> AsyncIterator[bytes]:
                entered.set()
                yield line(name)
                await end.wait()

            async with post(node, acme, pieces()) as response:
                return int(response.status)

        async def once(key: str) -> tuple[int, str]:
            async def pieces() -> AsyncIterator[bytes]:
                yield line("once")

            async with post(node, key, pieces()) as response:
                return response.status, await response.text()

        entered = [asyncio.Event(), asyncio.Event()]
        waiting = [
            asyncio.create_task(held(f"held-{number}", event))
            for number, event in enumerate(entered)
        ]
        for event in entered:
            await event.wait()
        status, text = await once(acme)
        assert (status, json.loads(text)["code"]) == (409, "limit_reached")
        assert json.loads(text)["limit"] == {"name": "batches_at_once", "value": 2}
        assert (await once(globex))[0] == 200
        end.set()
        assert await asyncio.gather(*waiting) == [200, 200]
        assert (await once(acme))[0] == 200

    node.run(send())


def test_a_batch_that_comes_line_by_line_ends_all_the_same(node, monkeypatch):
    monkeypatch.setattr(ndjson, "REQUEST_SECONDS_MAX", 0.2)

    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield b"\n"

    async def send() -> int:
        async with post(node, node.keys["acme", Scope.WRITE], pieces()) as response:
            return int(response.status)

    assert node.run(send()) == 408
