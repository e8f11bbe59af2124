"""Failure notices in SQLite: written in the transaction of the end that they tell of.

So there is no end without its notice and no notice without its end, whatever breaks off when. It is
a run of the tenant's schedule of notices, with a target of its own that differs from the schedule's
in the body; since targets are known by their content, an end that was told already is seen there.

A tenant that has no target costs a failure one look into a set. What the set has too much or not
yet does no harm: who is told is read from the journal.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import orjson
import structlog

from engine.core.fairness import Class
from engine.core.notice import NOTICES, WAITING_MAX, End, Kind, next_instant_ms, notice_body
from engine.store import HeldRun
from engine.store.rows import named_rows, target_of, target_values
from engine.store.statements import statements

SQL = statements()

RunOf = tuple[str, int, int]
"""(tenant, scheduled_for, schedule row)."""

log = structlog.get_logger("offbeat.notices")


class _Schedule(NamedTuple):
    """A tenant's schedule of notices, by its rows."""

    schedule_row: int
    target_id: int
    flow_id: int
    priority: int


def tenants(db: sqlite3.Connection) -> set[str]:
    """Those that have a target for notices."""
    return {tenant for (tenant,) in db.execute(SQL["list_told_tenants"], (NOTICES,))}


def tell(
    db: sqlite3.Connection,
    told: Set[str],
    failed: Iterable[RunOf],
    paused: Iterable[RunOf] = (),
    *,
    now_ms: int,
) -> list[HeldRun]:
    """Plan the notices of runs that failed, and of those by which a schedule was paused.

    `told`: the tenants that may have a target. Only what is failed on disk is told, and no notice.
    """
    ends: defaultdict[str, list[tuple[Kind, int, int]]] = defaultdict(list)
    kinds: Mapping[Kind, Iterable[RunOf]] = {"run.failed": failed, "schedule.paused": paused}
    for kind, runs in kinds.items():
        for tenant, scheduled_for, schedule_row in runs:
            if tenant in told:
                ends[tenant].append((kind, scheduled_for, schedule_row))
    planned: list[HeldRun] = []
    for tenant, its_ends in ends.items():
        row = db.execute(SQL["get_notices"], (tenant, NOTICES)).fetchone()
        if row is not None:  # Else it was paused or deleted meanwhile.
            planned += _plan(db, _Schedule(*row), its_ends, now_ms)
    return planned


def _plan(
    db: sqlite3.Connection, notices: _Schedule, ends: Sequence[tuple[Kind, int, int]], now_ms: int
) -> list[HeldRun]:
    found = db.execute(SQL["list_ends"], {"ends": orjson.dumps(ends).decode()}).fetchall()
    room = _room(db, notices)
    if len(found) > room:
        log.warning("notices_left_out", schedule=notices.schedule_row, count=len(found) - room)
    (row,) = named_rows(db, SQL["get_target"], (notices.target_id,))
    target = target_of(row)
    (last_ms,) = db.execute(SQL["last_instant_of_schedule"], (notices.schedule_row,)).fetchone()
    planned: list[HeldRun] = []
    for kind, *end in found[:room]:
        values = target_values(replace(target, body=notice_body(kind, End(*end))))
        added = db.execute(SQL["insert_target"], values).fetchone()
        if added is None:
            continue  # It was told already.
        last_ms = next_instant_ms(now_ms, last_ms)
        planned.append(_insert(db, notices, last_ms, added[0], now_ms))
    return planned


def _room(db: sqlite3.Connection, notices: _Schedule) -> int:
    values = {"flow_id": notices.flow_id, "limit": WAITING_MAX}
    (waiting,) = db.execute(SQL["count_waiting_of_flow"], values).fetchone()
    return WAITING_MAX - int(waiting)


def _insert(
    db: sqlite3.Connection, notices: _Schedule, instant_ms: int, target_id: int, now_ms: int
) -> HeldRun:
    values = {
        "scheduled_for": instant_ms,
        "schedule_id": notices.schedule_row,
        "target_id": target_id,
        "flow_id": notices.flow_id,
        "now": now_ms,
    }
    db.execute(SQL["plan_notice"], values)
    rank = Class.CATCH_UP
    return HeldRun(
        *(instant_ms, instant_ms, notices.schedule_row, notices.flow_id, rank, notices.priority)
    )
