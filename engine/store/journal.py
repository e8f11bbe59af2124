"""The journal in SQLite: planning, loading, claiming, recording (the protocol of `store`)."""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

import orjson
import structlog

from engine.core.admission import Admission, admit
from engine.core.history_shares import excesses
from engine.core.model import CatchUp, Finished, Overlap, RunTrigger, State, Target, Unserved
from engine.store import (
    AtSlice,
    Backlog,
    Claim,
    Claimed,
    DuePage,
    DueRun,
    Ended,
    HeldRun,
    Judged,
    KnownTimetable,
    Planned,
    Progress,
    Recorded,
    RunKey,
    Slice,
    downtime,
    endings,
    flows,
    notices,
    overlap,
    pauses,
    planning,
    pruning,
    schedules,
    sweep,
)
from engine.store.rows import named_rows, retry_of, target_of, trigger_of
from engine.store.statements import statements
from engine.store.writer import Reader, Writer

SQL = statements()

TARGETS_CACHED_MAX = 2_000
"""Targets kept between claims; with bodies of 100 KiB this alone may reach 200 MB, so also:"""

TARGET_BYTES_CACHED_MAX = 4_096
"""a larger body is read again for each claim."""

COMPLETED_MAX = 500
"""Schedules that delete themselves in one transaction."""

PAUSES_ENDED_MAX = 500
"""Pauses that end in one transaction."""

log = structlog.get_logger("offbeat.journal")


