"""Lists of runs are read in slices: the same list whatever they hold, and none that is long."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.clock import SystemClock
from engine.core.model import State
from engine.core.replay import Selection
from engine.store import RunFilter, dead_letters, history
from engine.store.database import prepare
from engine.store.history import end_of, list_runs
from engine.store.turns import Turns
from engine.store.writer import Reader, Writer

MINE, THEIRS = 7, 8
SCHEDULE = (
    "INSERT INTO schedule (id, public_id, tenant, name, at, counted_after, owed_after,"
    " jitter_seconds, jitter_source, offset_ms, overlap, catch_up, target_id, flow_id, priority,"
    " delete_after_completion, pause_after_failures, revision, created_at, updated_at)"
    " VALUES (?1, 'sch_' || ?1, ?2, ?1, 1, 0, 0, 0, 'explicit', 0, 'allow', 'all', 1, 1, 1, 0, 0,"
    " 1, 0, 0)"
)
RUN = (
    "INSERT INTO job_run (scheduled_for, schedule_id, fire_after, state, trigger, target_id,"
    " flow_id) VALUES (?1, ?2, ?1, 'succeeded', 'schedule', 1, 1)"
)

FAIL = (
    "UPDATE job_run SET state = 'failed', reason = 'final',"
    " failed_of = (SELECT tenant FROM schedule s WHERE s.id = schedule_id)"
)
TARGET = (
    "INSERT INTO target (id, digest, url, method, headers, body, body_kind, timeout_seconds)"
    " VALUES (1, x'00', 'http://h.example/', 'POST', '[]', x'', 'none', 15)"
)


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Slices of ten runs; 100 of theirs, and of mine one at 5, at 50 and at 95."""
    monkeypatch.setattr(history, "LISTED_SLICE_RUNS", 10)
    prepare(tmp_path / "offbeat.db")
    with closing(sqlite3.connect(tmp_path / "offbeat.db", isolation_level=None)) as db:
        db.execute(TARGET)
        db.execute(SCHEDULE, (MINE, "me"))
        db.execute(SCHEDULE, (THEIRS, "them"))
        db.executemany(RUN, [(instant, THEIRS) for instant in range(100)])
        db.executemany(RUN, [(instant, MINE) for instant in (5, 50, 95)])
        yield db


def of(tenant: str, **filters: Any) -> RunFilter:
    return RunFilter(tenant=tenant, **filters)


def slices(db: sqlite3.Connection, which: RunFilter, limit: int = 1_000) -> list[list[int]]:
    """The instants of each slice, to the end."""
    found, place = [], end_of(which)
    while place is not None:
        runs, place = list_runs(db, which, limit, place)
        found.append([run.scheduled_for_ms for run in runs])
    return found


def listed(db: sqlite3.Connection, which: RunFilter, limit: int = 1_000) -> list[int]:
    return [instant for found in slices(db, which, limit) for instant in found]


def test_no_slice_looks_at_more_runs_than_a_slice_has(db: sqlite3.Connection) -> None:
    found = slices(db, of("them", state=State.CANCELLED))
    assert found == [[]] * 11
    steps: list[int] = []
    db.set_progress_handler(lambda: steps.append(1), 100)
    slices(db, of("them", state=State.CANCELLED, from_ms=90))
    few = len(steps)
    steps.clear()
    list_runs(db, of("them", state=State.CANCELLED), 1_000, (2**62, -1))
    assert len(steps) <= few


def test_all_runs_are_listed_once_newest_first(db: sqlite3.Connection) -> None:
    for which in (of("them"), of("them", schedule_id=f"sch_{THEIRS}")):
        assert listed(db, which) == list(range(99, -1, -1))
        assert listed(db, which, limit=3) == list(range(99, -1, -1))
        assert max(map(len, slices(db, which))) <= 10


def test_what_is_others_is_passed_over(db: sqlite3.Connection) -> None:
    """By three leaps and not by eleven slices; a tenant without runs asks once."""
    assert slices(db, of("me")) == [[95], [], [50], [], [5]]
    assert slices(db, of("nobody")) == [[]]


def test_failed_runs_are_found_however_many_others_have(db: sqlite3.Connection) -> None:
    db.execute(FAIL)
    assert slices(db, of("me", state=State.FAILED)) == [[95, 50, 5]]
    assert listed(db, of("them", state=State.FAILED)) == list(range(99, -1, -1))
    assert slices(db, of("me", state=State.FAILED, from_ms=6, to_ms=95)) == [[50]]
    assert slices(db, of("nobody", state=State.FAILED)) == [[]]


async def test_failed_runs_are_counted_however_many_others_have(
    db: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "FAILED_PAGE_RUNS", 10)
    monkeypatch.setattr(dead_letters, "HISTORY_PAGE_RUNS", 10)
    db.execute(FAIL)
    reader = Reader(tmp_path / "offbeat.db")
    await reader.open()
    reads = Turns(reader).of("me")
    stored = dead_letters.SqliteDeadLetters(Writer(SystemClock(), tmp_path / "offbeat.db"), reads)
    assert await stored.count("me", (2**62, 0), {}) == (3, None)
    assert await stored.count("them", (2**62, 0), {}) == (10, (90, THEIRS))
    found, end = await stored.find(Selection(tenant="me"), (-(2**62), 0))
    assert ([letter.scheduled_for_ms for letter in found], end) == ([5, 50, 95], None)
    await reader.close()


def test_of_many_schedules_the_newest_runs_are_not_looked_up(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LEAPT_SCHEDULES_MAX", 0)
    assert listed(db, of("me")) == [95, 50, 5]
    assert len(slices(db, of("me"))) == 11


def test_a_span_is_kept_to(db: sqlite3.Connection) -> None:
    assert listed(db, of("them", from_ms=17, to_ms=40)) == list(range(39, 16, -1))
    assert listed(db, of("me", from_ms=5, to_ms=95)) == [50, 5]
    assert listed(db, of("me", from_ms=6, to_ms=95)) == [50]
