"""Backfill in SQLite: finding the occurrences without a run, and planning them, page by page."""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import itemgetter

from engine.core.backfill import Backfill, BackfillRun, Span, span_of, spread
from engine.core.errors import Conflict
from engine.core.once import Record
from engine.core.revision import Condition, check_revision
from engine.store import DueRun, answers, schedules
from engine.store.statements import statements
from engine.store.turns import Reads
from engine.store.writer import Writer

SQL = statements()

OCCURRENCES_COMPARED_MAX = 5_000
"""Occurrences compared with runs in one query: some 10 ms of the reader's thread."""


class SqliteBackfills:
    """`services.backfill.BackfillStore`."""

    def __init__(self, writer: Writer, reader: Reads) -> None:
        self._writer = writer
        self._reader = reader

    async def span(
        self, schedule_id: str, from_ms: int, to_ms: int, now_ms: int, *, if_match: Condition
    ) -> Span:
        # What is planned later is planned for this revision, or refused.
        return await self._reader.read(
            lambda db: _span(db, schedule_id, from_ms, to_ms, now_ms=now_ms, if_match=if_match)
        )

    async def flow_of(self, schedule_id: str) -> tuple[int, int | None]:
        return await self._reader.read(
            lambda db: db.execute(SQL["get_flow_of_schedule"], (schedule_id,)).fetchone()
        )

    async def gaps(self, span: Span, after_ms: int) -> tuple[list[int], int | None]:
        return await self._reader.read(lambda db: _gaps(db, span, after_ms))

    async def keep(self, record: Record[Backfill], done: Backfill) -> None:
        await self._writer.submit(lambda db: answers.keep(db, record, done))

    async def plan(
        self, span: Span, instants: Sequence[int], part: range, *, now_ms: int, rate: int
    ) -> list[DueRun]:
        # Spread there too: it takes as long as the writing, and the loop has no time for either.
        return await self._writer.submit(
            lambda db: _plan(
                db, span, spread(span, instants, part, now_ms=now_ms, rate=rate), now_ms
            )
        )


def _span(
    db: sqlite3.Connection,
    schedule_id: str,
    from_ms: int,
    to_ms: int,
    *,
    now_ms: int,
    if_match: Condition,
) -> Span:
    schedule = schedules.get(db, schedule_id)
    check_revision(if_match, schedule.revision)
    if schedule.pause is not None:
        raise Conflict("the schedule is paused, so its runs would be skipped: resume it first")
    if db.execute(SQL["list_downtime"]).fetchone():
        raise Conflict("what was missed in downtime is still being judged: ask again in a moment")
    (floor_ms,) = db.execute(SQL["get_history_floor"], (schedule.definition.tenant,)).fetchone()
    (_, planned_ms, _, _) = db.execute(SQL["get_progress"]).fetchone()
    return span_of(
        schedule, from_ms, to_ms, now_ms=now_ms, floor_ms=floor_ms, planned_ms=planned_ms
    )


def _gaps(db: sqlite3.Connection, span: Span, after_ms: int) -> tuple[list[int], int | None]:
    page = span.owing.between(after_ms, span.until_ms, OCCURRENCES_COMPARED_MAX)
    if not page:
        return [], None
    public_id = span.schedule.definition.schedule_id
    bounds = {"public_id": public_id, "after": after_ms, "until": page[-1]}
    taken = {instant for (instant,) in db.execute(SQL["list_taken_instants"], bounds)}
    # What had its one run and was deleted would be sent as if for the first time.
    deleted = db.execute(SQL["list_deleted_ranges"], bounds).fetchall()
    return [i for i in page if i not in taken and not _is_within(deleted, i)], page[-1]


def _is_within(ranges: Sequence[tuple[int, int]], instant: int) -> bool:
    """Whether after < instant <= until in one of these, which are in order and apart."""
    place = bisect_left(ranges, instant, key=itemgetter(0))
    return place > 0 and instant <= ranges[place - 1][1]


def _plan(
    db: sqlite3.Connection, span: Span, runs: Iterable[BackfillRun], now_ms: int
) -> list[DueRun]:
    public_id = span.schedule.definition.schedule_id
    if schedules.get(db, public_id).revision != span.schedule.revision:
        raise Conflict("the schedule was changed meanwhile: ask again for the rest")
    planned: list[DueRun] = []
    for run in runs:
        values = {
            "public_id": public_id,
            "scheduled_for": run.scheduled_for_ms,
            "fire_after": run.fire_after_ms,
            "next_attempt_at": run.due_ms,
            "now": now_ms,
        }
        planned += db.execute(SQL["plan_backfill_run"], values).fetchall()
    return planned