class SqliteJournal:
    """`store.Journal` on one writing and one reading connection."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader
        self._targets: OrderedDict[int, Target] = OrderedDict()
        self.told: set[str] = set()
        """Tenants that have a target for notices; whoever stores or deletes one keeps it."""
        self.on_skip: Callable[[], None] = lambda: None
        """Called for each row that this version cannot read, and leaves alone."""
        self.open_target: Callable[[str, Target], Target] = lambda _, target: target
        """Makes of a tenant's target, as it is stored, what is sent."""

    async def begin_life(self, now_ms: int) -> Progress:
        self.told |= await self._reader.read(notices.tenants)
        return await self._writer.submit(lambda db: _begin_life(db, now_ms))

    async def last_instant_ms(self) -> int:
        def last(db: sqlite3.Connection) -> int:
            (instant,) = db.execute(SQL["last_instant"]).fetchone()
            return int(instant)

        return await self._reader.read(last)

    async def has_sealed_targets(self) -> bool:
        """Whether a credential is stored, so that sending it takes what sealed it."""
        rows = await self._reader.read(lambda db: db.execute(SQL["has_sealed_targets"]).fetchall())
        return rows == [(1,)]

    async def timetables(self) -> list[KnownTimetable]:
        rows = await self._reader.read(lambda db: db.execute(SQL["list_timetables"]).fetchall())
        return [known for row in rows if (known := self._known(*row)) is not None]

    def _known(self, timetable_id: int, spec: str, reach_ms: int) -> KnownTimetable | None:
        try:
            trigger = trigger_of(spec, None)
        except ValueError as error:
            self.on_skip()
            log.warning("timetable_skipped", timetable=timetable_id, error=str(error))
            return None
        return KnownTimetable(timetable_id=timetable_id, trigger=trigger, reach_ms=reach_ms)

    async def plan(
        self, slices: Sequence[Slice | AtSlice], *, horizon_ms: int, now_ms: int
    ) -> Planned:
        return await self._writer.submit(lambda db: planning.plan(db, slices, horizon_ms, now_ms))

    async def due(
        self,
        after: DueRun,
        until_ms: int,
        limit: int,
        *,
        flow_id: int | None,
        known: Callable[[int], bool],
    ) -> DuePage:
        due, scheduled_for, schedule_row = after
        page = {
            "due": due,
            "scheduled_for": scheduled_for,
            "schedule_id": schedule_row,
            "until": until_ms,
            "limit": limit,
            "flow_id": flow_id,
        }
        return await self._reader.read(lambda db: _due(db, page, known))

    async def backlogs(self, until_ms: int, flow_id: int | None) -> list[Backlog]:
        return await self._reader.read(lambda db: flows.backlogs(db, until_ms, flow_id))

    async def spread_again(
        self, flow_id: int, after: DueRun, *, until_ms: int, now_ms: int, window_ms: int, epoch: int
    ) -> DueRun | None:
        span = {"until": until_ms, "now": now_ms, "window": window_ms}
        return await self._writer.submit(
            lambda db: flows.spread_again(db, flow_id, after, span, epoch)
        )

    async def claim(self, runs: Sequence[HeldRun], now_ms: int) -> Claimed:
        return await self._writer.submit(lambda db: self._claim(db, runs, now_ms))

    async def expire(self, claims: Sequence[Claim], now_ms: int) -> list[HeldRun]:
        return await self._writer.submit(lambda db: endings.expire(db, claims, now_ms, self.told))

    async def end(self, ended: Sequence[Ended]) -> Recorded:
        return await self._writer.submit(lambda db: endings.record(db, ended, self.told))

    async def open_downtime(self, watermark_ms: int, *, resume_ms: int, rate: int) -> int:
        return await self._writer.submit(
            lambda db: downtime.open_(db, watermark_ms, resume_ms, rate)
        )

    async def judge_downtime(self, now_ms: int) -> Judged:
        return await self._writer.submit(lambda db: downtime.judge_slice(db, now_ms))

    async def resume_ended_pauses(self, now_ms: int) -> tuple[list[KnownTimetable], list[DueRun]]:
        stored = await self._writer.submit(
            lambda db: pauses.resume_ended(db, now_ms, PAUSES_ENDED_MAX)
        )
        return [s.timetable for s in stored if s.timetable], [run for s in stored for run in s.due]

    async def reset_progress(self, now_ms: int) -> None:
        values = {"alive": now_ms, "watermark": now_ms, "horizon": now_ms}
        await self._writer.submit(lambda db: db.execute(SQL["set_progress"], values).rowcount)

    async def prune_old(self, before_ms: int) -> int:
        return await self._writer.submit(lambda db: pruning.prune_old(db, before_ms))

    async def count_excess(self, runs_max: int) -> dict[str, int]:
        held = await self._reader.read(lambda db: pruning.census(db, runs_max))
        return excesses(held, runs_max)

    async def prune_excess(
        self, after: RunKey, excess: Mapping[str, int]
    ) -> tuple[dict[str, int], RunKey | None]:
        return await self._writer.submit(lambda db: pruning.prune_excess(db, after, excess))

    async def delete_complete(self, now_ms: int) -> int:
        return await self._writer.submit(
            lambda db: schedules.delete_complete(db, now_ms, COMPLETED_MAX)
        )

    async def sweep(self, after: int, *, before_ms: int) -> int:
        loose = await self._reader.read(lambda db: sweep.loose_targets(db, after))
        return await self._writer.submit(lambda db: sweep.forget(db, after, before_ms, loose))

    def _claim(self, db: sqlite3.Connection, runs: Sequence[HeldRun], now_ms: int) -> Claimed:
        keys = orjson.dumps([run[1:3] for run in runs]).decode()
        claims: list[Claim] = []
        held: list[dict[str, int]] = []
        finished: list[Finished] = []
        ends: list[dict[str, Any]] = []
        lines = overlap.Lines(db, now_ms)
        (unjudged_ms,) = db.execute(SQL["get_unjudged"]).fetchone()
        (listed,) = db.execute(SQL["list_claims"], {"keys": keys}).fetchone()
        rows = [_Due(*row) for row in orjson.loads(listed)]
        for row in rows:
            admission = _admission(row, unjudged_ms, now_ms, lines)
            if admission is Admission.CLAIM:
                if (claim := self._readable_claim(db, row)) is not None:
                    claims.append(claim)
                continue
            key = {"scheduled_for": row.scheduled_for_ms, "schedule_id": row.row_id, "now": now_ms}
            match admission:
                case Admission.HOLD:
                    held.append(key)
                case Admission.DROP | Admission.WAIT:
                    pass
                case end:
                    finished.append(_finished(row, end))
                    ends.append({**key, "state": finished[-1].state, "reason": finished[-1].reason})
        # The exclusive ones are claimed already.
        free = [(c.scheduled_for_ms, c.schedule_row) for c in claims if not c.is_exclusive]
        db.execute(SQL["claim_runs"], {"keys": orjson.dumps(free).decode(), "now": now_ms})
        db.executemany(SQL["end_waiting_run"], ends)
        db.executemany(SQL["hold_run"], held)
        expired = [
            (run.tenant, end["scheduled_for"], end["schedule_id"])
            for run, end in zip(finished, ends, strict=True)
            if run.state == State.FAILED
        ]
        due = (*lines.moved_up(), *notices.tell(db, self.told, expired, now_ms=now_ms))
        finished += _superseded(lines.superseded, rows)
        return Claimed(claims=tuple(claims), ended=tuple(finished), due=due)

    def _readable_claim(self, db: sqlite3.Connection, row: "_Due") -> Claim | None:
        due_at_ms = row.due_at_ms
        assert due_at_ms is not None, "else it has moved on"
        try:
            return Claim(
                *row[:_CLAIMS_OWN],
                due_at_ms,
                bool(row.delete_after_completion),
                row.overlap != "allow",
                retry_of(row.retry),
                self._target(db, row),
            )
        except (ValueError, TypeError, KeyError) as error:
            self.on_skip()
            log.warning("run_skipped", schedule=row.schedule_id, error=str(error))
            return None

    def _target(self, db: sqlite3.Connection, row: "_Due") -> Target:
        target = self._targets.get(row.target_id)
        if target is None:
            (stored,) = named_rows(db, SQL["get_target"], (row.target_id,))
            target = self.open_target(row.tenant, target_of(stored))
            # Other runs may have it, too; of notices each has its own.
            if row.trigger != RunTrigger.NOTICE and len(target.body) <= TARGET_BYTES_CACHED_MAX:
                self._targets[row.target_id] = target
                if len(self._targets) > TARGETS_CACHED_MAX:
                    self._targets.popitem(last=False)
        return target


