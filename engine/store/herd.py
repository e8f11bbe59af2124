"""What the forecast asks of the journal: schedules by timetable and offset, counted by SQLite.

Every query answers with one text, a line of JSON for each group. A row by itself would wait for
the interpreter's lock, half a millisecond beside a busy event loop, and there are thousands.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import orjson

from engine.core.identity import jitter_offset_ms
from engine.core.model import Trigger
from engine.core.population import (
    OFFSET_SECONDS_MAX,
    Crowd,
    Sampled,
    Singles,
    Standing,
    is_herd,
)
from engine.core.timetable import compile_trigger
from engine.store.rows import timetable_of, trigger_of
from engine.store.statements import statements
from engine.store.writer import Reader

SQL = statements()

SAMPLE_SCHEDULES_MAX = 10_000
"""Schedules looked at for the top tenants and hosts: a share of 1 % is then known to 0.2 %."""

IDENTITIES_PAGE = 5_000
"""Schedules read at once to compute other offsets: 20 ms of the reader's thread."""


class SqliteHerd:
    """`services.forecast.HerdStore`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def standing(self, *, now_ms: int, start_s: int, end_s: int) -> Standing:
        return await self._reader.read(lambda db: standing(db, now_ms, start_s, end_s))

    async def deadlines(self, *, start_s: int, end_s: int) -> Mapping[int, Mapping[int, int]]:
        return await self._reader.read(lambda db: deadlines(db, start_s, end_s))

    async def rejitter(
        self, timetable_id: int, jitter_seconds: int, *, start_s: int, end_s: int
    ) -> Mapping[int, int]:
        counts: Counter[int] = Counter()
        values = {"timetable_id": timetable_id, "offset": -1, "id": 0, "limit": IDENTITIES_PAGE}
        values |= _span(start_s, end_s)
        while True:
            page = partial(_rows, statement="list_identities", values=dict(values))
            rows = await self._reader.read(page)
            _count_offsets(rows, jitter_seconds, counts)
            if len(rows) < IDENTITIES_PAGE:
                return counts
            values |= {"offset": rows[-1][0], "id": rows[-1][1]}

    async def sample(self) -> list[Sampled]:
        return await self._reader.read(sample)


def standing(db: sqlite3.Connection, now_ms: int, start_s: int, end_s: int) -> Standing:
    """Everything that fires from `start_s` on, the first second that begins after `now_ms`.

    What is due before it, or waits already, is the backlog. A later `start_s` (a span that begins
    far from now) has neither.
    """
    crowds = list(_crowds(db, start_s, end_s))
    is_next = start_s == now_ms // 1000 + 1
    past = _under_way(db, crowds, now_ms) if is_next else Counter[tuple[int, int]]()
    after_ms = now_ms if is_next else start_s * 1000 - 1
    until_ms = (end_s + OFFSET_SECONDS_MAX) * 1000
    values = {"after": after_ms, "until": until_ms}
    for asked, fires, schedules in _rows(db, "count_one_shots", values):
        past[asked, fires] += schedules
    backlog = 0
    if is_next:
        (backlog, _) = db.execute(SQL["count_backlog"], {"now": now_ms}).fetchone()
        backlog += sum(runs for (_, fires), runs in past.items() if fires < start_s)
    return Standing(crowds=tuple(crowds), singles=_singles(past), backlog=backlog)


def deadlines(db: sqlite3.Connection, start_s: int, end_s: int) -> Mapping[int, Mapping[int, int]]:
    """By timetable: how many schedules have which deadline below the largest jitter."""
    found: defaultdict[int, dict[int, int]] = defaultdict(dict)
    values = {"below": OFFSET_SECONDS_MAX, **_span(start_s, end_s)}
    for timetable_id, seconds, schedules in _rows(db, "count_deadlines", values):
        found[timetable_id][seconds] = schedules
    return found


def sample(db: sqlite3.Connection) -> list[Sampled]:
    """Schedules by timetable, tenant and URL: all of them when they are few."""
    (last,) = db.execute(SQL["last_schedule_id"]).fetchone()
    values = {"limit": min(last, SAMPLE_SCHEDULES_MAX), "last": last}
    if not last:
        return []
    return [
        Sampled(timetable_id=timetable_id, tenant=tenant, url=url, schedules=schedules)
        for timetable_id, tenant, url, schedules in _rows(db, "sample_schedules", values)
    ]


def _crowds(db: sqlite3.Connection, start_s: int, end_s: int) -> Iterator[Crowd]:
    exceptions = _exceptions(db, start_s, end_s)
    for timetable_id, spec, seconds, schedules in _rows(db, "count_offsets", {}):
        if timetable_of(spec) is None:
            continue  # Another version's; the planner leaves it out, too.
        trigger = trigger_of(spec, None)
        counts = dict(zip(seconds, schedules, strict=True))
        for second, live, after_s, until_s, count in exceptions.get(timetable_id, ()):
            counts[second] -= count
            if live:
                yield Crowd(
                    timetable_id=timetable_id,
                    trigger=trigger,
                    counts={second: count},
                    after_s=after_s,
                    until_s=until_s,
                )
        counts = {second: count for second, count in counts.items() if count > 0}
        if counts:
            yield Crowd(timetable_id=timetable_id, trigger=trigger, counts=counts)


def _exceptions(
    db: sqlite3.Connection, start_s: int, end_s: int
) -> dict[int, list[tuple[int, int, int, int | None, int]]]:
    found: defaultdict[int, list[tuple[int, int, int, int | None, int]]] = defaultdict(list)
    rows = _rows(db, "list_offset_exceptions", _span(start_s, end_s))
    for timetable_id, *exception in rows:
        found[timetable_id].append(tuple(exception))
    return found


def _under_way(
    db: sqlite3.Connection, crowds: list[Crowd], now_ms: int
) -> "Counter[tuple[int, int]]":
    """Runs by the seconds of both of their instants."""
    found: Counter[tuple[int, int]] = Counter()
    reaches: dict[int, tuple[Trigger, int]] = {}
    for crowd in crowds:
        _, reach = reaches.get(crowd.timetable_id, (None, 0))
        reaches[crowd.timetable_id] = crowd.trigger, max(reach, *crowd.counts)
    for timetable_id, (trigger, reach) in reaches.items():
        after_ms = now_ms - (reach + 1) * 1000
        for instant in compile_trigger(trigger).between(after_ms, now_ms, OFFSET_SECONDS_MAX + 1):
            values = {"timetable_id": timetable_id, "instant": instant, "now": now_ms}
            for fires, schedules in _rows(db, "count_under_way", values):
                found[instant // 1000, fires] += schedules
    return found


def _singles(runs: Mapping[tuple[int, int], int]) -> Singles:
    demand, planned, herd = Counter[int](), Counter[int](), Counter[int]()
    for (asked, fires), count in runs.items():
        demand[asked] += count
        (herd if is_herd(asked) else planned)[fires] += count
    return Singles(demand=demand, planned=planned, herd=herd)


def _count_offsets(
    rows: Iterable[tuple[int, int, str, int | None]], jitter_seconds: int, counts: "Counter[int]"
) -> None:
    for _, _, public_id, deadline in rows:
        seconds = jitter_seconds if deadline is None else min(jitter_seconds, deadline)
        counts[jitter_offset_ms(public_id, seconds) // 1000] += 1


def _span(start_s: int, end_s: int) -> dict[str, int]:
    return {"start": start_s * 1000, "end": end_s * 1000}


def _rows(db: sqlite3.Connection, statement: str, values: Mapping[str, int]) -> list[Any]:
    """The lines of a statement's one text, read."""
    (text,) = db.execute(SQL[statement], values).fetchone()
    return [orjson.loads(line) for line in (text or "").splitlines()]
