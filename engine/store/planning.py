"""Planning in SQLite: the slices that come into sight become rows, a bounded part at a time."""

import sqlite3
from collections import Counter
from collections.abc import Sequence

from engine.store import Arrival, AtSlice, Planned, Slice
from engine.store.statements import statements

SQL = statements()

PLAN_ROWS_MAX = 10_000
"""Runs written in one planning transaction: some 30 ms, so claims and outcomes wait no longer."""

PLAN_SLICES_MAX = 500
"""Statements in one planning transaction, for many timetables of a few schedules each."""


def plan(
    db: sqlite3.Connection, slices: Sequence[Slice | AtSlice], horizon_ms: int, now_ms: int
) -> Planned:
    """Plan as many slices as fit; the horizon is on disk with the first row beyond the watermark.

    An edit that commits between two pages settles its own runs up to the horizon, so that nothing
    slips between a page that has passed and a watermark that has not moved yet. While there is
    nothing to write, the watermark moves only when half of the lookahead is used up: an idle engine
    then writes every few seconds, which is easy on a memory card.
    """
    (_, watermark_ms, _, _) = db.execute(SQL["get_progress"]).fetchone()
    rows = 0
    arrivals: list[Arrival] = []
    rest = list(slices[PLAN_SLICES_MAX:])
    for index, piece in enumerate(slices[:PLAN_SLICES_MAX]):
        written, remainder = _plan_page(db, piece, PLAN_ROWS_MAX - rows, now_ms)
        arrivals += written
        rows += sum(arrival[3] for arrival in written)
        if remainder is not None or rows >= PLAN_ROWS_MAX:
            tail = slices[index + 1 : PLAN_SLICES_MAX]
            rest = [*([] if remainder is None else [remainder]), *tail, *rest]
            break
    if rows or rest or watermark_ms < (now_ms + horizon_ms) // 2:
        watermark_ms = watermark_ms if rest else horizon_ms
        values = {"alive": now_ms, "watermark": watermark_ms, "horizon": horizon_ms}
        db.execute(SQL["set_progress"], values)
    return Planned(rows=rows, rest=tuple(rest), watermark_ms=watermark_ms, arrivals=tuple(arrivals))


def _plan_page(
    db: sqlite3.Connection, piece: Slice | AtSlice, limit: int, now_ms: int
) -> tuple[list[Arrival], Slice | AtSlice | None]:
    """One statement's worth of a slice; the rows written, counted, and what remains of it."""
    if isinstance(piece, Slice):
        return _plan_slice_page(db, piece, limit, now_ms)
    after_id = piece.after_schedule or _ROW_MAX
    values = {"after": piece.after_ms, "id": after_id, "until": piece.until_ms}
    end = db.execute(SQL["at_page_end"], {**values, "limit": limit}).fetchone()
    until, until_id = end or (piece.until_ms, _ROW_MAX)
    bounds = {**values, "until": until, "until_id": until_id, "now": now_ms}
    rows = Counter(db.execute(SQL["plan_at"], bounds))
    written = [(0, *instants, count) for instants, count in rows.items()]
    if end is None:
        return written, None
    return written, AtSlice(after_ms=until, until_ms=piece.until_ms, after_schedule=until_id)


def _plan_slice_page(
    db: sqlite3.Connection, piece: Slice, limit: int, now_ms: int
) -> tuple[list[Arrival], Slice | None]:
    values = {
        "timetable_id": piece.timetable_id,
        "instant": piece.instant_ms,
        "offset": piece.after_offset_ms,
        "id": piece.after_schedule or _ROW_MAX,
        "until_offset": piece.until_offset_ms,
    }
    end = db.execute(SQL["slice_page_end"], {**values, "limit": limit}).fetchone()
    until, until_id = end or (piece.until_offset_ms, _ROW_MAX)
    bounds = {**values, "until_offset": until, "until_id": until_id, "now": now_ms}
    rows = Counter(db.execute(SQL["plan_slice"], bounds))
    written = [(piece.timetable_id, piece.instant_ms, at, count) for (at,), count in rows.items()]
    if end is None:
        return written, None
    return written, Slice(
        timetable_id=piece.timetable_id,
        instant_ms=piece.instant_ms,
        after_offset_ms=until,
        until_offset_ms=piece.until_offset_ms,
        after_schedule=until_id,
    )


_ROW_MAX = 2**62
"""Larger than any row id: "all of this offset"."""
