"""The engine's journal, read after the fact and read-only."""

import sqlite3
from array import array
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from loadtest.evidence import Run, Runs
from loadtest.workload import index_of

DATABASE = "offbeat.db"

_RUNS = """
SELECT r.scheduled_for, s.name, r.fire_after, r.state, r.reason, r.trigger, r.attempt,
  coalesce(r.first_attempt_at, -1), coalesce(r.next_attempt_at, -1)
FROM job_run r JOIN schedule s ON s.id = r.schedule_id ORDER BY r.scheduled_for, r.schedule_id
"""
_STARTS = "SELECT started_at FROM attempt"
_COUNTED = """
SELECT s.name, c.after, c.until FROM counted_range c JOIN schedule s ON s.id = c.schedule_id
"""
_UNFINISHED = """
SELECT (SELECT count(*) FROM job_run WHERE state IN ('planned', 'retry_wait')
  AND next_attempt_at IS NOT NULL AND scheduled_for >= :from AND scheduled_for < :until)
+ (SELECT count(*) FROM job_run WHERE state = 'attempting'
  AND scheduled_for >= :from AND scheduled_for < :until)
"""


def runs(directory: Path) -> Runs:
    """Every run, by `scheduled_for`."""
    columns = Runs()
    with closing(_open(directory)) as db:
        for at_ms, name, *rest in db.execute(_RUNS):
            columns.add(Run(at_ms, index_of(name), *rest))
    return columns


def starts(directory: Path) -> "array[int]":
    """When each finished attempt started, ascending."""
    with closing(_open(directory)) as db:
        return array("q", sorted(ms for (ms,) in db.execute(_STARTS)))


def counted(directory: Path) -> dict[int, list[tuple[int, int]]]:
    """Spans (after, until] whose occurrences were counted instead of run, by schedule."""
    spans: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    with closing(_open(directory)) as db:
        for name, after_ms, until_ms in db.execute(_COUNTED):
            spans[index_of(name)].append((after_ms, until_ms))
    return spans


def unfinished(directory: Path, from_ms: int, until_ms: int) -> int:
    """How many runs of the span have not ended."""
    with closing(_open(directory)) as db:
        (count,) = db.execute(_UNFINISHED, {"from": from_ms, "until": until_ms}).fetchone()
    return int(count)


def _open(directory: Path) -> sqlite3.Connection:
    path = (directory / DATABASE).absolute()
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=30)
