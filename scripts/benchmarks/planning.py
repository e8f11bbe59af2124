"""How fast the planner's statement writes runs, and how fast the wheel turns."""

import heapq
import random
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.engines import NOWHERE, Store, document, open_store
from benchmarks.findings import Finding, seconds
from benchmarks.reference import BODY
from engine.core.wheel import Wheel
from engine.services.loader import LOOKAHEAD_MS
from engine.store import AtSlice, Slice

SCHEDULES = 100_000
ROUNDS = 5
HOUR_MS = 3_600_000

RUNS_PER_SECOND_MIN = 200_000
WHEEL_MICROSECONDS_MAX = 2.0


async def planner(directory: Path) -> AsyncIterator[Finding]:
    """100,000 hourly schedules, hour by hour: due at one instant, and spread by the default jitter.

    Jitter scatters the rows of a page over the trees. It also gives the planner a minute for them.
    """
    at_once, plain = await _plan_hours(directory / "at-once", jitter_seconds=0)
    yield Finding(
        what=f"planner, {SCHEDULES:,} due at one instant",
        measured=f"{at_once:,.0f} runs/s",
        reference=f"INSERT SELECT, key only: {plain:,.0f} rows/s",
        target=f">= {RUNS_PER_SECOND_MIN:,}/s",
        holds=at_once >= RUNS_PER_SECOND_MIN,
    )
    spread, plain = await _plan_hours(directory / "spread", jitter_seconds=None)
    yield Finding(
        what="  spread over a minute by jitter",
        measured=f"{spread:,.0f} runs/s",
        reference=f"the same: {plain:,.0f} rows/s",
    )


async def _plan_hours(directory: Path, *, jitter_seconds: int | None) -> tuple[float, float]:
    """Runs a second that the journal plans, and that a plain statement writes; medians."""
    start_ms = time.time_ns() // 1_000_000 // HOUR_MS * HOUR_MS
    trigger = {"cron": "0 * * * *", "jitter_seconds": jitter_seconds}
    hourly = (document(f"hourly-{n}", NOWHERE, BODY, **trigger) for n in range(SCHEDULES))
    ours, plain = [], []
    async with open_store(directory) as store:
        await store.journal.begin_life(start_ms)
        await store.fill(hourly, start_ms)
        for number in range(1, ROUNDS + 1):
            instant_ms = start_ms + number * HOUR_MS
            ours.append(SCHEDULES / await _plan(store, instant_ms))
            plain.append(SCHEDULES / _plain_insert(directory / "plain.db", instant_ms))
    return statistics.median(ours), statistics.median(plain)


async def _plan(store: Store, instant_ms: int) -> float:
    (timetable,) = await store.journal.timetables()
    herd = Slice(
        timetable_id=timetable.timetable_id,
        instant_ms=instant_ms,
        after_offset_ms=-1,
        until_offset_ms=timetable.reach_ms,
    )
    slices: tuple[Slice | AtSlice, ...] = (herd,)
    rows = 0
    began = time.perf_counter()
    while slices:
        planned = await store.journal.plan(
            slices, horizon_ms=instant_ms + timetable.reach_ms, now_ms=instant_ms
        )
        slices, rows = planned.rest, rows + planned.rows
    assert rows == SCHEDULES, "every schedule has its run"
    return time.perf_counter() - began


def _plain_insert(path: Path, instant_ms: int) -> float:
    """The least that SQLite can do: the same keys from table to table in one commit."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(
            "CREATE TABLE IF NOT EXISTS s (id INTEGER PRIMARY KEY, offset_ms INTEGER);"
            "CREATE TABLE IF NOT EXISTS r (scheduled_for INTEGER, schedule_id INTEGER,"
            " fire_after INTEGER, PRIMARY KEY (scheduled_for, schedule_id)) WITHOUT ROWID"
        )
        offsets = ((number, number % 60_000) for number in range(SCHEDULES))
        db.executemany("INSERT OR IGNORE INTO s VALUES (?, ?)", offsets)
        insert = "INSERT INTO r SELECT ?, id, ? + offset_ms FROM s"
        return seconds(lambda: db.execute(insert, (instant_ms, instant_ms)))


async def wheel(_directory: Path) -> AsyncIterator[Finding]:
    """100,000 timers within the lookahead, put in and taken out millisecond by millisecond."""
    chance = random.Random(1)
    dues = [chance.randrange(1, LOOKAHEAD_MS) for _ in range(SCHEDULES)]
    ours, heaps = [], []
    for _ in range(ROUNDS):
        ours.append(seconds(lambda: _turn_wheel(dues)) / SCHEDULES * 1e6)
        heaps.append(seconds(lambda: _drain_heap(dues)) / SCHEDULES * 1e6)
    yield Finding(
        what="wheel, insert and expire",
        measured=f"{statistics.median(ours):.2f} us",
        reference=f"heapq: {statistics.median(heaps):.2f} us",
        target=f"<= {WHEEL_MICROSECONDS_MAX:.0f} us",
        holds=statistics.median(ours) <= WHEEL_MICROSECONDS_MAX,
    )


def _turn_wheel(dues: list[int]) -> None:
    timers: Wheel[tuple[int, int, int]] = Wheel(0)
    for number, due in enumerate(dues):
        timers.insert(due, (due, 0, number))
    assert sum(len(timers.advance(now)) for now in range(LOOKAHEAD_MS + 1)) == len(dues)


def _drain_heap(dues: list[int]) -> None:
    timers: list[tuple[int, int, int]] = []
    for number, due in enumerate(dues):
        heapq.heappush(timers, (due, 0, number))
    assert sum(1 for now in range(LOOKAHEAD_MS + 1) for _ in _pop_due(timers, now)) == len(dues)


def _pop_due(timers: list[tuple[int, int, int]], now: int) -> Iterator[tuple[int, int, int]]:
    while timers and timers[0][0] <= now:
        yield heapq.heappop(timers)
