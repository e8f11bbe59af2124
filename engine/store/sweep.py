"""Sweeping in SQLite: rows that nothing refers to any more leave, a window of ids at a time."""

import sqlite3

import orjson

from engine.store.statements import statements

SQL = statements()

WINDOW_IDS = 1_000
"""Row ids looked at in one step; a million schedules are gone through in a night."""


def loose_targets(db: sqlite3.Connection, after: int) -> list[int]:
    """Targets of the window that neither a schedule nor a run has; for a reader, it may scan."""
    window = {"after": after, "until": after + WINDOW_IDS}
    loose = {target for (target,) in db.execute(SQL["list_loose_targets"], window)}
    if not loose:
        return []
    values = {"targets": orjson.dumps(sorted(loose)).decode()}
    used = {target for (target,) in db.execute(SQL["list_targets_of_runs"], values)}
    return sorted(loose - used)


def forget(db: sqlite3.Connection, after: int, before_ms: int, loose: list[int]) -> int:
    """Delete what nothing refers to in the window; where the next begins, 0 at the end."""
    window = {"after": after, "until": after + WINDOW_IDS}
    forgotten = db.execute(
        SQL["list_forgotten_schedules"], {**window, "before": before_ms}
    ).fetchall()
    db.executemany(SQL["forget_ranges"], forgotten)
    db.executemany(SQL["forget_revisions"], forgotten)
    db.executemany(SQL["forget_schedule"], forgotten)
    db.execute(SQL["forget_timetables"], window)
    if loose:
        db.execute(SQL["forget_targets"], {"targets": orjson.dumps(loose).decode()})
    (last,) = db.execute(SQL["last_swept_id"]).fetchone()
    return after + WINDOW_IDS if after + WINDOW_IDS < last else 0
