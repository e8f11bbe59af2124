"""Revisions in SQLite: what a schedule owed is settled and kept before its rules change.

An occurrence belongs to the rules in force at its `scheduled_for`. So before an edit, a pause, a
resumption or a deletion is stored, everything owed so far is given its run or its count: what
downtime has left unjudged is judged by the old rules, a pause that ends is counted, and the rules
go into a row from which the audit recomputes what they owed.

`schedule.owed_after` is where the rules in force begin. Whatever changes them moves it.
"""

import sqlite3

from engine.core.model import Schedule
from engine.core.owed import owing
from engine.store import downtime
from engine.store.statements import statements

SQL = statements()


def supersede(db: sqlite3.Connection, row_id: int, old: Schedule, now_ms: int) -> None:
    """End the rules of `old`: settle what they owed up to now, and keep them."""
    settle_past(db, row_id, old, now_ms)
    keep(db, row_id, now_ms)


def settle_past(db: sqlite3.Connection, row_id: int, old: Schedule, now_ms: int) -> None:
    """Give every occurrence that `old` has missed or paused so far its run or its count."""
    if old.pause is None:
        downtime.judge_at_once(db, row_id, now_ms)
    else:
        _count_pause(db, row_id, old, now_ms)


def keep(db: sqlite3.Connection, row_id: int, until_ms: int) -> None:
    """Remember the rules in the schedule's row as those that held until `until_ms`."""
    db.execute(SQL["keep_revision"], {"id": row_id, "until": until_ms})


def clear_ranges(db: sqlite3.Connection, row_id: int, after_ms: int) -> None:
    """Forget counts of what comes later than the beginning of new rules.

    There are any only when the clock was set back. What the old rules owed there nobody owes now,
    and what the new ones owe is planned.
    """
    span = {"schedule_id": row_id, "after": after_ms}
    db.execute(SQL["forget_ranges_after"], span)
    db.execute(SQL["cut_range"], span)


def _count_pause(db: sqlite3.Connection, row_id: int, old: Schedule, now_ms: int) -> None:
    """What was owed in the pause becomes skipped rows (planned before) and one counted range."""
    assert old.pause is not None, "a pause that is counted has begun"
    span = {"schedule_id": row_id, "paused_at": old.pause.since_ms, "now": now_ms}
    db.execute(SQL["skip_paused_runs"], span)
    rules, after_ms = owing(old), max(old.pause.since_ms, old.owed_after_ms)
    bounds = {"schedule_id": row_id, "after": after_ms, "until": now_ms}
    rows = db.execute(SQL["list_runs_beside_count"], bounds).fetchall()
    count = rules.count(after_ms, now_ms) - sum(rules.owes(instant) for (instant,) in rows)
    if count > 0:
        db.execute(
            SQL["count_range"], {**bounds, "reason": "paused", "count": count, "now": now_ms}
        )
