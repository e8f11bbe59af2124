"""What runs and their attempts noted of time, in SQLite (`services.attribution.AttributionStore`).

A page is one row of JSON, made by SQLite: a row for each run would wait for the interpreter's lock
as often beside a busy event loop.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from engine.core.attribution import Attribution, Leg, attribute
from engine.core.delay_shares import Tally
from engine.core.model import Timing
from engine.store import RunKey
from engine.store.rows import timing_of
from engine.store.statements import statements
from engine.store.turns import Reads

SQL = statements()

PAGE_RUNS = 1_000
"""Read and tallied at once: some 10 ms of the reader's thread; others that read wait no longer."""


class SqliteAttributions:
    """`services.attribution.AttributionStore`."""

    def __init__(self, reader: Reads) -> None:
        self._reader = reader

    async def tally(
        self, tenant: str, tally: Tally, after: RunKey, to_ms: int
    ) -> tuple[int, RunKey | None]:
        return await self._reader.read(lambda db: _tally(db, tenant, tally, after, to_ms))


def _tally(
    db: sqlite3.Connection, tenant: str, tally: Tally, after: RunKey, to_ms: int
) -> tuple[int, RunKey | None]:
    page = {"after": after[0], "after_id": after[1], "to": to_ms, "limit": PAGE_RUNS}
    (listed,) = db.execute(SQL["list_timings"], {**page, "tenant": tenant}).fetchone()
    rows = orjson.loads(listed)
    for row in rows:
        if row[_LAST_STARTED] is not None:
            tally.add(_attribution_of(row))
    return len(rows), (rows[-1][0], rows[-1][1]) if len(rows) == PAGE_RUNS else None


_LAST_STARTED = 6
"""None in a run of somebody else's, of another trigger, or without an attempt that ended."""


def _attribution_of(row: Sequence[Any]) -> Attribution:
    scheduled_for, _, fire_after, planned_at, first_started, first_timing = row[:_LAST_STARTED]
    last_started, last_ended, last_timing = row[_LAST_STARTED:]
    return attribute(
        scheduled_for_ms=scheduled_for,
        fire_after_ms=fire_after,
        planned_at_ms=planned_at,
        first=Leg(first_started, first_started, _timing_of(first_timing)),
        last=Leg(last_started, last_ended, _timing_of(last_timing)),
    )


def _timing_of(text: str) -> Timing | None:
    return timing_of(bytes.fromhex(text) or None)
