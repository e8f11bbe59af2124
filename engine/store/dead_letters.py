"""Dead letters in SQLite: finding failed runs by what they have in common, replaying, deleting.

They are looked for in pages of history, whatever these hold, so that no query takes long; and
changed in parts, each found by its key and only if it has still failed.
"""

import sqlite3
from collections.abc import Sequence
from typing import TypeVar

import orjson

from engine.core.errors import NO_SCHEDULE, NotFound
from engine.core.failures import Cause, Failed, Failures, add_failed
from engine.core.flow import default_key
from engine.core.model import RunTrigger, State
from engine.core.once import Record
from engine.core.replay import DeadLetter, Selection
from engine.store import DueRun, RunKey, answers, interventions
from engine.store.statements import statements
from engine.store.turns import Reads
from engine.store.writer import Writer

SQL = statements()

T = TypeVar("T")

HISTORY_PAGE_RUNS = 1_000
"""Runs looked at in one query, failed ones or a schedule's: 5 ms of the reader's thread when all of
them are meant."""

FAILED_PAGE_RUNS = 1_000
"""Failed runs counted in one query: 7 ms of the reader's thread at the median."""

_END = 2**62


class SqliteDeadLetters:
    """`services.dead_letters.DeadLetterStore`."""

    def __init__(self, writer: Writer, reader: Reads) -> None:
        self._writer = writer
        self._reader = reader

    async def find(self, which: Selection, after: RunKey) -> tuple[list[DeadLetter], RunKey | None]:
        return await self._reader.read(lambda db: _find(db, which, after))

    async def count(
        self, tenant: str, before: RunKey, groups: dict[Cause, Failures]
    ) -> tuple[int, RunKey | None]:
        return await self._reader.read(lambda db: _count_failures(db, tenant, before, groups))

    async def replay(self, runs: Sequence[tuple[int, int, int]]) -> list[DueRun]:
        return await self._writer.submit(
            lambda db: interventions.make_due(db, runs, states=(State.FAILED,))
        )

    async def delete(self, letters: Sequence[DeadLetter], now_ms: int) -> list[DeadLetter]:
        return await self._writer.submit(lambda db: _delete(db, letters, now_ms))

    async def keep(self, record: Record[T], settled: T) -> None:
        await self._writer.submit(lambda db: answers.keep(db, record, settled))


def _find(
    db: sqlite3.Connection, which: Selection, after: RunKey
) -> tuple[list[DeadLetter], RunKey | None]:
    """The ones of a page of history behind `after`, and where it ends; None at the end."""
    of_schedule = "" if which.schedule_id is None else "_of_schedule"
    pages = "_of_failed" if which.schedule_id is None else "_of_schedule"
    to_ms = _END if which.to_ms is None else which.to_ms
    from_ms = -_END if which.from_ms is None else which.from_ms
    after_ms, after_row = max(after, (from_ms - 1, _END))
    page = {
        "tenant": which.tenant,
        "schedule_id": _row_of(db, which),
        "after": after_ms,
        "after_id": after_row,
        "to": to_ms,
        "limit": HISTORY_PAGE_RUNS,
    }
    end = db.execute(SQL[f"history_page_end{pages}"], page).fetchone()
    until_ms, until_row = end or (to_ms - 1, _END)
    meant = {
        "until": until_ms,
        "until_id": until_row,
        "reason": which.reason,
        "outcome": which.outcome,
        "status": which.status,
        "labels": orjson.dumps(dict(which.labels)).decode(),
    }
    rows = db.execute(SQL[f"list_failed{of_schedule}"], page | meant)
    return [
        DeadLetter._make((*row[:4], bool(row[4])))
        for row in rows
        if which.host in (None, default_key(row[5]))
    ], end


def _count_failures(
    db: sqlite3.Connection, tenant: str, before: RunKey, groups: dict[Cause, Failures]
) -> tuple[int, RunKey | None]:
    """Count a page of failed runs before `before`; how many they are, and where it ends."""
    page = {
        "tenant": tenant,
        "before": before[0],
        "before_id": before[1],
        "limit": FAILED_PAGE_RUNS,
    }
    end = db.execute(SQL["failed_page_end"], page).fetchone()
    from_ms, from_row = end or (-_END, 0)
    which = page | {"from": from_ms, "from_id": from_row}
    found = list(map(Failed._make, db.execute(SQL["count_failures"], which)))
    add_failed(groups, found)
    return sum(failed.runs for failed in found), end


def _row_of(db: sqlite3.Connection, which: Selection) -> int | None:
    if which.schedule_id is None:
        return None
    key = {"public_id": which.schedule_id, "tenant": which.tenant}
    found = db.execute(SQL["get_schedule_row"], key).fetchone()
    if found is None:
        raise NotFound(NO_SCHEDULE)
    return int(found[0])


def _delete(db: sqlite3.Connection, letters: Sequence[DeadLetter], now_ms: int) -> list[DeadLetter]:
    """Turn failed runs, oldest first, into counted ranges; those that had not moved on.

    A manual run or a notice is no occurrence that anybody was owed, so nothing counts it.
    """
    deleted = []
    for letter in letters:
        key = {"scheduled_for": letter.scheduled_for_ms, "schedule_id": letter.schedule_row}
        found = db.execute(SQL["delete_failed_run"], key).fetchall()
        for (trigger,) in found:
            deleted.append(letter)
            db.execute(SQL["prune_attempts"], (letter.scheduled_for_ms, letter.schedule_row))
            if trigger not in (RunTrigger.MANUAL, RunTrigger.NOTICE):
                _count(db, {**key, "now": now_ms}, trigger)
    return deleted


def _count(db: sqlite3.Connection, run: dict[str, int], trigger: str) -> None:
    # A range that was counted before a backfill has its occurrences already.
    if trigger != RunTrigger.BACKFILL:
        db.execute(SQL["count_into_range"], run)
    if not db.execute(SQL["extend_deleted_range"], run).rowcount:
        db.execute(SQL["insert_deleted_range"], run)
