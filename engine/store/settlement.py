"""Settlement in SQLite: an edit and the runs that are already in sight (`core.settle` decides)."""

import sqlite3

from engine.core.missed import missed_until_ms
from engine.core.model import Occurrence, Schedule
from engine.core.owed import Owing, owing
from engine.core.settle import settle
from engine.store import DueRun
from engine.store.statements import statements

SQL = statements()


def release_held_runs(db: sqlite3.Connection, row_id: int, now_ms: int) -> list[DueRun]:
    """The retries that waited for the end of a pause are due."""
    values = {"schedule_id": row_id, "now": now_ms}
    released: list[DueRun] = db.execute(SQL["release_held_runs"], values).fetchall()
    return released


def settle_runs(
    db: sqlite3.Connection,
    previous: Schedule | None,
    schedule: Schedule | None,
    *,
    row_id: int,
    target_id: int,
    flow_id: int,
    now_ms: int,
) -> tuple[list[DueRun], int]:
    """Bring the runs in sight in line with the edit: those with a new due time, how many went."""
    planned = _planned(db, row_id) if previous else []
    (_, watermark_ms, horizon_ms, _) = db.execute(SQL["get_progress"]).fetchone()
    settlement = settle(
        _active(previous),
        _active(schedule),
        planned,
        now_ms=now_ms,
        settled_ms=max(watermark_ms, missed_until_ms(now_ms)),
        horizon_ms=horizon_ms,
    )
    ids = {"schedule_id": row_id, "target_id": target_id, "flow_id": flow_id}
    for moved in settlement.move:
        db.execute(SQL["move_planned_run"], {"schedule_id": row_id, **_times(moved)})
    cancelled = 0
    for instant in settlement.cancel:
        key = {"schedule_id": row_id, "scheduled_for": instant, "now": now_ms}
        cancelled += db.execute(SQL["cancel_planned_run"], key).rowcount
    unjudged_ms = _unjudged_ms(db) if settlement.insert else 0
    for new in settlement.insert:
        if new.fire_after_ms <= unjudged_ms:
            continue  # Missed: the catch-up policy speaks.
        run = {**ids, "trigger": "schedule", **_times(new), "now": now_ms}
        db.execute(SQL["plan_run"], {**run, "next_attempt_at": new.fire_after_ms})
    if previous:
        db.execute(SQL["retarget_planned_runs"], ids)
    changed = (*settlement.insert, *settlement.move)
    return [(o.fire_after_ms, o.scheduled_for_ms, row_id) for o in changed], cancelled


def _planned(db: sqlite3.Connection, row_id: int) -> list[Occurrence]:
    rows = db.execute(SQL["list_planned_of_schedule"], {"schedule_id": row_id}).fetchall()
    return [Occurrence(scheduled_for_ms=at, fire_after_ms=fire) for at, fire in rows]


def _unjudged_ms(db: sqlite3.Connection) -> int:
    (until_ms,) = db.execute(SQL["get_unjudged"]).fetchone()
    return int(until_ms)


def _active(schedule: Schedule | None) -> Owing | None:
    return None if schedule is None or schedule.pause is not None else owing(schedule)


def _times(occurrence: Occurrence) -> dict[str, int]:
    return {
        "scheduled_for": occurrence.scheduled_for_ms,
        "fire_after": occurrence.fire_after_ms,
    }
