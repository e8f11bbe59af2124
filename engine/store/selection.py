"""Lists of schedules in SQLite: a page of those that a selection holds, by name.

One index narrows the search, the one of the most promising requirement (`ScheduleFilter.lead`), and
gives what it finds in the order of names; what else is required is looked at row by row. So that a
requirement which hardly any row meets cannot hold the reader for a million rows, a page ends after
`LOOKED_AT_MAX` of them, full or not, and says where the next one goes on.

The place where a page ends is a name. Names never change, so that schedules which come and go
between two pages move no other one: none is listed twice, and none that was there all along is
missed.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing

import orjson

from engine.core.labels import ScheduleFilter
from engine.core.model import Definition, Schedule
from engine.core.notice import NOTICES
from engine.store.rows import each_named, schedule_of
from engine.store.statements import statements

SQL = statements()

LOOKED_AT_MAX = 10_000
"""Rows that a page looks at: some 20 ms of the reader's thread."""

PAGE_BYTES_MAX = 262_144
"""URLs, headers, bodies and labels with which a page ends, as much as one request may bring (256
KiB): a thousand schedules have some 50 KB of them, and could have a hundred megabytes."""


def page(
    db: sqlite3.Connection, tenant: str, which: ScheduleFilter, limit: int, after_name: str
) -> tuple[list[Schedule], str | None]:
    """At most `limit` of a tenant's schedules, those after `after_name`; the name to go on after.

    None at the end. A page may have fewer than `limit`, or none, and still not be the last.
    """
    ids, next_name = _choose(db, tenant, which, limit, after_name)
    found: list[Schedule] = []
    size, name = 0, after_name
    with closing(each_named(db, SQL["list_schedules"], (orjson.dumps(ids).decode(),))) as rows:
        for row in rows:
            if size >= PAGE_BYTES_MAX:
                return found, name
            size += sum(len(row[column] or "") for column in ("url", "headers", "body", "labels"))
            name = row["name"]
            if (schedule := schedule_of(row)) is not None:
                found.append(schedule)
    return found, next_name


def index_labels(
    db: sqlite3.Connection, whose: Definition, *, old: str | None, new: Mapping[str, str]
) -> None:
    """Let the index follow a schedule's labels; `old` is the JSON text in its row."""
    text = orjson.dumps(dict(new)).decode() if new else None
    if text == old:
        return
    key = {"tenant": whose.tenant, "name": whose.name}
    if old is not None:
        db.execute(SQL["forget_labels"], {**key, "labels": old})
    if text is not None:
        db.execute(SQL["index_labels"], {**key, "labels": text})


def _choose(
    db: sqlite3.Connection, tenant: str, which: ScheduleFilter, limit: int, after_name: str
) -> tuple[list[int], str | None]:
    chosen: list[int] = []
    last_name: str | None = None
    with closing(_candidates(db, tenant, which, after_name)) as candidates:
        for looked_at, (row_id, name, labels, paused_at) in enumerate(candidates):
            if len(chosen) == limit or looked_at == LOOKED_AT_MAX:
                return chosen, last_name
            last_name = name
            marks = orjson.loads(labels) if labels else {}
            if which.holds(marks, is_paused=paused_at is not None) and name != NOTICES:
                chosen.append(row_id)
    return chosen, None


def _candidates(
    db: sqlite3.Connection, tenant: str, which: ScheduleFilter, after_name: str
) -> sqlite3.Cursor:
    """Rows of `(id, name, labels, paused_at)` by name, from the index that narrows most."""
    lead = which.lead()
    # A blank sorts before, and a tilde behind whatever may stand in a name.
    begin = max(after_name + " " if after_name else "", which.name_prefix)
    values = {"tenant": tenant, "begin": begin, "end": which.name_prefix + "~"}
    if lead is None:
        statement = "list_names_at_rest" if which.is_paused else "list_names"
    elif lead.value is None:
        statement, values["key"] = "list_names_by_label", lead.key
    else:
        statement, values["key"], values["value"] = "list_names_by_value", lead.key, lead.value
    return db.execute(SQL[statement], values)
