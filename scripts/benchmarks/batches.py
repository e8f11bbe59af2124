"""100,000 schedules by one request to `:batch`, through a real engine's front door."""

import http.client
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import orjson

from benchmarks.engines import document, engine_process
from benchmarks.findings import Finding, seconds
from benchmarks.reference import BODY

SCHEDULES = 100_000
SECONDS_MAX = 10.0
RESPONSE_SECONDS_MAX = 120


async def batch(directory: Path) -> AsyncIterator[Finding]:
    """Daily schedules on a thousand timetables, each with a URL of its own."""
    lines = [orjson.dumps(_daily(number)) for number in range(SCHEDULES)]
    with engine_process(directory) as process:
        began = time.perf_counter()
        statuses = _put(process.listen, b"\n".join(lines))
        took = time.perf_counter() - began
    assert statuses == ["created"] * SCHEDULES, "every line makes a schedule"
    plain = seconds(lambda: _plain_inserts(directory / "plain.db", lines))
    yield Finding(
        what=f":batch of {SCHEDULES:,} schedules",
        measured=f"{took:.1f} s",
        reference=f"JSON read and inserted as it is: {plain:.1f} s",
        target=f"<= {SECONDS_MAX:.0f} s",
        holds=took <= SECONDS_MAX,
    )


def _daily(number: int) -> dict[str, object]:
    minute, hour = number % 60, number // 60 % 17
    url = f"http://127.0.0.1:9/customers/{number}"
    return document(f"daily-{number}", url, BODY, cron=f"{minute} {hour} * * *")


def _put(listen: str, body: bytes) -> list[str]:
    """Post the lines; the status of each."""
    with closing(http.client.HTTPConnection(listen, timeout=RESPONSE_SECONDS_MAX)) as connection:
        headers = {"Content-Type": "application/x-ndjson"}
        connection.request("POST", "/v1/schedules:batch", body, headers)
        answer = connection.getresponse().read()
    return [orjson.loads(line)["status"] for line in answer.splitlines()]


def _plain_inserts(path: Path, lines: list[bytes]) -> None:
    """The least that takes a document in: parsed for its name, kept as text, one commit."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE schedule (name TEXT PRIMARY KEY, document TEXT)")
        rows = ((orjson.loads(line)["name"], line.decode()) for line in lines)
        db.executemany("INSERT INTO schedule VALUES (?, ?)", rows)
