"""The engine of `keyed.py` in a process of its own, for a client that does not share its loop."""

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from tests.web.keyed import ADMIN_KEY, keyed_node, node_on

START_SECONDS_MAX = 30.0


@contextmanager
def served(directory: Path, *, keys: bool) -> Iterator[tuple[str, str | None]]:
    """The URL of an engine on `directory`, and its operator's key if it asks for keys."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(directory, keys, there))
    process.start()
    try:
        assert here.poll(START_SECONDS_MAX), "the engine did not start"
        yield here.recv(), ADMIN_KEY if keys else None
    finally:
        here.send("stop")
        process.join(START_SECONDS_MAX)
        assert process.exitcode == 0


def _serve(directory: Path, keys: bool, parent: Connection) -> None:
    with keyed_node(directory) if keys else node_on(directory) as node:
        parent.send(node.url)
        node.run(_until_told(parent))


async def _until_told(parent: Connection) -> None:
    told = asyncio.Event()
    asyncio.get_running_loop().add_reader(parent.fileno(), told.set)
    await told.wait()
