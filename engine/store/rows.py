"""Rows ↔ values: how the model's schedules, targets, runs and attempts lie in their columns."""

import hashlib
import sqlite3
import struct
from typing import Any

import orjson
import structlog

from engine.core.errors import Invalid
from engine.core.model import (
    Attempt,
    AtTrigger,
    CronTrigger,
    Definition,
    IntervalTrigger,
    Outcome,
    Pause,
    RetryPolicy,
    Run,
    RunTrigger,
    Schedule,
    State,
    Target,
    Timing,
    Trigger,
)
from engine.core.timetable import Timetable, compile_trigger

_DEFAULT_RETRY = RetryPolicy()
_TIMING = struct.Struct("<7I")
_TIMING_MS_MAX = 2**32 - 1

log = structlog.get_logger("offbeat.store")


def named_rows(db: sqlite3.Connection, statement: str, values: Any) -> list[sqlite3.Row]:
    """A query's rows with columns by name: for the edges, where clarity is worth 2 µs a row."""
    return each_named(db, statement, values).fetchall()


def each_named(db: sqlite3.Connection, statement: str, values: Any) -> sqlite3.Cursor:
    """As `named_rows`, one at a time."""
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(statement, values)


def timetable_spec(trigger: Trigger) -> str | None:
    """The text by which equal triggers share a timetable; None for `at`, which has none."""
    match trigger:
        case CronTrigger():
            zone = (trigger.timezone, trigger.dst_gap, trigger.dst_fold)
            return orjson.dumps(["cron", trigger.resolved, *zone]).decode()
        case IntervalTrigger():
            return orjson.dumps(["interval", trigger.every_seconds, trigger.phase_seconds]).decode()
        case AtTrigger():
            return None


def trigger_of(spec: str | None, at_ms: int | None, written: str | None = None) -> Trigger:
    """The trigger of a timetable's text, or of a one-shot's instant."""
    if spec is None:
        assert at_ms is not None, "a schedule has a timetable or an instant"
        return AtTrigger(at_ms=at_ms)
    match orjson.loads(spec):
        case ["cron", resolved, timezone, gap, fold]:
            return CronTrigger(
                cron=written or resolved,
                resolved=resolved,
                timezone=timezone,
                dst_gap=gap,
                dst_fold=fold,
            )
        case ["interval", every, phase]:
            return IntervalTrigger(every_seconds=every, phase_seconds=phase)
        case other:
            raise ValueError(f"a timetable of an unknown kind: {other!r}")


def target_values(target: Target) -> tuple[Any, ...]:
    """The target's row for `insert_target`, its digest first: equal content is equal identity."""
    headers = orjson.dumps(target.headers).decode()
    sealed = orjson.dumps(target.sealed).decode() if target.sealed else None
    rest = (target.body_kind, target.timeout_seconds)
    # Two texts of JSON in one field: no headers alone read like them.
    fields = (target.url, target.method, headers + (sealed or ""), *rest)
    content = "{}\0{}\0{}\0{}\0{}\0".format(*fields).encode()
    digest = hashlib.sha256(content + target.body).digest()
    return (digest, target.url, target.method, headers, target.body, *rest, sealed)


def target_of(row: sqlite3.Row) -> Target:
    """The target in the columns of a row that joins it."""
    return Target(
        url=row["url"],
        method=row["method"],
        headers=_pairs(row["headers"]),
        body=row["body"],
        body_kind=row["body_kind"],
        timeout_seconds=row["timeout_seconds"],
        sealed=_pairs(row["sealed"]) if row["sealed"] else (),
    )


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in orjson.loads(text))


def retry_text(retry: RetryPolicy) -> str | None:
    """The policy as JSON; None for the default, which most schedules have."""
    if retry == _DEFAULT_RETRY:
        return None
    return orjson.dumps({name: getattr(retry, name) for name in RetryPolicy.__slots__}).decode()


def retry_of(text: str | None) -> RetryPolicy:
    """The policy that `retry_text` wrote."""
    return _DEFAULT_RETRY if text is None else RetryPolicy(**orjson.loads(text))


def schedule_values(
    schedule: Schedule,
    *,
    timetable_id: int | None,
    target_id: int,
    flow_id: int,
) -> tuple[Any, ...]:
    """A schedule's row in the order of the statement `put_schedule`.

    By position: to look up so many values by name takes 4 us longer, in every line of a batch.
    """
    definition, pause = schedule.definition, schedule.pause
    trigger = definition.trigger
    return (
        definition.schedule_id,
        definition.tenant,
        definition.name,
        orjson.dumps(dict(definition.labels)).decode() if definition.labels else None,
        timetable_id,
        trigger.at_ms if isinstance(trigger, AtTrigger) else None,
        _written(trigger),
        definition.start_at_ms,
        definition.end_at_ms,
        definition.max_runs,
        schedule.counted_after_ms,
        schedule.owed_after_ms,
        schedule.last_owed_ms,
        definition.jitter_seconds,
        definition.jitter_source,
        definition.offset_ms,
        definition.deadline_seconds,
        definition.overlap,
        definition.catch_up,
        definition.catch_up_window_seconds,
        target_id,
        retry_text(definition.retry),
        flow_id,
        definition.flow_key,
        definition.priority,
        int(definition.delete_after_completion),
        definition.pause_after_failures,
        pause.since_ms if pause else None,
        pause.reason if pause else None,
        pause.until_ms if pause else None,
        schedule.revision,
        schedule.created_at_ms,
        schedule.updated_at_ms,
    )


