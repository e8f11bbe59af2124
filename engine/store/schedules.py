"""Schedules in SQLite: storing an edit and settling its runs, in one transaction.

Each function here is a change or a query (see `writer.py`): it runs on the database's thread with
the connection, and nothing else.
"""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import replace

from engine.core.credentials import keep_credentials
from engine.core.errors import NO_SCHEDULE, Conflict, Fault, Invalid, NotFound, OffbeatError
from engine.core.flow import default_key
from engine.core.missed import MISSED_AFTER_MS
from engine.core.model import (
    AtTrigger,
    Definition,
    Draft,
    Pause,
    Run,
    Schedule,
    Trigger,
)
from engine.core.owed import last_owed_ms
from engine.core.revision import NOTHING, Condition, check_revision
from engine.store import (
    DueRun,
    KnownTimetable,
    Stored,
    overlap,
    revisions,
    selection,
    settlement,
)
from engine.store.access import count_deleted_schedule, count_new_schedule
from engine.store.rows import (
    named_rows,
    run_of,
    schedule_of,
    schedule_values,
    target_values,
    timetable_spec,
)
from engine.store.statements import statements

SQL = statements()

MANUAL_MILLISECONDS_MAX = 10_000
"""How far ahead a manual run looks for a free millisecond: ten seconds of triggers at 1,000/s."""


def put_drafts(
    db: sqlite3.Connection, drafts: Iterable[Draft], now_ms: int
) -> list[Stored | OffbeatError]:
    """Store each draft, or say why not; a draft that is refused leaves no trace."""
    results: list[Stored | OffbeatError] = []
    for draft in drafts:
        try:
            results.append(put_draft(db, draft, now_ms))
        except OffbeatError as error:
            results.append(error)
    return results


def put_draft(
    db: sqlite3.Connection, draft: Draft, now_ms: int, if_match: Condition = None
) -> Stored:
    """Insert or replace one schedule. Raises `Invalid`, `PreconditionFailed`, before any write."""
    row = find_row(db, draft.definition.schedule_id)
    live = row is not None and row["deleted_at"] is None
    previous = schedule_of(row) if row is not None and live else None  # Unreadable: replaced.
    current = None if previous is None else previous.revision
    check_revision(if_match, current if live else NOTHING)
    draft = keep_credentials(draft, previous)
    return _store(db, draft, previous, row=row, now_ms=now_ms)


def update(
    db: sqlite3.Connection,
    public_id: str,
    change: Callable[[Schedule], Draft],
    now_ms: int,
    if_match: Condition = None,
) -> Stored:
    """Read, change and store one schedule in one transaction. Raises `NotFound` too."""
    return put_draft(db, change(get(db, public_id)), now_ms, if_match)


def get(db: sqlite3.Connection, public_id: str) -> Schedule:
    """The schedule; raises `NotFound` when there is none or it was deleted."""
    row = find_row(db, public_id)
    if row is None or row["deleted_at"] is not None:
        raise NotFound(NO_SCHEDULE)
    schedule = schedule_of(row)
    if schedule is None:
        raise Conflict(
            "another version of offbeat wrote this schedule; put it again, or run that version"
        )
    return schedule


def delete(db: sqlite3.Connection, public_id: str, now_ms: int, if_match: Condition = None) -> int:
    """Delete a schedule and cancel its waiting runs; how many.

    Raises `NotFound`, `PreconditionFailed`.
    """
    schedule = get(db, public_id)
    check_revision(if_match, schedule.revision)
    row = find_row(db, public_id)
    assert row is not None, "get() found it"
    row_id = row["id"]
    revisions.settle_past(db, row_id, schedule, now_ms)
    settlement.settle_runs(
        db,
        schedule,
        None,
        row_id=row_id,
        target_id=row["target_id"],
        flow_id=row["flow_id"],
        now_ms=now_ms,
    )
    selection.index_labels(db, schedule.definition, old=row["labels"], new={})
    db.execute(SQL["delete_schedule"], {"id": row_id, "now": now_ms})
    count_deleted_schedule(db, row["tenant"], row["name"])
    cancelled = db.execute(SQL["cancel_runs_of_schedule"], {"schedule_id": row_id, "now": now_ms})
    return cancelled.rowcount


def delete_complete(db: sqlite3.Connection, now_ms: int, limit: int) -> int:
    """Delete schedules whose last occurrence is over and that asked for it; how many."""
    rows = db.execute(SQL["list_complete"], {"now": now_ms, "limit": limit}).fetchall()
    for (public_id,) in rows:
        delete(db, public_id, now_ms)
    return len(rows)


