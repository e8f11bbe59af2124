"""The engine's database as a witness: opened read-only when no engine runs, and read at once."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

Occurrence = tuple[str, int]
"""(schedule id, scheduled_for): what a run is the run of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """`outcome` None: it was under way when the engine ended."""

    number: int
    started_ms: int
    ended_ms: int | None = None
    outcome: str | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    fire_after_ms: int
    state: str
    trigger: str
    attempt_count: int
    attempts: tuple[AttemptRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    runs: Mapping[Occurrence, RunRow]
    counted: int
    """Occurrences in counted ranges."""
    integrity: str

    @property
    def attempts(self) -> list[AttemptRow]:
        return [attempt for run in self.runs.values() for attempt in run.attempts]


def read_journal(path: Path) -> Journal:
    """Everything in the database at `path` that the checker asks about."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        attempts: dict[tuple[int, int], list[AttemptRow]] = {}
        for scheduled_for, row_id, *values in db.execute(
            "SELECT scheduled_for, schedule_id, number, started_at, ended_at, outcome, status"
            " FROM attempt ORDER BY number"
        ):
            attempts.setdefault((scheduled_for, row_id), []).append(_attempt(*values))
        runs: dict[Occurrence, RunRow] = {}
        for scheduled_for, row_id, public_id, *rest in db.execute(
            "SELECT r.scheduled_for, s.id, s.public_id, r.fire_after, r.state, r.trigger,"
            " r.attempt, r.attempt_started_at"
            " FROM job_run r JOIN schedule s ON s.id = r.schedule_id"
        ):
            fire_after, state, trigger, count, under_way_since = rest
            finished = attempts.get((scheduled_for, row_id), [])
            if under_way_since is not None:
                finished.append(AttemptRow(number=count, started_ms=under_way_since))
            runs[public_id, scheduled_for] = RunRow(
                fire_after_ms=fire_after,
                state=state,
                trigger=trigger,
                attempt_count=count,
                attempts=tuple(finished),
            )
        (counted,) = db.execute("SELECT coalesce(sum(count), 0) FROM counted_range").fetchone()
        (integrity,) = db.execute("PRAGMA integrity_check").fetchone()
    return Journal(runs=runs, counted=counted, integrity=integrity)


def _attempt(
    number: int, started_ms: int, ended_ms: int | None, outcome: str, status: int | None
) -> AttemptRow:
    return AttemptRow(
        number=number, started_ms=started_ms, ended_ms=ended_ms, outcome=outcome, status=status
    )
