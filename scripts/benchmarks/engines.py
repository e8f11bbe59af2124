"""What is measured: a store, an engine in this process, an engine in a process of its own."""

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from engine.app import Engine
from engine.clock import SystemClock
from engine.config import Config
from engine.core.document import read_schedule
from engine.core.model import Draft
from engine.process import settle_interpreter
from engine.store.database import DATABASE_NAME, prepare
from engine.store.journal import SqliteJournal
from engine.store.master_key import own_master_key
from engine.store.sqlite import SqliteSchedules
from engine.store.writer import Reader, Writer
from engine.web.batch import STORED_AT_ONCE

RATE = 100_000
"""Tokens a second, and in one burst: the bucket is passed and stands in nobody's way."""

NOWHERE = "http://127.0.0.1:9/"
"""For what is never sent."""

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60


class Store(NamedTuple):
    """The journal and the schedules of one database."""

    journal: SqliteJournal
    schedules: SqliteSchedules

    async def fill(self, documents: Iterable[dict[str, Any]], now_ms: int) -> None:
        """Store schedules, as if it were `now_ms`."""
        for drafts in read_in_parts(documents):
            await self.schedules.put_many(drafts, now_ms, dry_run=False)


@asynccontextmanager
async def open_store(directory: Path) -> AsyncIterator[Store]:
    """The store of a data directory without an engine, made if it is not there."""
    directory.mkdir(exist_ok=True)  # noqa: ASYNC240  # Nothing else runs yet.
    path = directory / DATABASE_NAME
    own_master_key(directory, is_new=not path.exists())
    prepare(path)
    writer, reader = Writer(SystemClock(), path), Reader(path)
    await writer.open()
    await reader.open()
    committing = asyncio.create_task(writer.run())
    try:
        yield Store(SqliteJournal(writer, reader), SqliteSchedules(writer, reader))
    finally:
        committing.cancel()
        with suppress(asyncio.CancelledError):
            await committing
        await reader.close()
        await writer.close()


async def until(condition: Callable[[], bool], *, seconds: float) -> None:
    """Wait for a condition, looked at every millisecond. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not reached within {seconds:.0f} s")
        await asyncio.sleep(0.001)


@asynccontextmanager
async def engine_here(directory: Path) -> AsyncIterator[Engine]:
    """An engine in this process, and the interpreter as `offbeat run` sets it up."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    try:
        async with Engine(Config(data_dir=directory, rate=RATE, burst=RATE)) as engine:
            settle_interpreter()
            yield engine
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
        gc.unfreeze()


class Process(NamedTuple):
    """An `offbeat run`; `listen` is HOST:PORT."""

    pid: int
    listen: str

    def cpu_seconds(self) -> float:
        """What it has used of the processors so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        """What of its memory is in RAM."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1_024


@contextmanager
def engine_process(directory: Path, *flags: str) -> Iterator[Process]:
    """`offbeat run` on `directory`, from when it listens until it has stopped in order."""
    command = [sys.executable, "-m", "engine", "run"]
    options = ["--data-dir", str(directory), "--listen", "127.0.0.1:0", *flags]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Process(process.pid, _address(process))
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()


def read_in_parts(documents: Iterable[dict[str, Any]]) -> Iterator[list[Draft]]:
    """Documents as drafts, as many at a time as one commit takes."""
    left = iter(documents)
    while part := list(islice(left, STORED_AT_ONCE)):
        yield [read_schedule(document, tenant="default", name=None) for document in part]


def document(name: str, url: str, body: bytes, **trigger: Any) -> dict[str, Any]:
    """A schedule as a client writes it."""
    headers = {"Content-Type": "application/json"}
    target = {"url": url, "headers": headers, "body": body.decode()}
    return {"name": name, **trigger, "target": target}


def _address(process: subprocess.Popen[str]) -> str:
    """Where it listens, from its log."""
    assert process.stderr is not None, "it was opened with a pipe"
    os.set_blocking(process.stderr.fileno(), True)
    for line in process.stderr:
        event = json.loads(line)
        if event["event"] == "listening":
            return str(event["on"])
    raise RuntimeError("the engine ended before it listened")
