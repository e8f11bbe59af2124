"""Endings in SQLite: what finished attempts make of their runs and schedules."""

import sqlite3
from collections.abc import Sequence, Set
from itertools import accumulate
from typing import Any

import orjson

from engine.core.lifecycle import TERMINAL
from engine.core.model import State
from engine.store import Claim, Ended, HeldRun, Recorded, notices, overlap, pauses, schedules
from engine.store.rows import timing_bytes
from engine.store.statements import statements

SQL = statements()


def record(db: sqlite3.Connection, ended: Sequence[Ended], told: Set[str]) -> Recorded:
    """`told`: the tenants that may want notices (`store.notices`); below likewise."""
    pieces = [timing_bytes(e.timing) + e.outcome.response for e in ended]
    attempts = [
        _attempt_columns(e, end) for e, end in zip(ended, accumulate(map(len, pieces)), strict=True)
    ]
    db.execute(SQL["insert_attempts"], {"ended": _json(attempts), "pieces": b"".join(pieces)})
    db.execute(SQL["end_attempts"], {"ended": _json([_run_columns(e) for e in ended])})
    cancelled = _count_cancelled(db, ended)
    paused: list[Claim] = []
    for e in ended:
        if e.outcome.status == 410 and _pause_schedule(db, e, "the receiver answered 410 Gone"):
            paused.append(e.claim)
        if e.claim.pause_after_failures and e.state in TERMINAL and _count_failures(db, e):
            paused.append(e.claim)
        if e.claim.delete_after_completion and e.state in TERMINAL:
            _delete_when_complete(db, e)
    # What was to be tried again may have been cancelled instead: each may have left its line.
    due = _next_in_lines(db, [e.claim for e in ended if e.claim.is_exclusive])
    failed = [_run_of(e.claim) for e in ended if e.state == State.FAILED]
    now_ms = ended[-1].ended_at_ms
    due += notices.tell(db, told, failed, map(_run_of, paused), now_ms=now_ms)
    return Recorded(due=due, cancelled=cancelled)


def expire(
    db: sqlite3.Connection, claims: Sequence[Claim], now_ms: int, told: Set[str]
) -> list[HeldRun]:
    for claim in claims:
        values = {
            "scheduled_for": claim.scheduled_for_ms,
            "schedule_id": claim.schedule_row,
            "number": claim.attempt,
            "first_attempt_at": claim.first_attempt_at_ms,
            "now": now_ms,
        }
        db.execute(SQL["expire_claimed_run"], values)
    due = _next_in_lines(db, [claim for claim in claims if claim.is_exclusive])
    return due + notices.tell(db, told, map(_run_of, claims), now_ms=now_ms)


def _next_in_lines(db: sqlite3.Connection, claims: Sequence[Claim]) -> list[HeldRun]:
    left = {claim.schedule_row for claim in claims}
    return [run for row in sorted(left) for run in overlap.next_in_line(db, row)]


def _run_of(claim: Claim) -> notices.RunOf:
    return claim.tenant, claim.scheduled_for_ms, claim.schedule_row


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


def _pause_schedule(db: sqlite3.Connection, e: Ended, reason: str) -> bool:
    return pauses.pause_if_live(db, e.claim.schedule_id, reason, e.ended_at_ms)


def _count_failures(db: sqlite3.Connection, e: Ended) -> bool:
    """Whether that were too many in a row, and the schedule is paused now."""
    if e.state != State.FAILED:
        db.execute(SQL["clear_failures"], (e.claim.schedule_row,))
        return False
    (failures,) = db.execute(SQL["count_failure"], (e.claim.schedule_row,)).fetchone()
    if failures < e.claim.pause_after_failures:
        return False
    return _pause_schedule(db, e, f"{failures} runs in a row failed")


def _delete_when_complete(db: sqlite3.Connection, e: Ended) -> None:
    """A schedule that asked for it goes when its last owed run, and any other, has ended."""
    key = {"id": e.claim.schedule_row, "now": e.ended_at_ms}
    complete = db.execute(SQL["get_completion"], key).fetchone()
    (left,) = db.execute(SQL["count_unfinished_of_schedule"], (e.claim.schedule_row,)).fetchone()
    if complete and complete[0] and not left:
        schedules.delete(db, e.claim.schedule_id, e.ended_at_ms)
