"""Flows in SQLite: their limits, and spreading a backlog again after a shock."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from engine.core.errors import NotFound
from engine.core.identity import idempotency_key, unit_u53
from engine.store import FlowLimits
from engine.store.statements import statements

SQL = statements()

SPREAD_RUNS_MAX = 1_000
"""Runs spread again in one transaction: some 8 ms."""


def get(db: sqlite3.Connection, flow_id: int) -> FlowLimits:
    """The limits of a flow that a run names."""
    return _limits(db.execute(SQL["get_flow"], (flow_id,)).fetchone())


def get_by_key(db: sqlite3.Connection, tenant: str, key: str) -> FlowLimits:
    """A tenant's flow. Raises `NotFound`."""
    row = db.execute(SQL["get_flow_by_key"], (tenant, key)).fetchone()
    if row is None:
        raise NotFound("there is no such flow: no schedule and no limit names it")
    return _limits(row)


def put(
    db: sqlite3.Connection,
    tenant: str,
    key: str,
    *,
    rate: int | None,
    parallelism: int,
    paused: bool,
) -> FlowLimits:
    """Set a flow's limits, whether or not a schedule names it yet."""
    values = {
        "tenant": tenant,
        "key": key,
        "rate": rate,
        "parallelism": parallelism,
        "paused": paused,
    }
    return _limits(db.execute(SQL["set_flow"], values).fetchone())


def page(
    db: sqlite3.Connection, tenant: str, limit: int, after_key: str
) -> tuple[list[FlowLimits], str | None]:
    """A tenant's flows by key, those after `after_key`; and the key to go on after."""
    values = {"tenant": tenant, "after": after_key, "limit": limit + 1}
    found = [_limits(row) for row in db.execute(SQL["list_flows"], values)]
    return found[:limit], found[limit - 1].key if len(found) > limit else None


def count_waiting(db: sqlite3.Connection, flow_id: int, now_ms: int) -> int:
    """How many runs of a flow are due and wait."""
    values = {"flow_id": flow_id, "now": now_ms}
    return int(db.execute(SQL["count_waiting_of_flow"], values).fetchone()[0])


def spread_again(
    db: sqlite3.Connection, flow_id: int, now_ms: int, spread_ms: int, epoch: int
) -> bool:
    """Give a page of a flow's due runs new due times within `spread_ms`; whether more may wait.

    The phase is drawn from key, attempt and epoch (SPEC §8): the same shock, the same instants.
    """
    values = {"flow_id": flow_id, "now": now_ms, "limit": SPREAD_RUNS_MAX}
    rows = db.execute(SQL["list_waiting_of_flow"], values).fetchall()
    db.executemany(
        SQL["postpone_run"],
        [
            {
                "scheduled_for": scheduled_for,
                "schedule_id": schedule_row,
                "next_attempt_at": now_ms
                + 1
                + (spread_ms * _phase(public_id, scheduled_for, attempt, epoch) >> 53),
            }
            for scheduled_for, schedule_row, _, attempt, public_id in rows
        ],
    )
    return len(rows) == SPREAD_RUNS_MAX


def _phase(public_id: str, scheduled_for: int, attempt: int, epoch: int) -> int:
    return unit_u53(idempotency_key(public_id, scheduled_for), attempt, str(epoch))


def _limits(row: Sequence[Any]) -> FlowLimits:
    flow_id, tenant, key, rate, parallelism, paused = row
    return FlowLimits(
        flow_id=flow_id,
        tenant=tenant,
        key=key,
        rate=rate,
        parallelism=parallelism,
        paused=bool(paused),
    )
