"""The occurrence audit's side of SQLite: what was owed against what is there, a slice at a time.

A slice is one read transaction, so that a schedule's rules, runs and ranges are of one moment
whatever is written meanwhile; and a short one, so that neither the writer's checkpoints nor other
readers wait for it. Where it ended is where the next one begins.
"""

import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from engine.core.audit import Cover, Finding, Piece, Revision, Tally, missing, pieces, stretches
from engine.core.owed import Owing
from engine.core.timetable import Timetable, compile_trigger
from engine.store.rows import timetable_of, trigger_of
from engine.store.statements import statements
from engine.store.turns import Reads

SQL = statements()

SCHEDULES_AUDITED_MAX = 250
"""Schedules read in one slice."""

OCCURRENCES_AUDITED_MAX = 5_000
"""Occurrences compared in one slice, and listed at once: some 5 ms of the reader's thread."""

_FOREVER = 2**62

Position = tuple[int, int]
"""(schedule row, scheduled_for): the audit has passed the row's occurrences up to there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Audited:
    """A schedule with all that says what it owed and what need not have a run."""

    row: int
    schedule_id: str
    name: str
    revisions: tuple[Revision, ...]
    counted: tuple[Cover, ...]
    pending: tuple[Cover, ...]


class _Source:
    """Owed instants and runs; what many schedules of a slice share is computed once."""

    def __init__(self, db: sqlite3.Connection, after_ms: int, until_ms: int) -> None:
        self._db = db
        self._span = (after_ms, until_ms)
        self._listed: dict[Timetable, list[int] | None] = {}

    def owed(self, owing: Owing, after_ms: int, until_ms: int) -> list[int]:
        """The first owed instants in (after, until], a page of them at most."""
        listed = self._list(owing.timetable, after_ms, until_ms)
        if listed is None:
            return owing.between(after_ms, until_ms, OCCURRENCES_AUDITED_MAX)
        begin_ms, end_ms = owing.clip(after_ms, until_ms)
        return listed[bisect_right(listed, begin_ms) : bisect_right(listed, end_ms)]

    def count(self, piece: Piece) -> int:
        """How many are owed in it."""
        if self._list(piece.owing.timetable, piece.after_ms, piece.until_ms) is None:
            return piece.count()
        return len(self.owed(piece.owing, piece.after_ms, piece.until_ms))

    def runs(self, row: int, after_ms: int, until_ms: int) -> list[int]:
        """The instants of a schedule's runs in (after, until], whatever made them."""
        bounds = {"schedule_id": row, "after": after_ms, "until": until_ms}
        return [instant for (instant,) in self._db.execute(SQL["list_runs_between"], bounds)]

    def count_runs(self, row: int, piece: Piece) -> int:
        """How many runs there are of what is owed in it."""
        return sum(map(piece.owing.owes, self.runs(row, piece.after_ms, piece.until_ms)))

    def count_runs_beside(self, row: int, piece: Piece) -> int:
        """Those of them that a count of the piece has left out."""
        bounds = {"schedule_id": row, "after": piece.after_ms, "until": piece.until_ms}
        rows = self._db.execute(SQL["list_runs_beside_count"], bounds)
        return sum(piece.owing.owes(instant) for (instant,) in rows)

    def _list(self, timetable: Timetable, after_ms: int, until_ms: int) -> list[int] | None:
        """All instants of the span, if they fit in a page and it holds what is asked for."""
        if after_ms < self._span[0] or until_ms > self._span[1]:
            return None
        if timetable not in self._listed:
            listed = timetable.between(*self._span, OCCURRENCES_AUDITED_MAX)
            self._listed[timetable] = listed if len(listed) < OCCURRENCES_AUDITED_MAX else None
        return self._listed[timetable]


class SqliteAudit:
    """`services.audit.AuditStore`."""

    def __init__(self, reader: Reads) -> None:
        self._reader = reader

    async def history_floor_ms(self, tenant: str) -> int:
        def floor(db: sqlite3.Connection) -> int:
            (instant,) = db.execute(SQL["get_history_floor"], (tenant,)).fetchone()
            return int(instant)

        return await self._reader.read(floor)

    async def slice(
        self, tenant: str, after_ms: int, until_ms: int, position: Position
    ) -> tuple[Tally, Position | None]:
        return await self._reader.read(
            lambda db: audit_slice(db, tenant, after_ms, until_ms, position)
        )


