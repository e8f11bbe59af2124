"""Endings in SQLite: what finished attempts make of their runs and schedules."""

import sqlite3
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import orjson

from engine.core.lifecycle import TERMINAL
from engine.core.model import State
from engine.store import Claim, Ended, HeldRun, Recorded, overlap, schedules
from engine.store.rows import timing_bytes
from engine.store.statements import statements

SQL = statements()


def record(db: sqlite3.Connection, ended: Sequence[Ended]) -> Recorded:
    pieces = [timing_bytes(e.timing) + e.outcome.response for e in ended]
    attempts = [
        _attempt_columns(e, end) for e, end in zip(ended, accumulate(map(len, pieces)), strict=True)
    ]
    db.execute(SQL["insert_attempts"], {"ended": _json(attempts), "pieces": b"".join(pieces)})
    db.execute(SQL["end_attempts"], {"ended": _json([_run_columns(e) for e in ended])})
    cancelled = _count_cancelled(db, ended)
    for e in ended:
        if e.outcome.status == 410:
            _pause_schedule(db, e, "the receiver answered 410 Gone")
        if e.claim.pause_after_failures and e.state in TERMINAL:
            _count_failures(db, e)
        if e.claim.delete_after_completion and e.state in TERMINAL:
            _delete_when_complete(db, e)
    # What was to be tried again may have been cancelled instead: each may have left its line.
    left = {e.claim.schedule_row for e in ended if e.claim.is_exclusive}
    due = [run for row in sorted(left) for run in overlap.next_in_line(db, row)]
    return Recorded(due=due, cancelled=cancelled)


def expire(db: sqlite3.Connection, claims: Sequence[Claim], now_ms: int) -> list[HeldRun]:
    for claim in claims:
        values = {
            "scheduled_for": claim.scheduled_for_ms,
            "schedule_id": claim.schedule_row,
            "number": claim.attempt,
            "first_attempt_at": claim.first_attempt_at_ms,
            "now": now_ms,
        }
        db.execute(SQL["expire_claimed_run"], values)
    left = {claim.schedule_row for claim in claims if claim.is_exclusive}
    return [run for row in sorted(left) for run in overlap.next_in_line(db, row)]


def _attempt_columns(e: Ended, response_end: int) -> tuple[Any, ...]:
    """In the order of `insert_attempts`; what is bytes by its place, since JSON holds none."""
    claim, outcome = e.claim, e.outcome
    length = len(outcome.response)
    return (
        *(claim.scheduled_for_ms, claim.schedule_row, claim.attempt),
        *(e.started_at_ms, e.ended_at_ms, outcome.name, outcome.status, outcome.error),
        *(response_end - length + 1, length, outcome.response_cut),  # SQL counts from 1.
    )


def _run_columns(e: Ended) -> tuple[Any, ...]:
    """In the order of `end_attempts`."""
    claim = e.claim
    return (
        *(claim.scheduled_for_ms, claim.schedule_row, claim.attempt),
        *(e.state, e.reason, e.next_attempt_at_ms),
        claim.first_attempt_at_ms or e.started_at_ms,
        e.ended_at_ms,
        int(e.is_probe),
    )


def _count_cancelled(db: sqlite3.Connection, ended: Sequence[Ended]) -> int:
    """How many that were to be tried again have been cancelled instead."""
    retried = [
        (e.claim.scheduled_for_ms, e.claim.schedule_row)
        for e in ended
        if e.next_attempt_at_ms is not None
    ]
    if not retried:
        return 0
    (count,) = db.execute(SQL["count_cancelled"], {"runs": _json(retried)}).fetchone()
    return int(count)


def _json(rows: Sequence[tuple[Any, ...]]) -> str:
    return orjson.dumps(rows).decode()


def _pause_schedule(db: sqlite3.Connection, e: Ended, reason: str) -> None:
    schedules.pause_if_live(db, e.claim.schedule_id, reason, e.ended_at_ms)


def _count_failures(db: sqlite3.Connection, e: Ended) -> None:
    if e.state != State.FAILED:
        db.execute(SQL["clear_failures"], (e.claim.schedule_row,))
        return
    (failures,) = db.execute(SQL["count_failure"], (e.claim.schedule_row,)).fetchone()
    if failures >= e.claim.pause_after_failures:
        _pause_schedule(db, e, f"{failures} runs in a row failed")


def _delete_when_complete(db: sqlite3.Connection, e: Ended) -> None:
    """A schedule that asked for it goes when its last owed run, and any other, has ended."""
    key = {"id": e.claim.schedule_row, "now": e.ended_at_ms}
    complete = db.execute(SQL["get_completion"], key).fetchone()
    (left,) = db.execute(SQL["count_unfinished_of_schedule"], (e.claim.schedule_row,)).fetchone()
    if complete and complete[0] and not left:
        schedules.delete(db, e.claim.schedule_id, e.ended_at_ms)
