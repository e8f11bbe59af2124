"""Pruning in SQLite: runs that are too old, or too many, become counted ranges, a slice at a time.

What is too many is said tenant by tenant (`core.history_shares`), from a census that a reader takes
once for many slices. A slice then looks at a page of history, oldest first, and takes what those
that hold too many still have to give up. So the oldest of each go first, and no slice takes longer
for what it passes over.
"""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence

import orjson

from engine.store import RunKey
from engine.store.statements import statements

SQL = statements()

PRUNED_RUNS_MAX = 500
"""Runs that leave in one transaction: some 5 ms, unnoticed by claims. Revisions likewise."""

LOOKED_AT_MAX = 2_000
"""Runs that a transaction looks at to find those that are to leave: 0.4 ms when none is."""

_END = 2**62


def prune_old(db: sqlite3.Connection, before_ms: int) -> int:
    """Turn a batch of finished runs of before then into counted ranges; how many rows went.

    Ranges of deleted runs and revisions of before then leave with them, and what can be audited
    begins after all of these.
    """
    page = {"before": before_ms, "limit": PRUNED_RUNS_MAX}
    keys = db.execute(SQL["list_prunable_by_age"], page).fetchall()
    _prune_runs(db, keys)
    ranges = db.execute(SQL["list_prunable_ranges"], page).fetchall()
    for schedule_row, after, until, count in ranges:
        _count_pruned(db, schedule_row, after, until, count)
    db.executemany(SQL["prune_range"], [deleted[:2] for deleted in ranges])
    revisions = db.execute(SQL["list_prunable_revisions"], page).fetchall()
    db.executemany(SQL["prune_revision"], [revision[:2] for revision in revisions])
    gone = [scheduled_for for scheduled_for, _ in keys]
    gone += [row[2] for row in (*ranges, *revisions)]
    if gone:
        db.execute(SQL["raise_history_floor"], {"floor": max(gone) + 1})
    return len(gone)


def census(db: sqlite3.Connection, runs_max: int) -> dict[str, int]:
    """How many runs each tenant has; empty when there are no more than that in all.

    It goes through an index of all runs: some 40 ms for a million. For a reader.
    """
    (count,) = db.execute(SQL["count_runs"]).fetchone()
    return dict(db.execute(SQL["count_runs_of_tenants"])) if count > runs_max else {}


def prune_excess(
    db: sqlite3.Connection, after: RunKey, excess: Mapping[str, int]
) -> tuple[dict[str, int], RunKey | None]:
    """Prune runs of tenants that hold too many from the page of history after a key.

    How many of each tenant's went, and the key after which to go on; None at the end.
    """
    page = {"after": after[0], "after_id": after[1], "to": _END, "limit": LOOKED_AT_MAX}
    end: RunKey | None = db.execute(SQL["history_page_end"], page).fetchone()
    until_ms, until_row = end or (_END, _END)
    tenants = orjson.dumps(sorted(excess)).decode()
    meant = {**page, "until": until_ms, "until_id": until_row, "tenants": tenants}
    gone, keys, floors = Counter[str](), list[RunKey](), dict[str, int]()
    for scheduled_for, schedule_row, tenant in db.execute(SQL["list_finished"], meant).fetchall():
        if gone[tenant] < excess[tenant]:
            gone[tenant] += 1
            keys.append((scheduled_for, schedule_row))
            floors[tenant] = scheduled_for + 1
        if len(keys) == PRUNED_RUNS_MAX:
            end = keys[-1]
            break
    _prune_runs(db, keys)
    for tenant, floor in floors.items():
        db.execute(SQL["raise_history_floor_of_tenant"], {"tenant": tenant, "floor": floor})
    return dict(gone), end


def _prune_runs(db: sqlite3.Connection, keys: Sequence[RunKey]) -> None:
    for scheduled_for, schedule_row in keys:
        _count_pruned(db, schedule_row, scheduled_for - 1, scheduled_for, 1)
    db.executemany(SQL["prune_attempts"], keys)
    db.executemany(SQL["prune_run"], keys)


def _count_pruned(
    db: sqlite3.Connection, schedule_row: int, after: int, until: int, count: int
) -> None:
    begun = db.execute(SQL["get_pruned_after"], (schedule_row,)).fetchone()
    values = {
        "schedule_id": schedule_row,
        "after": begun[0] if begun else after,
        "until": until,
        "count": count,
    }
    db.execute(SQL["count_pruned"], values)
