"""The journal in SQLite: planning, loading, claiming, recording (the protocol of `store`)."""

import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import orjson
import structlog

from engine.core.admission import Admission, admit
from engine.core.lifecycle import TERMINAL
from engine.core.model import State, Target
from engine.store import (
    Arrival,
    AtSlice,
    Claim,
    Claimed,
    DuePage,
    DueRun,
    Ended,
    HeldRun,
    KnownTimetable,
    Planned,
    Progress,
    Slice,
    downtime,
    flows,
    history,
    overlap,
    schedules,
    sweep,
)
from engine.store.rows import named_rows, retry_of, target_of, trigger_of
from engine.store.statements import statements
from engine.store.writer import Reader, Writer

SQL = statements()

PLAN_ROWS_MAX = 10_000
"""Runs written in one planning transaction: some 30 ms, so claims and outcomes wait no longer."""

PLAN_SLICES_MAX = 500
"""Statements in one planning transaction, for many timetables of a few schedules each."""

TARGETS_CACHED_MAX = 2_000
"""Targets kept between claims; with bodies of 100 KiB this alone may reach 200 MB, so also:"""

TARGET_BYTES_CACHED_MAX = 4_096
"""a larger body is read again for each claim."""

PAUSES_ENDED_MAX = 500
"""Pauses that end in one transaction."""

log = structlog.get_logger("offbeat.journal")


