"""Turns in orders that a queue rarely makes, and a line never gets wrong (SPEC §4)."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.core.admission import Admission
from engine.core.model import Overlap
from engine.store.database import prepare
from engine.store.overlap import Lines, next_in_line

SCHEDULE = 7
NOW_MS = 100


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    prepare(tmp_path / "offbeat.db")
    with closing(sqlite3.connect(tmp_path / "offbeat.db", isolation_level=None)) as db:
        yield db


def plan(db: sqlite3.Connection, *instants: int, trigger: str = "schedule") -> None:
    """Runs that are due at their instant."""
    db.executemany(
        "INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state,"
        " trigger, target_id, flow_id) VALUES (?1, ?2, ?1, ?1, 'planned', ?3, 1, 1)",
        [(instant, SCHEDULE, trigger) for instant in instants],
    )


def turn(
    lines: Lines, instant: int, *, trigger: str = "schedule", overlap: Overlap = "buffer_one"
) -> Admission:
    run = (instant, instant, SCHEDULE)
    return lines.admit(run, under_way=False, trigger=trigger, overlap=overlap, catch_up="latest")


def state(db: sqlite3.Connection, instant: int) -> tuple[str, str | None]:
    rows = db.execute("SELECT state, reason FROM job_run WHERE scheduled_for = ?", (instant,))
    (found,) = rows.fetchall()
    return found


def test_an_older_run_that_comes_late_gives_way_to_the_one_that_waits(
    db: sqlite3.Connection,
) -> None:
    plan(db, 10, 20, 30)
    lines = Lines(db, NOW_MS)
    assert turn(lines, 10) is Admission.CLAIM
    assert turn(lines, 30) is Admission.WAIT
    assert turn(lines, 20) is Admission.SUPERSEDE
    assert state(db, 30) == ("planned", None)


def test_a_displaced_run_is_not_claimed_later_in_the_same_batch(db: sqlite3.Connection) -> None:
    plan(db, 5, 10, 20)
    plan(db, 12, trigger="manual")
    before = Lines(db, NOW_MS)
    assert turn(before, 5) is Admission.CLAIM
    assert turn(before, 10) is Admission.WAIT
    assert turn(before, 12, trigger="manual") is Admission.WAIT
    db.execute("UPDATE job_run SET state = 'succeeded' WHERE scheduled_for = 5")
    assert [run.key for run in next_in_line(db, SCHEDULE)] == [(10, 10, SCHEDULE)]
    lines = Lines(db, NOW_MS)
    lines.see(SCHEDULE)
    assert turn(lines, 20) is Admission.WAIT
    assert turn(lines, 10) is Admission.DROP
    assert state(db, 10) == ("skipped", "superseded")
    assert lines.superseded == {(10, SCHEDULE)}
    assert [run.key for run in lines.moved_up()] == [(12, 12, SCHEDULE)]


@pytest.mark.parametrize(
    ("overlap", "admission"), [("skip", Admission.OVERLAP), ("buffer_one", Admission.WAIT)]
)
def test_nobody_overtakes_a_run_that_waits_although_nothing_is_under_way(
    db: sqlite3.Connection, overlap: Overlap, admission: Admission
) -> None:
    plan(db, 5, 20)
    plan(db, 10, trigger="manual")
    before = Lines(db, NOW_MS)
    assert turn(before, 5) is Admission.CLAIM
    assert turn(before, 10, trigger="manual") is Admission.WAIT
    db.execute("UPDATE job_run SET state = 'succeeded' WHERE scheduled_for = 5")
    lines = Lines(db, NOW_MS)
    lines.see(SCHEDULE)
    assert turn(lines, 20, overlap=overlap) is admission
    # The wake-up of the one in front was lost: this makes up for it.
    assert [run.key for run in lines.moved_up()] == [(10, 10, SCHEDULE)]
    assert turn(Lines(db, NOW_MS), 10, trigger="manual") is Admission.CLAIM
