"""History in SQLite, as it is read."""

import sqlite3
from typing import Any

from engine.core.errors import Counted, NotFound
from engine.core.model import Attempt, CountedRange, Run, State, Target
from engine.store import RunFilter, RunKey, RunPlace
from engine.store.rows import attempt_of, attempt_under_way, named_rows, run_of, target_of
from engine.store.statements import statements

SQL = statements()

LISTED_SLICE_RUNS = 5_000
"""Runs that a list looks at in one turn of the reader: some 1 ms when none of them is meant,"""

LISTED_AT_ONCE = 200
"""and runs that it reads in one: some 1 ms more."""

LEAPT_SCHEDULES_MAX = 500
"""Schedules of a tenant whose newest runs are looked up to pass over what is others': 1 ms."""

ATTEMPTS_LISTED_MAX = 100
"""Newest attempts of a run that are told beside its first one, from which its lateness counts. Each
replay may add 20 more; with a response of 4 KiB each, a hundred are some 400 KiB."""

_END_OF_TIME = 2**62


def get_run(
    db: sqlite3.Connection, tenant: str, schedule_id: str, scheduled_for_ms: int
) -> tuple[Run, list[Attempt]]:
    """One run with its attempts in order, the one under way included. Raises `NotFound`, `Counted`.

    Of a run that was replayed again and again: the first, and the newest `ATTEMPTS_LISTED_MAX`.
    """
    row = find_run(db, tenant, schedule_id, scheduled_for_ms)
    inner = {
        "scheduled_for": row["scheduled_for"],
        "schedule_id": row["schedule_id"],
        "older": row["attempt"] - ATTEMPTS_LISTED_MAX,
    }
    attempts = [attempt_of(attempt) for attempt in named_rows(db, SQL["list_attempts"], inner)]
    if row["state"] == State.ATTEMPTING:
        attempts.append(attempt_under_way(row))
    return run_of(row), attempts


def get_target(
    db: sqlite3.Connection, tenant: str, schedule_id: str, scheduled_for_ms: int
) -> Target:
    """What every attempt of a run sends, whatever its schedule says now. Raises `NotFound`."""
    key = {"tenant": tenant, "public_id": schedule_id, "scheduled_for": scheduled_for_ms}
    found = named_rows(db, SQL["get_target_of_run"], key)
    if not found:
        raise NotFound("there is no such run")
    return target_of(found[0])


def find_run(
    db: sqlite3.Connection, tenant: str, schedule_id: str, scheduled_for_ms: int
) -> sqlite3.Row:
    """The row of one run, with its schedule's names. Raises `NotFound`, `Counted`."""
    key = {"tenant": tenant, "public_id": schedule_id, "scheduled_for": scheduled_for_ms}
    found = named_rows(db, SQL["get_run"], key)
    if not found:
        _refuse_counted(db, key)
        raise NotFound(
            "there is no such run (yet): they are written 5 s before they fire, and pruned after a"
            " while"
        )
    return found[0]


def end_of(which: RunFilter) -> RunKey:
    """The key at which what is asked for ends; the run there is no part of it."""
    return (_END_OF_TIME if which.to_ms is None else which.to_ms), -1


def place_of(db: sqlite3.Connection, which: RunFilter, place: RunPlace) -> RunKey:
    """The key of a run in a list. Of a schedule that has gone meanwhile, its instant's first."""
    schedule = {"public_id": place[1], "tenant": which.tenant}
    (row_id,) = db.execute(SQL["get_schedule_row"], schedule).fetchone() or (_END_OF_TIME,)
    return min((place[0], row_id), end_of(which))


def list_runs(
    db: sqlite3.Connection, which: RunFilter, limit: int, before: RunKey
) -> tuple[list[Run], RunKey | None]:
    """Up to `limit` runs before a key, newest first, and the key before which to go on.

    None at the end. There may be fewer, or none, and still more to come: they are those of a slice
    of history, whatever is in it.
    """
    runs = _named_for(which)
    values = {
        "tenant": which.tenant,
        "public_id": which.schedule_id,
        "state": which.state,
        "from": -_END_OF_TIME if which.from_ms is None else which.from_ms,
        "before": before[0],
        "before_id": before[1],
        "looked_at": LISTED_SLICE_RUNS,
        "limit": min(limit, LISTED_AT_ONCE),
    }
    end: RunKey | None = db.execute(SQL[f"slice_of_{runs}_end"], values).fetchone()
    values["begin"], values["begin_id"] = end or (values["from"], 0)
    rows = named_rows(db, SQL[f"list_{runs}"], values)
    if len(rows) == values["limit"]:
        end = (rows[-1]["scheduled_for"], rows[-1]["schedule_id"])
    elif end and not rows and runs == "runs":
        end = _next_of_tenant(db, which.tenant, end)
    return [run_of(row) for row in rows], end


def _named_for(which: RunFilter) -> str:
    """The name of the statements that read the fewest other runs beside what is asked for."""
    if which.schedule_id is not None:
        return "runs_of_schedule"
    return "failed_runs" if which.state == State.FAILED else "runs"


def _next_of_tenant(db: sqlite3.Connection, tenant: str, before: RunKey) -> RunKey | None:
    """Leap over others' runs, if the tenant has few schedules; None: it has no run left there."""
    values = {"tenant": tenant, "before": before[0], "limit": LEAPT_SCHEDULES_MAX + 1}
    schedules, newest_ms = db.execute(SQL["newest_run_of_tenant"], values).fetchone()
    if schedules > LEAPT_SCHEDULES_MAX:
        return before
    return None if newest_ms is None else min(before, (newest_ms + 1, -1))


def _refuse_counted(db: sqlite3.Connection, key: dict[str, Any]) -> None:
    row = db.execute(SQL["get_counted"], key).fetchone()
    if row is not None:
        reason, after_ms, until_ms, count, decided_at_ms = row
        raise Counted(
            CountedRange(
                reason=reason,
                after_ms=after_ms,
                until_ms=until_ms,
                count=count,
                decided_at_ms=decided_at_ms,
            )
        )
