"""A backlog in the journal, spread again a page at a time."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.store import Backlog, DueRun
from engine.store.database import prepare
from engine.store.flows import SPREAD_RUNS_MAX, backlogs, spread_again

FLOW, OTHER = 1, 2
UNTIL_MS = 1_000_000
SPAN = {"until": UNTIL_MS, "now": 1_015_000, "window": 50_000}
START: DueRun = (-1, -1, -1)
SCHEDULE = (
    "INSERT INTO schedule (id, public_id, tenant, name, timetable_id, counted_after, owed_after,"
    " jitter_seconds, jitter_source, offset_ms, overlap, catch_up, target_id, flow_id, priority,"
    " delete_after_completion, pause_after_failures, revision, created_at, updated_at)"
    " VALUES (?1, 'sch_' || ?1, 't', ?1, 1, 0, 0, 0, 'explicit', 0, ?2, 'all', 1, 1, 1, 0, 0, 1,"
    " 0, 0)"
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    prepare(tmp_path / "offbeat.db")
    with closing(sqlite3.connect(tmp_path / "offbeat.db", isolation_level=None)) as db:
        db.execute(SCHEDULE, (7, "allow"))
        db.execute(SCHEDULE, (8, "skip"))
        yield db


def wait(
    db: sqlite3.Connection, *instants: int, state: str = "retry_wait", schedule: int = 7
) -> None:
    """Runs that wait since their instant, tried once if they are to be tried again."""
    db.executemany(
        "INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state,"
        " trigger, target_id, flow_id, attempt) VALUES (?1, ?2, ?1, ?1, ?3, 'schedule', 1, ?4, ?5)",
        [(i, schedule, state, FLOW, int(state == "retry_wait")) for i in instants],
    )


def due(db: sqlite3.Connection) -> dict[int, int]:
    return dict(db.execute("SELECT scheduled_for, next_attempt_at FROM job_run").fetchall())


def spread_all(db: sqlite3.Connection, span: dict[str, int] = SPAN) -> int:
    """How many pages it took."""
    pages, after = 0, START
    while (found := spread_again(db, FLOW, after, span, 3)) is not None:
        pages, after = pages + 1, found
    return pages + 1


def test_what_was_due_by_then_moves_into_the_window_and_nothing_else(
    db: sqlite3.Connection,
) -> None:
    wait(db, 5, UNTIL_MS, UNTIL_MS + 1)
    assert backlogs(db, UNTIL_MS, None) == [Backlog(flow_id=FLOW, runs=2, rate=None)]
    assert backlogs(db, UNTIL_MS, OTHER) == []
    spread_all(db)
    times = due(db)
    assert times[UNTIL_MS + 1] == UNTIL_MS + 1
    assert all(1_015_000 < times[i] <= 1_065_001 for i in (5, UNTIL_MS))


def test_cut_off_between_two_pages_it_goes_on_with_the_rest(db: sqlite3.Connection) -> None:
    runs = range(1, 2 * SPREAD_RUNS_MAX + 101)
    wait(db, *runs)
    spread_again(db, FLOW, START, SPAN, 3)
    first = {run: at for run, at in due(db).items() if at > UNTIL_MS}
    assert list(first) == list(range(1, SPREAD_RUNS_MAX + 1))
    (left,) = backlogs(db, UNTIL_MS, None)
    assert left.runs == SPREAD_RUNS_MAX + 100
    # The next life comes some seconds later, and takes only what is still overdue.
    assert spread_all(db, {**SPAN, "now": 1_020_000}) == 2
    times = due(db)
    assert {run: times[run] for run in first} == first
    assert len(times) == len(runs)
    assert min(times.values()) > 1_015_000


def test_what_is_still_to_be_judged_keeps_its_time(db: sqlite3.Connection) -> None:
    wait(db, 5, 6, state="planned")
    wait(db, 7)
    db.execute("INSERT INTO downtime (after, until, resume, spread_ms) VALUES (0, 5, 9, 9)")
    (backlog,) = backlogs(db, UNTIL_MS, FLOW)
    assert backlog.runs == 2
    spread_all(db)
    times = due(db)
    assert times[5] == 5
    assert min(times[6], times[7]) > UNTIL_MS


def test_runs_that_must_not_overlap_stay_in_line(db: sqlite3.Connection) -> None:
    wait(db, 5, 6, 7, state="planned", schedule=8)
    spread_all(db)
    assert len(set(due(db).values())) == 1  # Then `scheduled_for` decides.
