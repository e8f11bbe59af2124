"""Flows in SQLite: their limits, and spreading a backlog again after a shock."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.core.errors import LimitReached, NotFound
from engine.core.flow import PARALLELISM
from engine.core.identity import idempotency_key
from engine.core.reseeding import due_again_ms
from engine.core.revision import NOTHING, Condition, check_revision
from engine.store import Backlog, DueRun, FlowLimits
from engine.store.statements import statements

SQL = statements()

SPREAD_RUNS_MAX = 1_000
"""Runs spread again in one transaction: some 8 ms."""

UNNAMED_FLOWS_MAX = 1_000
"""Flows of a tenant that have limits before any schedule names them: more than are set up ahead by
hand, and few to count."""

_DEFAULTS: dict[str, Any] = {"rate": None, "parallelism": PARALLELISM, "paused": False}
_ROW_MAX = 2**62
"""Larger than any row id."""


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
    limits: Mapping[str, int | None],
    *,
    now_ms: int,
    if_match: Condition,
) -> FlowLimits:
    """Set a flow's limits, whether or not a schedule names it yet.

    Raises `PreconditionFailed`, `LimitReached`.
    """
    row = db.execute(SQL["get_flow_by_key"], (tenant, key)).fetchone()
    check_revision(if_match, NOTHING if row is None else _limits(row).revision)
    if row is None:
        _check_room(db, tenant)
    values = {"tenant": tenant, "key": key, "now": now_ms, **limits}
    return _limits(db.execute(SQL["set_flow"], values).fetchone())


def delete(
    db: sqlite3.Connection, tenant: str, key: str, now_ms: int, if_match: Condition
) -> FlowLimits:
    """Give a flow's limits back, and forget it unless a schedule has named it; its limits now.

    Raises `NotFound`, `PreconditionFailed`.
    """
    before = get_by_key(db, tenant, key)
    check_revision(if_match, before.revision)
    if db.execute(SQL["delete_unnamed_flow"], {"tenant": tenant, "key": key}).rowcount:
        return replace(before, **_DEFAULTS)
    return put(db, tenant, key, _DEFAULTS, now_ms=now_ms, if_match=None)


def page(
    db: sqlite3.Connection, tenant: str, limit: int, after_key: str
) -> tuple[list[FlowLimits], str | None]:
    """A tenant's flows by key, those after `after_key`; and the key to go on after."""
    values = {"tenant": tenant, "after": after_key, "limit": limit + 1}
    found = [_limits(row) for row in db.execute(SQL["list_flows"], values)]
    return found[:limit], found[limit - 1].key if len(found) > limit else None


def backlogs(db: sqlite3.Connection, until_ms: int, flow_id: int | None) -> list[Backlog]:
    """What was due by `until_ms` and waits, of one flow or of all."""
    first, last = (0, _ROW_MAX) if flow_id is None else (flow_id, flow_id)
    rows = db.execute(SQL["count_backlogs"], {"until": until_ms, "first": first, "last": last})
    return [Backlog(flow_id=flow, runs=runs, rate=rate) for flow, runs, rate in rows]


def spread_again(
    db: sqlite3.Connection, flow_id: int, after: DueRun, span: Mapping[str, int], epoch: int
) -> DueRun | None:
    """Give a page of a flow's backlog new due times; after which run the next page goes on.

    `span`: what was due `until`, is from `now` on due again within the `window`.
    """
    (due, scheduled_for, schedule_row) = after
    page = {
        "flow_id": flow_id,
        "due": due,
        "scheduled_for": scheduled_for,
        "schedule_id": schedule_row,
        "until": span["until"],
        "limit": SPREAD_RUNS_MAX,
    }
    rows = db.execute(SQL["list_backlog"], page).fetchall()
    db.executemany(SQL["postpone_run"], [_postponed(row, span, epoch) for row in rows])
    return rows[-1][:3] if len(rows) == SPREAD_RUNS_MAX else None


def _postponed(row: Sequence[Any], span: Mapping[str, int], epoch: int) -> dict[str, int]:
    (_, scheduled_for, schedule_row, attempt, public_id, deadline_seconds, in_line) = row
    # Runs that must not overlap keep their order, so all of a schedule's go to the same instant.
    key = public_id if in_line else idempotency_key(public_id, scheduled_for)
    at_ms = due_again_ms(
        key,
        attempt,
        epoch,
        now_ms=span["now"],
        window_ms=span["window"],
        ends_ms=None if deadline_seconds is None else scheduled_for + deadline_seconds * 1_000,
    )
    return {"scheduled_for": scheduled_for, "schedule_id": schedule_row, "next_attempt_at": at_ms}


def _check_room(db: sqlite3.Connection, tenant: str) -> None:
    (count,) = db.execute(SQL["count_unnamed_flows"], (tenant,)).fetchone()
    if count >= UNNAMED_FLOWS_MAX:
        raise LimitReached(
            "unnamed_flows_max",
            UNNAMED_FLOWS_MAX,
            f"{UNNAMED_FLOWS_MAX:,} flows of this tenant have limits and no schedule: delete some",
        )


def _limits(row: Sequence[Any]) -> FlowLimits:
    flow_id, tenant, key, rate, parallelism, paused, revision = row
    return FlowLimits(
        flow_id=flow_id,
        tenant=tenant,
        key=key,
        rate=rate,
        parallelism=parallelism,
        paused=bool(paused),
        revision=revision,
    )
