"""Pauses in SQLite: how they begin, how they end, and how they end by themselves."""

import sqlite3

from engine.core.errors import Fault, Invalid
from engine.core.model import Draft, Pause, Schedule
from engine.core.revision import Condition
from engine.store import Stored, downtime, schedules
from engine.store.statements import statements

SQL = statements()


def pause(
    db: sqlite3.Connection, public_id: str, pause: Pause, now_ms: int, if_match: Condition = None
) -> Stored:
    """Pause a schedule, or renew the reason and the end of its pause. Raises `Invalid`."""
    if pause.until_ms is not None and pause.until_ms <= now_ms:
        raise Invalid(Fault("/until", "is past: write an instant to come, or leave it out"))

    def paused(schedule: Schedule) -> Draft:
        return Draft(definition=schedule.definition, paused=True, pause=pause)

    return schedules.update(db, public_id, paused, now_ms, if_match)


def pause_if_live(db: sqlite3.Connection, public_id: str, reason: str, now_ms: int) -> bool:
    """Pause a schedule on the engine's own account, unless it is gone or paused already."""
    row = schedules.find_row(db, public_id)
    is_live = row is not None and row["deleted_at"] is None and row["paused_at"] is None
    if is_live:
        pause(db, public_id, Pause(reason=reason), now_ms)
    return is_live


def resume(
    db: sqlite3.Connection, public_id: str, now_ms: int, if_match: Condition = None
) -> Stored:
    """End a pause; nothing that fell into it is run."""

    def resumed(schedule: Schedule) -> Draft:
        return Draft(definition=schedule.definition, paused=False)

    return schedules.update(db, public_id, resumed, now_ms, if_match)


def resume_ended(db: sqlite3.Connection, now_ms: int, limit: int) -> list[Stored]:
    """Resume schedules whose `paused_until` has come, at most `limit` of them.

    Each resumes at that instant, however late it is noticed: what was owed since then is planned,
    or judged with the downtime that hid it.
    """
    stored = []
    rows = db.execute(SQL["list_pauses_that_end"], {"now": now_ms, "limit": limit}).fetchall()
    for public_id, row_id, until_ms in rows:
        stored.append(resume(db, public_id, until_ms))
        downtime.judge_at_once(db, row_id, now_ms)
    return stored