class SqliteJournal:
    """`store.Journal` on one writing and one reading connection."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader
        self._targets: OrderedDict[int, Target] = OrderedDict()
        self.unreadable_timetables = 0

    async def begin_life(self, now_ms: int) -> Progress:
        return await self._writer.submit(lambda db: _begin_life(db, now_ms))

    async def last_instant_ms(self) -> int:
        def last(db: sqlite3.Connection) -> int:
            (instant,) = db.execute(SQL["last_instant"]).fetchone()
            return int(instant)

        return await self._reader.read(last)

    async def timetables(self) -> list[KnownTimetable]:
        rows = await self._reader.read(lambda db: db.execute(SQL["list_timetables"]).fetchall())
        return [known for row in rows if (known := self._known(*row)) is not None]

    def _known(self, timetable_id: int, spec: str, reach_ms: int) -> KnownTimetable | None:
        try:
            trigger = trigger_of(spec, None)
        except ValueError as error:
            self.unreadable_timetables += 1
            log.warning("timetable_skipped", timetable=timetable_id, error=str(error))
            return None
        return KnownTimetable(timetable_id=timetable_id, trigger=trigger, reach_ms=reach_ms)

    async def plan(
        self, slices: Sequence[Slice | AtSlice], *, horizon_ms: int, now_ms: int
    ) -> Planned:
        return await self._writer.submit(lambda db: _plan(db, slices, horizon_ms, now_ms))

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

    async def spread_again(self, flow_id: int, *, now_ms: int, spread_ms: int, epoch: int) -> bool:
        return await self._writer.submit(
            lambda db: flows.spread_again(db, flow_id, now_ms, spread_ms, epoch)
        )

    async def count_waiting(self, flow_id: int, now_ms: int) -> int:
        return await self._reader.read(lambda db: flows.count_waiting(db, flow_id, now_ms))

    async def claim(self, runs: Sequence[HeldRun], now_ms: int) -> Claimed:
        return await self._writer.submit(lambda db: self._claim(db, runs, now_ms))

    async def end(self, ended: Sequence[Ended]) -> list[DueRun]:
        return await self._writer.submit(lambda db: _end(db, ended))

    async def open_downtime(self, watermark_ms: int, *, resume_ms: int, rate: int) -> int:
        return await self._writer.submit(
            lambda db: downtime.open_(db, watermark_ms, resume_ms, rate)
        )

    async def judge_downtime(self, now_ms: int) -> bool:
        return await self._writer.submit(lambda db: downtime.judge_slice(db, now_ms))

    async def resume_ended_pauses(self, now_ms: int) -> tuple[list[KnownTimetable], list[DueRun]]:
        stored = await self._writer.submit(
            lambda db: schedules.resume_ended_pauses(db, now_ms, PAUSES_ENDED_MAX)
        )
        return [s.timetable for s in stored if s.timetable], [run for s in stored for run in s.due]

    async def reset_progress(self, now_ms: int) -> None:
        values = {"alive": now_ms, "watermark": now_ms, "horizon": now_ms}
        await self._writer.submit(lambda db: db.execute(SQL["set_progress"], values).rowcount)

    async def prune(self, *, before_ms: int, runs_max: int) -> int:
        return await self._writer.submit(lambda db: history.prune(db, before_ms, runs_max))

    async def sweep(self, after: int, *, before_ms: int) -> int:
        loose = await self._reader.read(lambda db: sweep.loose_targets(db, after))
        return await self._writer.submit(lambda db: sweep.forget(db, after, before_ms, loose))

    def _claim(self, db: sqlite3.Connection, runs: Sequence[HeldRun], now_ms: int) -> Claimed:
        keys = _json([run[1:3] for run in runs])
        claims: list[Claim] = []
        held: list[dict[str, int]] = []
        finished: list[dict[str, Any]] = []
        lines = overlap.Lines(db, now_ms)
        (unjudged_ms,) = db.execute(SQL["get_unjudged"]).fetchone()
        (listed,) = db.execute(SQL["list_claims"], {"keys": keys}).fetchone()
        for row in orjson.loads(listed):
            key = {"scheduled_for": row[0], "schedule_id": row[1], "now": now_ms}
            match _admission(row, unjudged_ms, now_ms, lines):
                case Admission.CLAIM:
                    claims.append(self._claim_of(db, row))
                case Admission.HOLD:
                    held.append(key)
                case Admission.DROP | Admission.WAIT:
                    pass
                case ends:
                    state, reason = _ENDS[ends]
                    finished.append({**key, "state": state, "reason": reason})
        # The exclusive ones are claimed already.
        free = [(c.scheduled_for_ms, c.schedule_row) for c in claims if not c.is_exclusive]
        db.execute(SQL["claim_runs"], {"keys": _json(free), "now": now_ms})
        db.executemany(SQL["end_waiting_run"], finished)
        db.executemany(SQL["hold_run"], held)
        ended = [(f["state"], f["reason"]) for f in finished]
        ended += [_ENDS[Admission.SUPERSEDE]] * lines.superseded
        return Claimed(claims=tuple(claims), ended=tuple(ended), due=lines.moved_up())

    def _claim_of(self, db: sqlite3.Connection, row: Sequence[Any]) -> Claim:
        return Claim(
            scheduled_for_ms=row[0],
            schedule_row=row[1],
            fire_after_ms=row[2],
            due_at_ms=row[3],
            trigger=row[5],
            attempt=row[6] + 1,
            granted_from=row[7],
            first_attempt_at_ms=row[8],
            target=self._target(db, row[9]),
            schedule_id=row[10],
            schedule_name=row[11],
            tenant=row[12],
            deadline_seconds=row[13],
            retry=retry_of(row[15]),
            pause_after_failures=row[16],
            delete_after_completion=bool(row[17]),
            is_exclusive=row[18] != "allow",
        )

    def _target(self, db: sqlite3.Connection, target_id: int) -> Target:
        target = self._targets.get(target_id)
        if target is None:
            (row,) = named_rows(db, SQL["get_target"], (target_id,))
            target = target_of(row)
            if len(target.body) <= TARGET_BYTES_CACHED_MAX:
                self._targets[target_id] = target
                if len(self._targets) > TARGETS_CACHED_MAX:
                    self._targets.popitem(last=False)
        return target


_ENDS: Mapping[Admission, tuple[State, str]] = {
    Admission.EXPIRE: (State.FAILED, "expired"),
    Admission.SKIP: (State.SKIPPED, "paused"),
    Admission.OVERLAP: (State.SKIPPED, "overlap"),
    Admission.SUPERSEDE: (State.SKIPPED, "superseded"),
}
"""How a run ends that never gets its attempt."""


def _admission(
    row: Sequence[Any], unjudged_ms: int, now_ms: int, lines: overlap.Lines
) -> Admission:
    fresh = row[4] == State.PLANNED and row[5] == "schedule" and row[6] == 0
    if fresh and row[3] is not None and row[3] <= unjudged_ms:
        return Admission.DROP  # Missed: the catch-up policy speaks first.
    admission = admit(
        state=row[4],
        next_attempt_at_ms=row[3],
        scheduled_for_ms=row[0],
        deadline_seconds=row[13],
        is_paused=bool(row[14]),
        is_manual=row[5] == "manual",
        now_ms=now_ms,
    )
    if row[18] == "allow":
        return admission
    lines.see(row[1])
    if admission is not Admission.CLAIM:
        return admission
    run = (row[3], row[0], row[1])
    return lines.admit(run, state=row[4], trigger=row[5], overlap=row[18], catch_up=row[19])


def _due(db: sqlite3.Connection, page: dict[str, Any], known: Callable[[int], bool]) -> DuePage:
    statement = "list_due" if page["flow_id"] is None else "list_due_of_flow"
    runs = [HeldRun(*row) for row in db.execute(SQL[statement], page)]
    unknown = {run.flow_id for run in runs if not known(run.flow_id)}
    return DuePage(runs=runs, flows=[flows.get(db, flow_id) for flow_id in sorted(unknown)])


def _begin_life(db: sqlite3.Connection, now_ms: int) -> Progress:
    (alive, watermark, _, lives) = db.execute(SQL["begin_life"], {"now": now_ms}).fetchone()
    db.execute(SQL["record_crashed_attempts"])
    db.execute(SQL["recover_attempting_runs"], {"now": now_ms})
    db.execute(SQL["cancel_recovered_runs"], {"now": now_ms})
    return Progress(alive_ms=alive, watermark_ms=watermark, lives=lives)


def _plan(
    db: sqlite3.Connection, slices: Sequence[Slice | AtSlice], horizon_ms: int, now_ms: int
) -> Planned:
    """Plan as many slices as fit; the horizon is on disk with the first row beyond the watermark.

    An edit that commits between two pages settles its own runs up to the horizon, so that nothing
    slips between a page that has passed and a watermark that has not moved yet. While there is
    nothing to write, the watermark moves only when half of the lookahead is used up: an idle engine
    then writes every few seconds, which is easy on a memory card.
    """
    (_, watermark_ms, _, _) = db.execute(SQL["get_progress"]).fetchone()
    rows = 0
    arrivals: list[Arrival] = []
    rest = list(slices[PLAN_SLICES_MAX:])
    for index, piece in enumerate(slices[:PLAN_SLICES_MAX]):
        written, remainder = _plan_page(db, piece, PLAN_ROWS_MAX - rows)
        arrivals += written
        rows += sum(arrival[3] for arrival in written)
        if remainder is not None or rows >= PLAN_ROWS_MAX:
            tail = slices[index + 1 : PLAN_SLICES_MAX]
            rest = [*([] if remainder is None else [remainder]), *tail, *rest]
            break
    if rows or rest or watermark_ms < (now_ms + horizon_ms) // 2:
        watermark_ms = watermark_ms if rest else horizon_ms
        values = {"alive": now_ms, "watermark": watermark_ms, "horizon": horizon_ms}
        db.execute(SQL["set_progress"], values)
    return Planned(rows=rows, rest=tuple(rest), watermark_ms=watermark_ms, arrivals=tuple(arrivals))


def _plan_page(
    db: sqlite3.Connection, piece: Slice | AtSlice, limit: int
) -> tuple[list[Arrival], Slice | AtSlice | None]:
    """One statement's worth of a slice; the rows written, counted, and what remains of it."""
    if isinstance(piece, Slice):
        return _plan_slice_page(db, piece, limit)
    after_id = piece.after_schedule or _ROW_MAX
    values = {"after": piece.after_ms, "id": after_id, "until": piece.until_ms}
    end = db.execute(SQL["at_page_end"], {**values, "limit": limit}).fetchone()
    until, until_id = end or (piece.until_ms, _ROW_MAX)
    rows = Counter(db.execute(SQL["plan_at"], {**values, "until": until, "until_id": until_id}))
    written = [(0, *instants, count) for instants, count in rows.items()]
    if end is None:
        return written, None
    return written, AtSlice(after_ms=until, until_ms=piece.until_ms, after_schedule=until_id)


