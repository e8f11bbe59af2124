"""A database that somebody else holds, and a disk that is full: nothing sent that is not journaled.

The engine waits, says so, loses nothing, and goes on by itself when the trouble ends.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from engine.core.identity import format_instant
from tests.end_to_end.processes import Call, Engine, Receiver, now_ms, until
from tests.end_to_end.verdict import drain_and_check

FIRES_A_SECOND = 200
WRITES = 100
HELD_SECONDS = 60

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
db.execute("ROLLBACK")
"""


def fire(engine: Engine, receiver: Receiver, schedules: int) -> None:
    """So many deliveries a second, spread over it."""
    target = {"url": receiver.url("/")}
    for number in range(schedules):
        document = {"every": 1, "jitter_seconds": 1, "target": target}
        engine.put(f"fire-{number}", document)
    seen = len(receiver.requests())
    until(lambda: len(receiver.requests()) > seen + schedules, "they fire")


@contextmanager
def held(database: Path) -> Iterator[None]:
    """Another process holds the one write transaction that SQLite has."""
    command = [sys.executable, "-c", HOLD, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == b"held\n"
            yield
        finally:
            holder.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                holder.wait(30)
            holder.kill()


def write_at_once(engine: Engine, round_number: int) -> list[Call]:
    """A hundred clients, each with a schedule to store."""
    document = {"cron": "0 0 1 1 *", "target": {"url": "http://127.0.0.1:9/"}}

    def write(number: int) -> Call:
        return engine.write("PUT", f"/v1/schedules/w{round_number}-{number}", document)

    with ThreadPoolExecutor(WRITES) as pool:
        return list(pool.map(write, range(WRITES)))


def test_a_deadline_that_goes_by_while_a_claim_waits_for_the_database_is_kept(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start()
    at_ms = now_ms() // 1_000 * 1_000 + 6_000
    schedule = engine.put(
        "once",
        {
            "at": format_instant(at_ms),
            "deadline_seconds": 1,
            "overlap": "skip",
            "target": {"url": receiver.url("/")},
        },
    )
    until(lambda: engine.runs("state=planned"), "it is planned")
    with held(engine.database):
        assert now_ms() < at_ms, "held before it is due"
        assert engine.outlives((at_ms + 1_500 - now_ms()) / 1_000)
    until(lambda: engine.runs("state=failed"), "it has expired")
    [run] = engine.runs()
    assert (run["reason"], run["attempt_count"], run["first_attempt_at"]) == ("expired", 0, None)
    assert engine.ask("GET", f"/v1/runs/{run['id']}").document["attempts"] == []
    assert run["schedule_id"] == schedule["id"]
    assert receiver.requests() == []
    engine.stop()


def test_c53_a_database_held_by_somebody_else_delays_and_loses_nothing(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start()
    fire(engine, receiver, FIRES_A_SECOND)
    undisturbed = write_at_once(engine, 1)
    assert {call.status for call in undisturbed} == {201}

    with ThreadPoolExecutor(1) as pool:
        with held(engine.database):
            beside = pool.submit(write_at_once, engine, 2)
            assert engine.outlives(3)
        assert {call.status for call in beside.result()} == {201}, "they wait, and are stored"
    assert engine.events("journal_not_writable") == []

    with held(engine.database):
        held_ms = now_ms()
        until(lambda: not engine.is_ready(), "not ready while nothing can be journaled")
        reasons = engine.ask("GET", "/readyz").document["reasons"]
        assert "the database cannot be written" in reasons[0]
        statuses = {call.status for call in write_at_once(engine, 3)}
        assert statuses == {503}
        assert engine.ask("GET", "/v1/schedules?limit=1").status == 200
        assert engine.outlives(HELD_SECONDS)
        freed_ms = now_ms()
    until(engine.is_ready, "ready again, by itself")
    until(lambda: receiver.requests()[-1].wall_ms > freed_ms, "it fires again")
    sent = [r for r in receiver.requests() if held_ms + 1_000 < r.wall_ms < freed_ms]
    assert sent == [], "a request left while nobody could have journaled it"
    assert {call.status for call in write_at_once(engine, 4)} == {201}
    troubles = engine.events("journal_not_writable")
    assert len(troubles) == 1, troubles
    assert drain_and_check(engine, receiver).faults == {}


@pytest.fixture
def small_disk(directory: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A disk of `request.param` megabytes, which are really all there is."""
    place = directory / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={request.param}m,mode=700", "tmpfs"]
    subprocess.run(["mount", *options, str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(path: Path) -> None:
    """Write until nothing more fits."""
    with path.open("ab", buffering=0) as file:
        for size in (2**20, 4_096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


def is_stuck(engine: Engine, filler: Path) -> bool:
    """Whether the engine finds no more room, not even by copying its log back."""
    fill(filler)
    return not engine.is_ready() and engine.outlives(1) and not engine.is_ready()


needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="mounting a small disk takes root, as CI has"
)


@needs_root
@pytest.mark.parametrize("small_disk", [9], indirect=True)
def test_the_log_does_not_fill_the_disk_that_it_could_be_copied_back_on(
    small_disk: Path, engine: Engine, receiver: Receiver
) -> None:
    """Some 15 MB of log, never a quiet moment, and not a megabyte of data."""
    engine.data_dir = small_disk / "data"
    engine.start()
    fire(engine, receiver, 50)
    until(lambda: len(receiver.requests()) > 600, "600 deliveries")
    assert engine.is_ready()
    assert engine.events("journal_not_writable") == []
    assert drain_and_check(engine, receiver).faults == {}


@needs_root
@pytest.mark.parametrize("small_disk", [20], indirect=True)
def test_c55_a_full_disk_stops_the_sending_and_nothing_else(
    small_disk: Path, engine: Engine, receiver: Receiver
) -> None:
    engine.data_dir = small_disk / "data"
    engine.start()
    fire(engine, receiver, 50)
    until(lambda: is_stuck(engine, small_disk / "filler"), "not ready while the disk is full")
    full_ms = now_ms()
    said = len(engine.events())
    written = [
        engine.write("PUT", f"/v1/schedules/w-{n}", {"every": 60, "target": {"url": "http://a/"}})
        for n in range(10)
    ]
    assert {call.status for call in written} <= {503, 507}
    assert engine.outlives(8)
    assert engine.ask("GET", "/v1/schedules?limit=1").status == 200
    assert engine.ask("GET", "/v1/runs?limit=1").status == 200
    assert "scheduler_ready 0.0" in engine.ask("GET", "/metrics").document
    assert len(engine.events()) == said, "it has been said once"
    freed_ms = now_ms()
    (small_disk / "filler").unlink()
    until(engine.is_ready, "ready again, by itself", seconds=10)
    until(lambda: receiver.requests()[-1].wall_ms > freed_ms, "it fires again", seconds=10)
    sent = [r for r in receiver.requests() if full_ms < r.wall_ms < freed_ms]
    assert sent == [], "a request left that nobody could have journaled"
    assert drain_and_check(engine, receiver).faults == {}