def trigger(
    db: sqlite3.Connection, public_id: str, now_ms: int, if_match: Condition
) -> tuple[Run, DueRun]:
    """Plan a manual run at the next free millisecond that is nobody's. Raises `NotFound`."""
    schedule = get(db, public_id)
    check_revision(if_match, schedule.revision)
    row = find_row(db, public_id)
    assert row is not None, "get() found it"
    for instant in range(now_ms, now_ms + MANUAL_MILLISECONDS_MAX):
        if _is_a_triggers(schedule.definition.trigger, instant):
            continue
        key = {"scheduled_for": instant, "schedule_id": row["id"], "now": now_ms}
        if db.execute(SQL["plan_manual_run"], key).rowcount == 1:
            planned = named_rows(
                db,
                SQL["get_run"],
                {"tenant": row["tenant"], "public_id": public_id, "scheduled_for": instant},
            )
            return run_of(planned[0]), (instant, instant, row["id"])
    raise Conflict("too many manual runs wait already: let them be delivered first")


def find_row(db: sqlite3.Connection, public_id: str) -> sqlite3.Row | None:
    """The row of a schedule, deleted or not."""
    if db.execute(SQL["has_schedule"], (public_id,)).fetchone() is None:
        return None
    (row,) = named_rows(db, SQL["get_schedule"], (public_id,))
    return row


def _is_a_triggers(trigger: Trigger, instant_ms: int) -> bool:
    """Whether a schedule may owe this instant: every whole second, or the one that `at` names."""
    return instant_ms % 1_000 == 0 or trigger == AtTrigger(at_ms=instant_ms)


def _store(
    db: sqlite3.Connection,
    draft: Draft,
    previous: Schedule | None,
    *,
    row: sqlite3.Row | None,
    now_ms: int,
) -> Stored:
    definition = draft.definition
    retriggered = previous is None or previous.definition.trigger != definition.trigger
    if retriggered:
        _refuse_past_instant(definition.trigger, now_ms)
    counted_after_ms = _counted_after_ms(previous, retriggered, now_ms)
    pause = _pause(draft, previous, now_ms)
    resumed = previous is not None and previous.pause is not None and pause is None
    last_owed_ms = _last_owed_ms(definition, previous, retriggered, counted_after_ms)
    other_rules = retriggered or resumed or _has_other_rules(previous, definition, last_owed_ms)
    schedule = Schedule(
        definition=definition,
        pause=pause,
        counted_after_ms=counted_after_ms,
        owed_after_ms=_owed_after_ms(
            previous,
            _born_ms(definition.trigger, pause, now_ms),
            retriggered=retriggered,
            resumed=resumed,
            other_rules=other_rules,
            now_ms=now_ms,
        ),
        last_owed_ms=last_owed_ms,
        revision=row["revision"] + 1 if row is not None else 1,
        created_at_ms=previous.created_at_ms if previous else now_ms,
        updated_at_ms=now_ms,
    )
    if previous is not None and _same(previous, schedule):
        return Stored(schedule=previous, created=False)
    if row is None or row["deleted_at"] is not None:
        count_new_schedule(db, definition.tenant, definition.name, now_ms)
    if row is not None:
        _settle_past(db, row, previous, schedule, other_rules)
    timetable_id, target_id, flow_id = _intern(db, schedule)
    values = schedule_values(
        schedule, timetable_id=timetable_id, target_id=target_id, flow_id=flow_id
    )
    (row_id,) = db.execute(SQL["put_schedule"], values).fetchone()
    labels = row["labels"] if row is not None and row["deleted_at"] is None else None
    if definition.labels or labels is not None:
        selection.index_labels(db, definition, old=labels, new=definition.labels)
    released = settlement.release_held_runs(db, row_id, now_ms) if resumed else []
    settled, cancelled = settlement.settle_runs(
        db,
        previous,
        schedule,
        row_id=row_id,
        target_id=target_id,
        flow_id=flow_id,
        now_ms=now_ms,
    )
    before = previous.definition.overlap if previous else "allow"
    line = overlap.follow_edit(db, row_id, before, definition.overlap)
    return Stored(
        schedule=schedule,
        created=previous is None,
        timetable=_known(timetable_id, definition),
        due=(*released, *settled, *line),
        cancelled=cancelled,
    )


def _known(timetable_id: int | None, definition: Definition) -> KnownTimetable | None:
    if timetable_id is None:
        return None
    return KnownTimetable(
        timetable_id=timetable_id, trigger=definition.trigger, reach_ms=definition.offset_ms
    )


def _refuse_past_instant(trigger: Trigger, now_ms: int) -> None:
    if isinstance(trigger, AtTrigger) and trigger.at_ms < now_ms - MISSED_AFTER_MS:
        raise Invalid(Fault("/at", "is more than ten seconds past: write an instant to come"))


