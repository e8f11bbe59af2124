"""What a start costs: reading the journal back, and a million schedules that wait."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.engines import (
    NOWHERE,
    START_SECONDS_MAX,
    Store,
    document,
    engine_process,
    open_store,
    until,
)
from benchmarks.findings import Finding, seconds
from benchmarks.reference import BODY
from engine.app import Engine
from engine.clock import SystemClock
from engine.config import Config
from engine.core.identity import format_instant
from engine.core.room import RUNS_HELD_MAX
from engine.services.loader import PAGE_RUNS_MAX
from engine.services.waiting import NOTHING
from engine.store import AtSlice, DueRun, HeldRun, Slice
from engine.store.database import DATABASE_NAME

RUNS = 100_000
ATTEMPTING = 256
FLOWS = 100
RECOVERY_SECONDS_MAX = 1.0

IDLE_SCHEDULES = 1_000_000
IDLE_TIMETABLES = 1_440
IDLE_SECONDS = 10
RESIDENT_MB_MAX = 200

MB = 1_000_000


async def recovery(directory: Path) -> AsyncIterator[Finding]:
    """A start on 100,000 runs that are due within seconds, some of them cut off in an attempt."""
    due_ms = time.time_ns() // 1_000_000 + 3_600_000
    async with open_store(directory) as store:
        await _plan_runs(store, due_ms)
        read = await _read_all(store, due_ms)
    plain = seconds(lambda: _plain_read(directory / DATABASE_NAME))
    # A token a second: what is due waits, and the start is all that there is to see.
    config = Config(data_dir=directory, rate=1, burst=1)
    engine = Engine(config, clock=SystemClock(start_ms=due_ms - 4_000))
    began = time.perf_counter()
    async with engine:
        started = time.perf_counter() - began
        await until(lambda: len(engine.waiting) == RUNS_HELD_MAX, seconds=START_SECONDS_MAX)
        took = time.perf_counter() - began
    yield Finding(
        what=f"recovery of {RUNS:,} runs",
        measured=f"{took:.2f} s to {RUNS_HELD_MAX:,} in memory; started after {started:.2f} s",
        reference=f"SELECT of all, as it comes: {plain:.2f} s",
        target=f"<= {RECOVERY_SECONDS_MAX:.0f} s",
        holds=took <= RECOVERY_SECONDS_MAX,
    )
    yield Finding(
        what="  all of them read in order of time",
        measured=f"{read:.2f} s",
        target=f"<= {RECOVERY_SECONDS_MAX:.0f} s",
        holds=read <= RECOVERY_SECONDS_MAX,
    )


async def _plan_runs(store: Store, due_ms: int) -> None:
    begun_ms = due_ms - 60_000
    at = {"at": format_instant(due_ms)}
    await store.journal.begin_life(begun_ms)
    schedules = (
        document(f"once-{n}", NOWHERE, BODY, flow_key=f"customer-{n % FLOWS}", **at)
        for n in range(RUNS)
    )
    await store.fill(schedules, begun_ms)
    slices: tuple[Slice | AtSlice, ...] = (AtSlice(after_ms=begun_ms, until_ms=due_ms),)
    while slices:
        planned = await store.journal.plan(slices, horizon_ms=due_ms, now_ms=due_ms - 5_000)
        slices = planned.rest
    first = await _read(store, NOTHING, due_ms, ATTEMPTING)
    await store.journal.claim(first, due_ms)


async def _read_all(store: Store, until_ms: int) -> float:
    began = time.perf_counter()
    after = NOTHING
    while runs := await _read(store, after, until_ms, PAGE_RUNS_MAX):
        after = runs[-1].key
    return time.perf_counter() - began


async def _read(store: Store, after: DueRun, until_ms: int, limit: int) -> list[HeldRun]:
    page = await store.journal.due(after, until_ms, limit, flow_id=None, known=lambda _: True)
    return page.runs


def _plain_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("SELECT next_attempt_at, scheduled_for, schedule_id FROM job_run").fetchall()


async def idle(directory: Path) -> AsyncIterator[Finding]:
    """A million schedules of 1,440 timetables that are due in half a year."""
    now_ms = time.time_ns() // 1_000_000
    with engine_process(directory) as process:
        await asyncio.sleep(IDLE_SECONDS)
        empty = process.resident_bytes()
    async with open_store(directory) as store:
        await store.fill(_yearly(now_ms), now_ms)
    began = time.perf_counter()
    with engine_process(directory) as process:
        started = time.perf_counter() - began
        await asyncio.sleep(IDLE_SECONDS)
        resident = process.resident_bytes()
    yield Finding(
        what=f"{IDLE_SCHEDULES:,} schedules idle",
        measured=f"{resident / MB:.0f} MB resident, started in {started:.1f} s",
        reference=f"without any: {empty / MB:.0f} MB",
        target=f"<= {RESIDENT_MB_MAX} MB",
        holds=resident <= RESIDENT_MB_MAX * MB,
    )


def _yearly(now_ms: int) -> Iterator[dict[str, Any]]:
    """Once a year, half a year from now."""
    month = (time.gmtime(now_ms // 1_000).tm_mon + 5) % 12 + 1
    for number in range(IDLE_SCHEDULES):
        hour, minute = divmod(number % IDLE_TIMETABLES, 60)
        cron = f"{minute} {hour} 15 {month} *"
        yield document(f"yearly-{number}", NOWHERE, BODY, cron=cron)