def _plan_slice_page(
    db: sqlite3.Connection, piece: Slice, limit: int
) -> tuple[list[Arrival], Slice | None]:
    values = {
        "timetable_id": piece.timetable_id,
        "instant": piece.instant_ms,
        "offset": piece.after_offset_ms,
        "id": piece.after_schedule or _ROW_MAX,
        "until_offset": piece.until_offset_ms,
    }
    end = db.execute(SQL["slice_page_end"], {**values, "limit": limit}).fetchone()
    until, until_id = end or (piece.until_offset_ms, _ROW_MAX)
    bounds = {**values, "until_offset": until, "until_id": until_id}
    rows = Counter(db.execute(SQL["plan_slice"], bounds))
    written = [(piece.timetable_id, piece.instant_ms, at, count) for (at,), count in rows.items()]
    if end is None:
        return written, None
    return written, Slice(
        timetable_id=piece.timetable_id,
        instant_ms=piece.instant_ms,
        after_offset_ms=until,
        until_offset_ms=piece.until_offset_ms,
        after_schedule=until_id,
    )


_ROW_MAX = 2**62
"""Larger than any row id: "all of this offset"."""


def _end(db: sqlite3.Connection, ended: Sequence[Ended]) -> list[DueRun]:
    ends = accumulate(len(e.outcome.response) for e in ended)
    attempts = [_attempt_columns(e, end) for e, end in zip(ended, ends, strict=True)]
    responses = b"".join([e.outcome.response for e in ended])
    db.execute(SQL["insert_attempts"], {"ended": _json(attempts), "responses": responses})
    db.execute(SQL["end_attempts"], {"ended": _json([_run_columns(e) for e in ended])})
    for e in ended:
        if e.outcome.status == 410:
            _pause_schedule(db, e, "the receiver answered 410 Gone")
        if e.claim.pause_after_failures and e.state in TERMINAL:
            _count_failures(db, e)
        if e.claim.delete_after_completion and e.state in TERMINAL:
            _delete_when_complete(db, e)
    left = {e.claim.schedule_row for e in ended if e.claim.is_exclusive and e.state in TERMINAL}
    return [run for row in sorted(left) for run in overlap.next_in_line(db, row)]


