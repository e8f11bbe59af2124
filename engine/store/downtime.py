"""Downtime in SQLite: judging what was missed, slice by slice, beside the fresh runs.

When the engine returns, the stretch it slept through is set aside as a row of `downtime` and the
watermark moves past it in the same transaction, so planning goes on at once. The stretch is then
judged a few hundred schedules at a time. How far the judging has come is stored with each slice,
and every step may be repeated: runs are unique by key, counted ranges too.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from engine.core.missed import (
    ALL_WINDOW_SECONDS,
    SPREAD_MS_MIN,
    Missed,
    due_ms,
    judge,
    missed_until_ms,
    spread_ms,
)
from engine.core.model import AtTrigger
from engine.core.owed import Owing
from engine.core.timetable import Timetable, compile_trigger
from engine.store import Judged
from engine.store.rows import timetable_of, trigger_of
from engine.store.statements import statements

SQL = statements()

SCHEDULES_JUDGED_MAX = 500
"""Schedules judged in one transaction: some 10 ms of the database's thread."""

RUNS_CAUGHT_UP_MAX = 2_000
"""Runs of one schedule written in one transaction; a schedule with more is judged in turns."""

OFFSET_MS_MAX = 901_000
"""Larger than any offset: 900 s of jitter and a phase."""

_NO_LIMIT = 10**12
"""Seconds that no catch-up window reaches: `latest` without one looks back for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """A row of `downtime`: owed with after < fire_after <= until, and how far judging has come.

    What is caught up is spread over `spread_ms`; in a flow whose own limit asks for longer, over
    what `slow_flows` has for its id.
    """

    id: int
    after_ms: int
    until_ms: int
    resume_ms: int
    spread_ms: int
    slow_flows: Mapping[int, int]
    timetable_id: int
    offset_ms: int
    schedule_row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """A schedule with what its judgement needs."""

    row: int
    public_id: str
    target_id: int
    flow_id: int
    catch_up: str
    window_seconds: int | None
    owing: Owing


def open_(db: sqlite3.Connection, watermark_ms: int, resume_ms: int, rate: int) -> int:
    """Set the stretch since `watermark_ms` aside; the new watermark, at least ten seconds ago."""
    until_ms = max(watermark_ms, missed_until_ms(resume_ms))
    stretch = _unseen(watermark_ms, resume_ms)
    weights = _weights(db, stretch)
    over_ms = spread_ms(weights.total(), rate)
    values = {
        "after": stretch.after_ms,
        "until": stretch.until_ms,
        "resume": resume_ms,
        "spread_ms": over_ms,
        "slow_flows": orjson.dumps(_slow_flows(db, weights, over_ms)).decode(),
    }
    db.execute(SQL["open_downtime"], values)
    db.execute(
        SQL["set_progress"], {"alive": resume_ms, "watermark": until_ms, "horizon": until_ms}
    )
    return until_ms


def judge_slice(db: sqlite3.Connection, now_ms: int) -> Judged:
    """Judge some schedules of the oldest stretch."""
    row = db.execute(SQL["list_downtime"]).fetchone()
    if row is None:
        return Judged(more=False, skipped=0)
    stretch = _stretch_of(row)
    page = {"after": stretch.after_ms, "until": stretch.until_ms, "limit": SCHEDULES_JUDGED_MAX}
    for statement in ("list_missed_planned", "list_missed_at"):
        rows = db.execute(SQL[statement], page).fetchall()
        if rows:
            verdicts = [_judge(db, _judged(db, judged), stretch, now_ms) for judged in rows]
            return Judged(more=True, skipped=sum(verdict.skipped for verdict in verdicts))
    judged = _judge_timetables(db, stretch, now_ms)
    if not judged.more:
        db.execute(SQL["close_downtime"], (stretch.id,))
    return Judged(more=True, skipped=judged.skipped)


def judge_at_once(db: sqlite3.Connection, schedule_row: int, now_ms: int) -> None:
    """Judge what one schedule has missed so far: the rules it missed it by are about to change."""
    stretches = [_stretch_of(row) for row in db.execute(SQL["list_downtime"]).fetchall()]
    (_, watermark_ms, _, _) = db.execute(SQL["get_progress"]).fetchone()
    if watermark_ms < missed_until_ms(now_ms):  # Nobody has looked at the calendar yet.
        stretches.append(_unseen(watermark_ms, now_ms))
    if stretches:
        judged = _judged(db, db.execute(SQL["get_missed"], (schedule_row,)).fetchone())
    for stretch in stretches:
        complete = False
        while not complete:
            complete = _judge(db, judged, stretch, now_ms).complete


def _judge_timetables(db: sqlite3.Connection, stretch: _Stretch, now_ms: int) -> Judged:
    """Judge a page of schedules of the next timetable due in the stretch, if any is left."""
    if stretch.after_ms >= stretch.until_ms:
        return Judged(
            more=False, skipped=0
        )  # So short that the planner had already written everything.
    timetable_id, offset_ms, schedule_row = (
        stretch.timetable_id,
        stretch.offset_ms,
        stretch.schedule_row,
    )
    for _ in range(SCHEDULES_JUDGED_MAX):
        found = db.execute(SQL["next_timetable"], (timetable_id,)).fetchone()
        if found is None:
            return Judged(more=False, skipped=0)
        if found[0] != timetable_id:
            timetable_id, offset_ms, schedule_row = found[0], -1, 0
        rows: Sequence[tuple[int, ...]] = ()
        if _was_due(found[1], stretch):
            key = {
                "timetable_id": timetable_id,
                "offset": offset_ms,
                "schedule_id": schedule_row,
                "limit": SCHEDULES_JUDGED_MAX,
            }
            rows = db.execute(SQL["list_missed_of_timetable"], key).fetchall()
        if rows:
            before = (offset_ms, schedule_row)
            position, skipped = _judge_page(db, rows, stretch, before, now_ms)
            _advance(db, stretch, timetable_id, *position)
            return Judged(more=True, skipped=skipped)
        timetable_id, offset_ms, schedule_row = timetable_id + 1, -1, 0
    _advance(db, stretch, timetable_id, offset_ms, schedule_row)
    return Judged(more=True, skipped=0)


def _judge_page(
    db: sqlite3.Connection,
    rows: Sequence[tuple[int, ...]],
    stretch: _Stretch,
    position: tuple[int, int],
    now_ms: int,
) -> tuple[tuple[int, int], int]:
    """Judge schedules in order until the page or the transaction's share of runs is used up.

    Gives the (offset, schedule) after which the next page goes on, `position` if none is done, and
    how many occurrences were skipped.
    """
    written = skipped = 0
    for row in rows:
        judged = _judged(db, row)
        verdict = _judge(db, judged, stretch, now_ms)
        written += verdict.written
        skipped += verdict.skipped
        if verdict.complete:
            position = (judged.owing.offset_ms, judged.row)
        if not verdict.complete or written >= RUNS_CAUGHT_UP_MAX:
            break
    return position, skipped


class _Verdict(NamedTuple):
    """One schedule judged: rows touched, occurrences skipped, and whether nothing is left."""

    written: int
    skipped: int
    complete: bool


def _judge(db: sqlite3.Connection, judged: _Judged, stretch: _Stretch, now_ms: int) -> _Verdict:
    """Judge one schedule; one that is not complete is to be judged again."""
    offset_ms = judged.owing.offset_ms
    rows = db.execute(
        SQL["list_missed_rows_of_schedule"],
        {"schedule_id": judged.row, "until": stretch.until_ms},
    ).fetchall()
    missed = judge(
        judged.owing,
        judged.catch_up,  # type: ignore[arg-type]  # the schema's CHECK holds the three words
        judged.window_seconds,
        after_ms=stretch.after_ms - offset_ms,
        until_ms=stretch.until_ms - offset_ms,
        resume_ms=stretch.resume_ms,
    )
    keep = _kept(judged, missed, [instant for instant, _ in rows], stretch.resume_ms)
    total = missed.run_count + len(keep)
    for index, (instant, fire_after_ms) in enumerate(rows):
        key = {"schedule_id": judged.row, "scheduled_for": instant, "now": now_ms}
        if instant in keep:
            at = _due(judged, stretch, index - (len(rows) - len(keep)), total, fire_after_ms)
            db.execute(SQL["catch_up_planned_run"], {**key, "next_attempt_at": at})
        else:
            db.execute(SQL["skip_planned_run"], key)
    skipped = len(rows) - len(keep)
    if missed.skip_count:
        span = {"schedule_id": judged.row, "after": missed.after_ms, "until": missed.run_after_ms}
        values = {**span, "reason": "catch_up", "count": missed.skip_count, "now": now_ms}
        if db.execute(SQL["count_range"], values).rowcount:  # Judged again, it is there already.
            skipped += missed.skip_count
    written = _write_runs(db, judged, missed, stretch, before=len(keep), total=total, now_ms=now_ms)
    return _Verdict(
        written=len(rows) + written, skipped=skipped, complete=written < RUNS_CAUGHT_UP_MAX
    )


def _kept(judged: _Judged, missed: Missed, planned: list[int], resume_ms: int) -> set[int]:
    """Which rows planned before the downtime still run: they are the oldest of what was missed."""
    match judged.catch_up:
        case "all":
            window_ms = (judged.window_seconds or ALL_WINDOW_SECONDS) * 1_000
            return {instant for instant in planned if instant >= resume_ms - window_ms}
        case "latest" if not missed.run_count and not missed.skip_count:
            window_ms = (judged.window_seconds or _NO_LIMIT) * 1_000
            return {instant for instant in planned[-1:] if instant >= resume_ms - window_ms}
        case _:
            return set()


def _write_runs(
    db: sqlite3.Connection,
    judged: _Judged,
    missed: Missed,
    stretch: _Stretch,
    *,
    before: int,
    total: int,
    now_ms: int,
) -> int:
    """Plan the runs that catch up, oldest first, at most a transaction's share of new ones."""
    written = 0
    for index, instant in enumerate(_instants(judged.owing, missed)):
        fire_after_ms = instant + judged.owing.offset_ms
        run = {
            "schedule_id": judged.row,
            "target_id": judged.target_id,
            "flow_id": judged.flow_id,
            "trigger": "catch_up",
            "scheduled_for": instant,
            "fire_after": fire_after_ms,
            "next_attempt_at": _due(judged, stretch, before + index, total, fire_after_ms),
            "now": now_ms,
        }
        written += db.execute(SQL["plan_run"], run).rowcount
        if written >= RUNS_CAUGHT_UP_MAX:
            break
    return written