class _Due(NamedTuple):
    """A row of `list_claims`. It begins as a `Claim` does; `attempt` is the one to be made."""

    scheduled_for_ms: int
    row_id: int
    fire_after_ms: int
    trigger: str
    attempt: int
    granted_from: int
    first_attempt_at_ms: int | None
    schedule_id: str
    schedule_name: str
    tenant: str
    deadline_seconds: int | None
    pause_after_failures: int
    due_at_ms: int | None
    delete_after_completion: int
    overlap: Overlap
    retry: str
    target_id: int
    state: str
    is_paused: int
    catch_up: CatchUp


_CLAIMS_OWN: Final = 12
"""So many of a row's values are those of its claim, in order."""

_ENDS: Mapping[Admission, tuple[State, Unserved]] = {
    Admission.EXPIRE: (State.FAILED, "expired"),
    Admission.SKIP: (State.SKIPPED, "paused"),
    Admission.OVERLAP: (State.SKIPPED, "overlap"),
    Admission.SUPERSEDE: (State.SKIPPED, "superseded"),
}
"""How a run ends that never gets its attempt."""


def _admission(run: _Due, unjudged_ms: int, now_ms: int, lines: overlap.Lines) -> Admission:
    fresh = run.state == State.PLANNED and run.trigger == "schedule" and run.attempt == 1
    if fresh and run.due_at_ms is not None and run.due_at_ms <= unjudged_ms:
        return Admission.DROP  # Missed: the catch-up policy speaks first.
    admission = admit(
        state=run.state,
        next_attempt_at_ms=run.due_at_ms,
        scheduled_for_ms=run.scheduled_for_ms,
        deadline_seconds=run.deadline_seconds,
        is_paused=bool(run.is_paused),
        is_manual=run.trigger == "manual",
        now_ms=now_ms,
    )
    if run.overlap == "allow":
        return admission
    lines.see(run.row_id)
    if admission is not Admission.CLAIM:
        return admission
    assert run.due_at_ms is not None, "else it has moved on"
    is_replay = run.state == State.RETRY_WAIT and run.first_attempt_at_ms is None
    return lines.admit(
        (run.due_at_ms, run.scheduled_for_ms, run.row_id),
        under_way=run.state == State.RETRY_WAIT and not is_replay,
        trigger=RunTrigger.MANUAL
        if is_replay
        else run.trigger,  # Somebody asked for just this one.
        overlap=run.overlap,
        catch_up=run.catch_up,
    )


def _finished(run: _Due, admission: Admission) -> Finished:
    state, reason = _ENDS[admission]
    return Finished(
        state=state,
        reason=reason,
        tenant=run.tenant,
        schedule_id=run.schedule_id,
        schedule_name=run.schedule_name,
        scheduled_for_ms=run.scheduled_for_ms,
        attempts=run.attempt - 1,
    )


def _superseded(runs: Set[tuple[int, int]], rows: Sequence[_Due]) -> Iterator[Finished]:
    """Runs that gave way to one of `rows`, which is of the same schedule."""
    of_schedule = {row.row_id: row for row in rows} if runs else {}
    for scheduled_for_ms, schedule_row in runs:
        newer = _finished(of_schedule[schedule_row], Admission.SUPERSEDE)
        yield newer._replace(scheduled_for_ms=scheduled_for_ms, attempts=0)


def _due(db: sqlite3.Connection, page: dict[str, Any], known: Callable[[int], bool]) -> DuePage:
    statement = "list_due" if page["flow_id"] is None else "list_due_of_flow"
    runs = [HeldRun(*row) for row in db.execute(SQL[statement], page)]
    unknown = {run.flow_id for run in runs if not known(run.flow_id)}
    return DuePage(runs=runs, flows=[flows.get(db, flow_id) for flow_id in sorted(unknown)])


def _begin_life(db: sqlite3.Connection, now_ms: int) -> Progress:
    (alive, watermark, _, lives) = db.execute(SQL["begin_life"], {"now": now_ms}).fetchone()
    db.execute(SQL["record_crashed_attempts"])
    db.execute(SQL["recover_attempting_runs"], {"now": now_ms})
    cancelled = db.execute(SQL["cancel_recovered_runs"], {"now": now_ms}).rowcount
    return Progress(alive_ms=alive, watermark_ms=watermark, lives=lives, cancelled=cancelled)