def _attempt_columns(e: Ended, response_end: int) -> tuple[Any, ...]:
    """In the order of `insert_attempts`; the response by place, since JSON holds no bytes."""
    claim, outcome = e.claim, e.outcome
    length = len(outcome.response)
    return (
        *(claim.scheduled_for_ms, claim.schedule_row, claim.attempt),
        *(e.started_at_ms, e.ended_at_ms, outcome.name, outcome.status, outcome.error),
        *(response_end - length + 1, length, outcome.response_cut),  # SQL counts from 1.
    )


def _run_columns(e: Ended) -> tuple[Any, ...]:
    """In the order of `end_attempts`."""
    claim = e.claim
    return (
        *(claim.scheduled_for_ms, claim.schedule_row, claim.attempt),
        *(e.state, e.reason, e.next_attempt_at_ms),
        claim.first_attempt_at_ms or e.started_at_ms,
        e.ended_at_ms if e.state in TERMINAL else None,
        int(e.is_probe),
    )


def _json(rows: Sequence[tuple[Any, ...]]) -> str:
    return orjson.dumps(rows).decode()


def _pause_schedule(db: sqlite3.Connection, e: Ended, reason: str) -> None:
    schedules.pause_if_live(db, e.claim.schedule_id, reason, e.ended_at_ms)


def _count_failures(db: sqlite3.Connection, e: Ended) -> None:
    if e.state != State.FAILED:
        db.execute(SQL["clear_failures"], (e.claim.schedule_row,))
        return
    (failures,) = db.execute(SQL["count_failure"], (e.claim.schedule_row,)).fetchone()
    if failures >= e.claim.pause_after_failures:
        _pause_schedule(db, e, f"{failures} runs in a row failed")


def _delete_when_complete(db: sqlite3.Connection, e: Ended) -> None:
    """A schedule that asked for it goes when its last owed run, and any other, has ended."""
    key = {"id": e.claim.schedule_row, "now": e.ended_at_ms}
    complete = db.execute(SQL["get_completion"], key).fetchone()
    (left,) = db.execute(SQL["count_unfinished_of_schedule"], (e.claim.schedule_row,)).fetchone()
    if complete and complete[0] and not left:
        schedules.delete(db, e.claim.schedule_id, e.ended_at_ms)