def _written(trigger: Trigger) -> str | None:
    """The cron text as written, where it says more than the timetable does (`H`, `@daily`)."""
    if isinstance(trigger, CronTrigger) and trigger.cron != trigger.resolved:
        return trigger.cron
    return None


def timetable_of(spec: str) -> Timetable | None:
    """The timetable that a text describes; None when this version cannot read it."""
    try:
        return compile_trigger(trigger_of(spec, None))
    except (ValueError, Invalid):
        return None


def schedule_of(row: sqlite3.Row) -> Schedule | None:
    """The schedule in a row of `get_schedule` or `list_schedules`.

    None, with a line in the log, when another version wrote what this one cannot read.
    """
    readable = row["spec"] is None or timetable_of(row["spec"]) is not None
    try:
        definition = _definition_of(row) if readable else None
    except (ValueError, TypeError, KeyError):
        definition = None
    if definition is None:
        log.warning("schedule_skipped", schedule=row["public_id"])
        return None
    return Schedule(
        definition=definition,
        pause=_pause_of(row),
        counted_after_ms=row["counted_after"],
        owed_after_ms=row["owed_after"],
        last_owed_ms=row["last_owed"],
        revision=row["revision"],
        created_at_ms=row["created_at"],
        updated_at_ms=row["updated_at"],
    )


def _definition_of(row: sqlite3.Row) -> Definition:
    return Definition(
        tenant=row["tenant"],
        name=row["name"],
        schedule_id=row["public_id"],
        trigger=trigger_of(row["spec"], row["at"], row["written"]),
        target=target_of(row),
        labels=orjson.loads(row["labels"]) if row["labels"] else {},
        start_at_ms=row["start_at"],
        end_at_ms=row["end_at"],
        max_runs=row["max_runs"],
        jitter_seconds=row["jitter_seconds"],
        jitter_source=row["jitter_source"],
        offset_ms=row["offset_ms"],
        deadline_seconds=row["deadline_seconds"],
        overlap=row["overlap"],
        catch_up=row["catch_up"],
        catch_up_window_seconds=row["catch_up_window_seconds"],
        retry=retry_of(row["retry"]),
        flow_key=row["flow_key"],
        priority=row["priority"],
        delete_after_completion=bool(row["delete_after_completion"]),
        pause_after_failures=row["pause_after_failures"],
    )


def _pause_of(row: sqlite3.Row) -> Pause | None:
    if row["paused_at"] is None:
        return None
    return Pause(
        since_ms=row["paused_at"], reason=row["pause_reason"], until_ms=row["paused_until"]
    )


def run_of(row: sqlite3.Row) -> Run:
    """The run in a row that joins its schedule's `public_id` and `name`."""
    return Run(
        schedule_id=row["public_id"],
        schedule_name=row["name"],
        scheduled_for_ms=row["scheduled_for"],
        fire_after_ms=row["fire_after"],
        next_attempt_at_ms=row["next_attempt_at"],
        state=State(row["state"]),
        reason=row["reason"],
        trigger=RunTrigger(row["trigger"]),
        attempt_count=row["attempt"],
        first_attempt_at_ms=row["began_at"] or row["first_attempt_at"],
        ended_at_ms=row["ended_at"],
        planned_at_ms=row["planned_at"],
    )


def timing_bytes(timing: Timing) -> bytes:
    """An attempt's times as its row keeps them; a wait of over 49 days is kept as 49 days."""
    try:
        return _TIMING.pack(*timing)
    except struct.error:
        return _TIMING.pack(*(min(max(ms, 0), _TIMING_MS_MAX) for ms in timing))


def timing_of(column: bytes | None) -> Timing | None:
    """What `timing_bytes` wrote; None where nothing was recorded."""
    return None if column is None else Timing._make(_TIMING.unpack(column))


def attempt_of(row: sqlite3.Row) -> Attempt:
    """The finished attempt in a row of `list_attempts`."""
    return Attempt(
        number=row["number"],
        started_at_ms=row["started_at"],
        ended_at_ms=row["ended_at"],
        outcome=Outcome(
            name=row["outcome"],
            status=row["status"],
            error=row["error"],
            response=row["response"] or b"",
            response_cut=bool(row["response_cut"]),
        ),
        timing=timing_of(row["timing"]),
    )


def attempt_under_way(row: sqlite3.Row) -> Attempt:
    """The attempt that is journaled in the row of its run until it ends."""
    return Attempt(
        number=row["attempt"],
        started_at_ms=row["attempt_started_at"],
        ended_at_ms=None,
        outcome=None,
    )