def _pause(draft: Draft, previous: Schedule | None, now_ms: int) -> Pause | None:
    before = previous.pause if previous else None
    if draft.paused is False or (draft.paused is None and before is None):
        return None
    if draft.paused and _is_over(draft.pause, before, now_ms):
        return None
    # A clock set back to before the pause must not leave time in which the schedule was active.
    since_ms = min(before.since_ms, now_ms) if before else now_ms
    return replace(before if draft.paused is None and before else draft.pause, since_ms=since_ms)


def _is_over(pause: Pause, before: Pause | None, now_ms: int) -> bool:
    """Whether a pause ended before it is written, as in a file that is applied once more.

    One that is there already is left to `pauses.resume_ended`, which resumes at its own instant.
    """
    if pause.until_ms is None or pause.until_ms > now_ms:
        return False
    return before is None or before.until_ms != pause.until_ms


def _has_other_rules(
    previous: Schedule | None, definition: Definition, last_owed_ms: int | None
) -> bool:
    """Whether other occurrences are owed, or at other times, while the trigger is the same."""
    if previous is None:
        return True
    old = previous.definition
    rules = (definition.offset_ms, definition.start_at_ms, last_owed_ms)
    return rules != (old.offset_ms, old.start_at_ms, previous.last_owed_ms)


def _counted_after_ms(previous: Schedule | None, retriggered: bool, now_ms: int) -> int:
    """From where `max_runs` counts. What went by before `start_at` was owed by nobody."""
    if previous is None or retriggered:
        return now_ms
    start_ms = previous.definition.start_at_ms
    has_begun = start_ms is None or start_ms <= now_ms
    return previous.counted_after_ms if has_begun else max(now_ms, previous.counted_after_ms)


def _owed_after_ms(
    previous: Schedule | None,
    born_ms: int,
    *,
    retriggered: bool,
    resumed: bool,
    other_rules: bool,
    now_ms: int,
) -> int:
    """Where the rules begin to hold. What came before is owed by those of its time."""
    if previous is None or retriggered:
        return born_ms
    if resumed or other_rules:
        # Not before they held already: a clock that was set back brings no earlier occurrences.
        return max(now_ms, previous.owed_after_ms)
    return previous.owed_after_ms


def _born_ms(trigger: Trigger, pause: Pause | None, now_ms: int) -> int:
    """A trigger owes what comes after it was written; an instant just past is accepted, too."""
    if isinstance(trigger, AtTrigger) and pause is None:
        return min(now_ms, trigger.at_ms - 1)
    return now_ms


def _settle_past(
    db: sqlite3.Connection,
    row: sqlite3.Row,
    previous: Schedule | None,
    schedule: Schedule,
    other_rules: bool,
) -> None:
    """Before the row is written: what its rules owed up to now, and the rules themselves."""
    now_ms = schedule.updated_at_ms
    if row["deleted_at"] is not None:
        revisions.keep(db, row["id"], row["deleted_at"])
    elif previous is None:
        revisions.keep(db, row["id"], now_ms)  # Unreadable: its past is another version's.
    elif other_rules:
        revisions.supersede(db, row["id"], previous, now_ms)
    elif schedule.pause is not None and previous.pause is None:
        revisions.settle_past(db, row["id"], previous, now_ms)
    if previous is None or other_rules:
        revisions.clear_ranges(db, row["id"], schedule.owed_after_ms)


def _last_owed_ms(
    definition: Definition, previous: Schedule | None, retriggered: bool, counted_after_ms: int
) -> int | None:
    if previous is not None and not retriggered:
        old = previous.definition
        before = (old.start_at_ms, old.end_at_ms, old.max_runs)
        if before == (definition.start_at_ms, definition.end_at_ms, definition.max_runs):
            return previous.last_owed_ms  # Spares counting to the last of a million runs again.
    return last_owed_ms(definition, counted_after_ms)


def _same(previous: Schedule, schedule: Schedule) -> bool:
    """A write that changes nothing makes no revision: re-importing a file is free of effects."""
    return previous.definition == schedule.definition and previous.pause == schedule.pause


def _intern(db: sqlite3.Connection, schedule: Schedule) -> tuple[int | None, int, int]:
    """The row ids of what schedules share: timetable (None for `at`), target, flow."""
    definition = schedule.definition
    spec = timetable_spec(definition.trigger)
    target = target_values(definition.target)
    key = definition.flow_key or default_key(definition.target.url)
    flow = {"tenant": definition.tenant, "key": key}
    shared = {"spec": spec, "digest": target[0], **flow}
    timetable_id, target_id, flow_id = db.execute(SQL["get_shared_ids"], shared).fetchone()
    if spec is not None and timetable_id is None:
        (timetable_id,) = db.execute(SQL["insert_timetable"], (spec,)).fetchone()
    if target_id is None:
        (target_id,) = db.execute(SQL["insert_target"], target).fetchone()
    if flow_id is None:
        (flow_id,) = db.execute(SQL["intern_flow"], flow).fetchone()
    return timetable_id, target_id, flow_id