def audit_slice(
    db: sqlite3.Connection, tenant: str, after_ms: int, until_ms: int, position: Position
) -> tuple[Tally, Position | None]:
    """The tally of some schedules from `position` on, and where to go on; None at the end."""
    db.execute("BEGIN")
    try:
        return _audit_slice(db, tenant, after_ms, until_ms, position)
    finally:
        db.execute("COMMIT")


def _audit_slice(
    db: sqlite3.Connection, tenant: str, after_ms: int, until_ms: int, position: Position
) -> tuple[Tally, Position | None]:
    row, from_ms = position
    tally, source = Tally(), _Source(db, after_ms, until_ms)
    audited = list(_audited(db, tenant, row, after_ms, until_ms))
    for schedule in audited:
        if tally.owed >= OCCURRENCES_AUDITED_MAX:
            return tally, (schedule.row, after_ms)
        begin_ms = max(after_ms, from_ms) if schedule.row == row else after_ms
        room = OCCURRENCES_AUDITED_MAX - tally.owed
        some, reached_ms = _audit(source, schedule, begin_ms, until_ms, room)
        tally += some
        if reached_ms is not None:
            return tally, (schedule.row, reached_ms)
        tally += Tally(schedules=1)
    if len(audited) < SCHEDULES_AUDITED_MAX:
        return tally, None
    return tally, (audited[-1].row + 1, after_ms)


def _audit(
    source: _Source, schedule: _Audited, after_ms: int, until_ms: int, room: int
) -> tuple[Tally, int | None]:
    """One schedule's tally, and up to which instant it goes if there was no room for all."""
    tally = Tally()
    checked: set[Cover] = set()
    covers = (*schedule.counted, *schedule.pending)
    for piece in pieces(schedule.revisions, covers, after_ms, until_ms):
        if piece.cover is None:
            for some, reached_ms in _compare(source, schedule, piece):
                tally += some
                if tally.owed >= room:
                    return tally, reached_ms
            continue
        tally += _covered(source, schedule, piece)
        if piece.cover.count is not None and piece.cover not in checked:
            checked.add(piece.cover)
            tally = _less(tally, _too_few(source, schedule, piece.cover, after_ms))
    return tally, None


def _compare(source: _Source, schedule: _Audited, piece: Piece) -> Iterator[tuple[Tally, int]]:
    """Owed instants against runs, a page at a time, and where each page ends."""
    after_ms = piece.after_ms
    while after_ms < piece.until_ms:
        owed = source.owed(piece.owing, after_ms, piece.until_ms)
        full = len(owed) == OCCURRENCES_AUDITED_MAX
        end_ms = owed[-1] if full else piece.until_ms
        lost = missing(owed, source.runs(schedule.row, after_ms, end_ms)) if owed else []
        findings = tuple(
            _finding(schedule, first, last, count) for first, last, count in stretches(owed, lost)
        )
        yield Tally(owed=len(owed), runs=len(owed) - len(lost), findings=findings), end_ms
        after_ms = end_ms


def _covered(source: _Source, schedule: _Audited, piece: Piece) -> Tally:
    """What is owed under a cover: with a run of its own, or else counted or pending."""
    assert piece.cover is not None, "a piece without a cover is compared"
    owed = source.count(piece)
    runs = source.count_runs(schedule.row, piece) if owed else 0
    if piece.cover.count is None:
        return Tally(owed=owed, runs=runs, pending=owed - runs)
    return Tally(owed=owed, runs=runs, counted=owed - runs)


def _too_few(source: _Source, schedule: _Audited, cover: Cover, after_ms: int) -> Finding | None:
    """What a counted range lacks. One that reaches back beyond the span is taken at its word."""
    assert cover.count is not None, "what is pending has no count"
    if cover.after_ms < after_ms:
        return None
    whole = list(pieces(schedule.revisions, (), cover.after_ms, cover.until_ms))
    owed = sum(map(source.count, whole))
    beside = sum(source.count_runs_beside(schedule.row, piece) for piece in whole)
    runs = sum(source.count_runs(schedule.row, piece) for piece in whole)
    lacking = owed - max(cover.count + beside, runs)
    if lacking <= 0:
        return None
    return _finding(schedule, cover.after_ms + 1, cover.until_ms, lacking)


