"""Overlap in SQLite: one run at a time of the schedules that ask for it (SPEC §4).

A run of such a schedule is marked when it comes to its claim, and the marked runs that have not
ended are the schedule's line. First in it are those under way: attempting, or between two attempts.
Behind them, by due time, wait those that were due and could not go. A replay has left the line and
comes to its claim like a planned run: until its first attempt it is not under way.

A run that waits keeps its row as it is, due in the past; it is merely held in memory no longer.
Whoever ends the run before it finds it in the line, in the transaction of that end, and gives it
back to be offered anew. Start-up reads every row that is due, or gives it a new due time, a line as
a whole. So nothing is polled, and a crash leaves nothing to repair. Should a run have left the line
unseen (skipped by the end of a pause, say), the next one due finds nothing under way and brings the
first of the line forward.

Claims come in order of due time, so what is due and not judged yet needs no place in the line: its
own claim finds the earlier run there.
"""

import sqlite3
from collections.abc import Sequence, Set

from engine.core.admission import Admission, admit_beside, waits_in_line
from engine.core.model import CatchUp, Overlap, State
from engine.store import DueRun, HeldRun
from engine.store.statements import statements

SQL = statements()

RunId = tuple[int, int]
"""(scheduled_for, schedule row)."""

_ALL = -1
"""SQLite's LIMIT for no limit."""


class Lines:
    """The lines of the schedules in one claim."""

    def __init__(self, db: sqlite3.Connection, now_ms: int) -> None:
        self._db = db
        self._now_ms = now_ms
        self._seen: set[int] = set()
        self._displaced: set[RunId] = set()

    @property
    def superseded(self) -> Set[RunId]:
        """The waiting runs that were ended for a newer one."""
        return self._displaced

    def see(self, schedule_row: int) -> None:
        """A run of this schedule was brought forward, whatever becomes of it."""
        self._seen.add(schedule_row)

    def admit(
        self, run: DueRun, *, under_way: bool, trigger: str, overlap: Overlap, catch_up: CatchUp
    ) -> Admission:
        """Whether a due run has its turn now; if so it is claimed at once, for the next to see.

        One that is under way, between two attempts, has had its turn.
        """
        (_, scheduled_for, schedule_row) = run
        admission = Admission.CLAIM
        if not under_way:
            admission = self._turn(run, trigger, overlap, catch_up)
        if admission in (Admission.CLAIM, Admission.WAIT):
            self._execute("mark_exclusive_run", scheduled_for, schedule_row)
        if admission is Admission.CLAIM:
            claimed = {"keys": f"[[{scheduled_for}, {schedule_row}]]", "now": self._now_ms}
            self._db.execute(SQL["claim_runs"], claimed)
        return admission

    def moved_up(self) -> tuple[HeldRun, ...]:
        """The runs of the seen schedules that have their turn when the claim is done."""
        return tuple(run for row in sorted(self._seen) for run in next_in_line(self._db, row))

    def _turn(self, run: DueRun, trigger: str, overlap: Overlap, catch_up: CatchUp) -> Admission:
        (_, scheduled_for, schedule_row) = run
        if (scheduled_for, schedule_row) in self._displaced:
            return Admission.DROP
        if overlap == "buffer_one" and not waits_in_line(trigger, catch_up):
            buffered = self._buffered(scheduled_for, schedule_row, catch_up)
            if buffered is not None and buffered > scheduled_for:
                return Admission.SUPERSEDE
            if buffered is not None:
                self._displace(buffered, schedule_row)
        first = _waiting(self._db, schedule_row, 1)
        if is_under_way(self._db, schedule_row) or (first and first[0].key < run):
            return admit_beside(overlap, trigger, catch_up)
        return Admission.CLAIM

    def _buffered(self, scheduled_for: int, schedule_row: int, catch_up: CatchUp) -> int | None:
        """Which other run has the schedule's one place to wait in, by its `scheduled_for`."""
        values = {
            "scheduled_for": scheduled_for,
            "schedule_id": schedule_row,
            "catch_up": catch_up,
        }
        found = self._db.execute(SQL["get_buffered_run"], values).fetchone()
        return found[0] if found else None

    def _displace(self, scheduled_for: int, schedule_row: int) -> None:
        ended = {"state": State.SKIPPED, "reason": "superseded"}
        self._execute("end_waiting_run", scheduled_for, schedule_row, **ended)
        self._displaced.add((scheduled_for, schedule_row))

    def _execute(
        self, statement: str, scheduled_for: int, schedule_row: int, **values: str
    ) -> None:
        key = {"scheduled_for": scheduled_for, "schedule_id": schedule_row, "now": self._now_ms}
        self._db.execute(SQL[statement], {**key, **values})


def is_under_way(db: sqlite3.Connection, schedule_row: int) -> bool:
    """Whether a run of this schedule is attempting, or between two attempts."""
    (found,) = db.execute(SQL["is_exclusive_run_under_way"], (schedule_row,)).fetchone()
    return bool(found)


def next_in_line(db: sqlite3.Connection, schedule_row: int) -> list[HeldRun]:
    """The run whose turn it is now: none while one is under way, or when none waits."""
    return [] if is_under_way(db, schedule_row) else _waiting(db, schedule_row, 1)


def follow_edit(
    db: sqlite3.Connection, schedule_row: int, before: Overlap, now: Overlap
) -> Sequence[DueRun]:
    """Bring the line in accord with an edited policy; the runs that may go now."""
    if now == "allow":
        line = [] if before == "allow" else _waiting(db, schedule_row, _ALL)
        return [run.key for run in line]
    if before == "allow":
        db.execute(SQL["mark_runs_under_way"], (schedule_row,))
    return [run.key for run in next_in_line(db, schedule_row)]


def _waiting(db: sqlite3.Connection, schedule_row: int, limit: int) -> list[HeldRun]:
    values = {"schedule_id": schedule_row, "limit": limit}
    return [HeldRun(*row) for row in db.execute(SQL["list_line"], values)]
