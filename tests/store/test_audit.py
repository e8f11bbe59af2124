"""The audit's slices: bounded, and together the whole."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.core.audit import Tally
from engine.core.document import read_schedule
from engine.store import audit, schedules
from engine.store.audit import OCCURRENCES_AUDITED_MAX, SCHEDULES_AUDITED_MAX, audit_slice
from engine.store.database import prepare

HOURS = 3_600_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A journal that is planned up to the tenth hour of 1970."""
    prepare(tmp_path / "offbeat.db")
    with closing(sqlite3.connect(tmp_path / "offbeat.db", isolation_level=None)) as db:
        db.execute("INSERT INTO progress VALUES (1, 0, ?, ?, 1, 0)", (10 * HOURS, 10 * HOURS))
        yield db


def put(db: sqlite3.Connection, name: str, every: int) -> None:
    document = {"every": every, "jitter_seconds": 0, "target": {"url": "http://127.0.0.1:9/"}}
    draft = read_schedule(document, tenant="default", name=name)
    db.execute("BEGIN")
    schedules.put_draft(db, draft, 0)
    db.execute("COMMIT")


def whole(db: sqlite3.Connection, until_ms: int) -> tuple[Tally, int]:
    """The tally of all slices, and how many there were."""
    tally, slices = Tally(), 0
    position: audit.Position | None = (0, 0)
    while position is not None:
        some, position = audit_slice(db, "default", 0, until_ms, position)
        assert some.owed < 2 * OCCURRENCES_AUDITED_MAX
        tally, slices = tally + some, slices + 1
    return tally, slices


def test_a_schedule_of_every_second_takes_several_slices(db: sqlite3.Connection) -> None:
    put(db, "second", 1)  # The edit settles: all up to the horizon are planned.
    for lost in (1, 4_999, 5_000, 5_001, 20_000):
        db.execute("DELETE FROM job_run WHERE scheduled_for = ?", (lost * 1_000,))
    tally, slices = whole(db, 10 * HOURS)
    assert (tally.schedules, tally.owed, tally.unaccounted) == (1, 36_000, 5)
    assert [f.count for f in tally.findings] == [1, 2, 1, 1]  # Pages end at 5,000 s.
    assert slices > 36_000 // OCCURRENCES_AUDITED_MAX


def test_many_schedules_are_each_counted_once(db: sqlite3.Connection) -> None:
    for index in range(2 * SCHEDULES_AUDITED_MAX):
        put(db, f"s{index}", 3_600)
    tally, slices = whole(db, 10 * HOURS)
    assert (tally.schedules, tally.owed, tally.runs) == (500, 5_000, 5_000)
    assert slices >= 2
    assert tally.unaccounted == 0