def _instants(owing: Owing, missed: Missed) -> Iterator[int]:
    after_ms = missed.run_after_ms
    while page := owing.between(after_ms, missed.until_ms, RUNS_CAUGHT_UP_MAX):
        yield from page
        after_ms = page[-1]


def _due(judged: _Judged, stretch: _Stretch, index: int, total: int, fire_after_ms: int) -> int:
    return due_ms(
        judged.public_id,
        index,
        total,
        resume_ms=stretch.resume_ms,
        spread_ms=stretch.slow_flows.get(judged.flow_id, stretch.spread_ms),
        fire_after_ms=fire_after_ms,
    )


def _stretch_of(row: Sequence[Any]) -> _Stretch:
    return _Stretch(
        id=row[0],
        after_ms=row[1],
        until_ms=row[2],
        resume_ms=row[3],
        spread_ms=row[4],
        slow_flows=dict(orjson.loads(row[5])),
        timetable_id=row[6],
        offset_ms=row[7],
        schedule_row=row[8],
    )


def _unseen(watermark_ms: int, resume_ms: int) -> _Stretch:
    """Downtime that is no row yet, from the watermark to what is recent enough to be no miss."""
    until_ms = missed_until_ms(resume_ms)
    return _stretch_of((0, watermark_ms, until_ms, resume_ms, SPREAD_MS_MIN, "[]", 0, -1, 0))


