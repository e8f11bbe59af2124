"""What people do to a run in SQLite: cancel it, and replay it (SPEC §5).

Each is one transaction: whether the table of moves allows it is asked of the row that is changed.
Nothing has to find the run in memory. A claim looks at the row, and finds it moved.
"""

import sqlite3
from collections.abc import Iterable

import orjson

from engine.core.errors import WrongState
from engine.core.lifecycle import Event, next_state
from engine.core.model import Run, State
from engine.core.replay import refuse_replay
from engine.store import DueRun, history, overlap
from engine.store.rows import run_of
from engine.store.statements import statements

SQL = statements()


def cancel(
    db: sqlite3.Connection, tenant: str, schedule_id: str, scheduled_for_ms: int, now_ms: int
) -> tuple[Run, list[DueRun]]:
    """Cancel a run, at once or when its attempt ends; the run, and what may go in its place.

    Raises `NotFound`, `WrongState`.
    """
    row = history.find_run(db, tenant, schedule_id, scheduled_for_ms)
    state = _moved(row, Event.CANCEL, "cancelled")
    key = {"scheduled_for": scheduled_for_ms, "schedule_id": row["schedule_id"], "now": now_ms}
    if row["state"] == State.ATTEMPTING:
        db.execute(SQL["mark_cancelled_run"], key)
    else:
        db.execute(SQL["cancel_run"], {**key, "state": state})
    line = overlap.next_in_line(db, row["schedule_id"]) if row["exclusive"] else []
    run = run_of(history.find_run(db, tenant, schedule_id, scheduled_for_ms))
    return run, [waiting.key for waiting in line]


def replay(
    db: sqlite3.Connection, tenant: str, schedule_id: str, scheduled_for_ms: int, now_ms: int
) -> tuple[Run, list[DueRun]]:
    """Make a run due now that has ended. Raises `NotFound`, `WrongState`."""
    row = history.find_run(db, tenant, schedule_id, scheduled_for_ms)
    _moved(row, Event.REPLAY, "replayed")
    deleted_at_ms, deadline_seconds = db.execute(
        SQL["get_deadline"], (row["schedule_id"],)
    ).fetchone()
    refuse_replay(
        scheduled_for_ms,
        is_deleted=deleted_at_ms is not None,
        deadline_seconds=deadline_seconds,
        now_ms=now_ms,
    )
    due = make_due(
        db, [(scheduled_for_ms, row["schedule_id"], now_ms)], states=(State(row["state"]),)
    )
    return run_of(history.find_run(db, tenant, schedule_id, scheduled_for_ms)), due


def make_due(
    db: sqlite3.Connection, runs: Iterable[tuple[int, int, int]], *, states: tuple[State, ...]
) -> list[DueRun]:
    """Replay the runs (scheduled_for, schedule row, due) that are in `states`; those that were."""
    (state,) = {next_state(state, Event.REPLAY) for state in states}
    assert state is not None, "a state without a replay"
    values = {
        "runs": orjson.dumps(list(runs)).decode(),
        "states": orjson.dumps(states).decode(),
        "state": state,
    }
    return db.execute(SQL["replay_runs"], values).fetchall()


def _moved(row: sqlite3.Row, event: Event, done: str) -> State:
    before = State(row["state"])
    state = next_state(before, event)
    if state is None:
        raise WrongState(f"run_{before}", f"the run is {before}: from there it cannot be {done}")
    return state