def _less(tally: Tally, finding: Finding | None) -> Tally:
    """The tally without what a range only claims to have counted."""
    if finding is None:
        return tally
    return replace(
        tally,
        counted=tally.counted - min(finding.count, tally.counted),
        findings=(*tally.findings, finding),
    )


def _finding(schedule: _Audited, first_ms: int, last_ms: int, count: int) -> Finding:
    return Finding(
        schedule_id=schedule.schedule_id,
        schedule_name=schedule.name,
        first_ms=first_ms,
        last_ms=last_ms,
        count=count,
    )


def _audited(
    db: sqlite3.Connection, tenant: str, row: int, after_ms: int, until_ms: int
) -> Iterator[_Audited]:
    """The next schedules from this row on. Rules that this version cannot read owe nothing."""
    page = {"after": row - 1, "tenant": tenant, "limit": SCHEDULES_AUDITED_MAX}
    rows = db.execute(SQL["list_audited"], page).fetchall()
    if not rows:
        return
    within = {"first": rows[0][0], "last": rows[-1][0]}
    revisions = _by_schedule(db.execute(SQL["list_revisions"], within))
    span = {**within, "after": after_ms, "until": until_ms}
    counted = _by_schedule(db.execute(SQL["list_counted"], span))
    (_, watermark_ms, _, _) = db.execute(SQL["get_progress"]).fetchone()
    downtime = [row[1:3] for row in db.execute(SQL["list_downtime"])]
    for row_id, public_id, name, deleted_at, paused_at, *rules in rows:
        current = _owing(rules)
        older = ((_owing(values), until_ms) for until_ms, *values in revisions.get(row_id, ()))
        known = [Revision(owing=owing, until_ms=until_ms) for owing, until_ms in older if owing]
        pending: tuple[Cover, ...] = ()
        if current is not None:
            known.append(Revision(owing=current, until_ms=deleted_at))
            pending = tuple(_pending(current, deleted_at, paused_at, watermark_ms, downtime))
        yield _Audited(
            row=row_id,
            schedule_id=public_id,
            name=name,
            revisions=tuple(known),
            counted=tuple(
                Cover(after_ms=a, until_ms=u, count=c) for a, u, c in counted.get(row_id, ())
            ),
            pending=pending,
        )


def _pending(
    owing: Owing,
    deleted_at: int | None,
    paused_at: int | None,
    watermark_ms: int,
    downtime: Sequence[tuple[int, int]],
) -> Iterator[Cover]:
    """What the rules in force owe and the engine need not have planned, judged or counted yet."""
    if deleted_at is not None:
        return
    spans = [(after - owing.offset_ms, until - owing.offset_ms) for after, until in downtime]
    spans.append((watermark_ms - owing.offset_ms, _FOREVER))
    if paused_at is not None:
        spans = [(paused_at, _FOREVER)]
    for after_ms, until_ms in spans:
        begin_ms = max(after_ms, owing.owed_after_ms)
        if begin_ms < until_ms:
            yield Cover(after_ms=begin_ms, until_ms=until_ms, count=None)


def _by_schedule(rows: Iterator[tuple[Any, ...]]) -> dict[int, list[tuple[Any, ...]]]:
    return {row_id: [row[1:] for row in some] for row_id, some in groupby(rows, lambda row: row[0])}


def _owing(rules: Sequence[Any]) -> Owing | None:
    spec, at_ms, offset_ms, owed_after_ms, start_at_ms, last_owed_ms = rules
    timetable = compile_trigger(trigger_of(None, at_ms)) if spec is None else timetable_of(spec)
    if timetable is None:
        return None
    return Owing(
        timetable=timetable,
        offset_ms=offset_ms,
        owed_after_ms=owed_after_ms,
        start_at_ms=start_at_ms,
        last_owed_ms=last_owed_ms,
    )