def _advance(
    db: sqlite3.Connection, stretch: _Stretch, timetable_id: int, offset_ms: int, row: int
) -> None:
    position = {"timetable_id": timetable_id, "offset": offset_ms, "schedule_id": row}
    db.execute(SQL["advance_downtime"], {"id": stretch.id, **position})


def _was_due(spec: str, stretch: _Stretch) -> bool:
    timetable = timetable_of(spec)  # None: unreadable, which the planner has logged.
    first = timetable.after(stretch.after_ms - OFFSET_MS_MAX) if timetable else None
    return first is not None and first <= stretch.until_ms


def _weights(db: sqlite3.Connection, stretch: _Stretch) -> Counter[int]:
    """How many runs each flow may have to catch up, by its id: an upper bound, soon counted."""
    weights: Counter[int] = Counter()
    page = {"after": stretch.after_ms, "until": stretch.until_ms, "limit": _MANY}
    for statement in ("list_missed_planned", "list_missed_at"):
        weights.update(row[11] for row in db.execute(SQL[statement], page))
    for timetable_id, spec in db.execute(SQL["list_timetable_specs"]).fetchall():
        if _was_due(spec, stretch):
            once = db.execute(SQL["count_caught_up_latest"], (timetable_id,))
            weights.update(dict(once.fetchall()))
            for row in db.execute(SQL["list_caught_up_all"], (timetable_id,)).fetchall():
                judged = _judged(db, row)
                weights[judged.flow_id] += judge(
                    judged.owing,
                    "all",
                    judged.window_seconds,
                    after_ms=stretch.after_ms - judged.owing.offset_ms,
                    until_ms=stretch.until_ms - judged.owing.offset_ms,
                    resume_ms=stretch.resume_ms,
                ).run_count
    return weights


def _slow_flows(
    db: sqlite3.Connection, weights: Counter[int], over_ms: int
) -> list[tuple[int, int]]:
    """Flows whose runs take longer than `over_ms` at half of their own rate, and how long."""
    own = [
        (flow, spread_ms(weights[flow], rate)) for flow, rate in db.execute(SQL["list_flow_rates"])
    ]
    return [(flow, ms) for flow, ms in own if ms > over_ms]


_MANY = 1_000_000
"""The engine's capacity in schedules: enough to weigh all of them."""


def _judged(db: sqlite3.Connection, row: Sequence[Any]) -> _Judged:
    (row_id, timetable_id, at, offset, owed_after, start_at, last_owed) = row[:7]
    return _Judged(
        row=row_id,
        public_id=row[10],
        target_id=row[9],
        flow_id=row[11],
        catch_up=row[7],
        window_seconds=row[8],
        owing=Owing(
            timetable=_compiled(db, timetable_id, at),
            offset_ms=offset,
            owed_after_ms=owed_after,
            start_at_ms=start_at,
            last_owed_ms=last_owed,
        ),
    )


def _compiled(db: sqlite3.Connection, timetable_id: int | None, at_ms: int | None) -> Timetable:
    if timetable_id is None:
        assert at_ms is not None, "a schedule has a timetable or an instant"
        return compile_trigger(AtTrigger(at_ms=at_ms))
    (spec,) = db.execute(SQL["get_timetable_spec"], (timetable_id,)).fetchone()
    return compile_trigger(trigger_of(spec, None))
