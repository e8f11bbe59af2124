"""The occurrence audit after whatever may happen to schedules, engines and clocks."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.app import Engine
from engine.core.audit import Tally
from engine.core.errors import Conflict, Invalid, NotFound
from engine.core.identity import format_instant, parse_instant
from engine.core.model import Outcome, Pause, Run
from engine.core.replay import Selection
from engine.services.transport import HttpRequest
from tests.simulation.world import HOUR_MS, MINUTE_MS, World, put, simulate

START = "2026-11-30T11:59:30Z"
CATCH_UP: tuple[dict[str, Any], ...] = (
    {},
    {"catch_up": "skip"},
    {"catch_up": "all", "catch_up_window_seconds": 600},
    {"catch_up": "latest", "catch_up_window_seconds": 60},
)


async def audit(engine: Engine) -> Tally:
    """Everything that there was, and what is to come within the hour."""
    from_ms = await engine.audit.history_floor_ms()
    return await engine.audit.run(from_ms, engine.clock.now_ms() + HOUR_MS)


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_unaccounted_after_a_random_walk(directory: Path, seed: int) -> None:
    chance = random.Random(seed)

    async def main(world: World) -> None:
        for _ in range(3):
            async with world.engine(rate=chance.choice((50, 1_000))) as engine:
                for _ in range(12):
                    await edit(engine, chance)
                    await world.clock.run_for(chance.choice((1, 300, 4_000, 15_000, 70_000)))
                    if chance.random() < 0.15:
                        world.clock.step(
                            chance.choice((-700_000, -3_500, 8_000, 45_000, 2_000_123))
                        )
                tally = await audit(engine)
                assert tally.findings == ()
                assert tally.unaccounted == 0
            world.clock.step(chance.choice((0, 500, 9_000, 30_000, HOUR_MS)))
        assert tally.owed > 0

    simulate(main, directory, START, answer=answer, delay_ms=lambda _: chance.randrange(9_000))


def answer(request: HttpRequest) -> Outcome:
    """A third of the runs fail at first, a few for good, now and then with 410 Gone."""
    whim = int(dict(request.headers)["Idempotency-Key"][:4], 16)
    if whim % 50 == 0:
        return Outcome(name="http_error", status=410)
    if whim % 7 == 0:
        return Outcome(name="http_error", status=400)
    if whim % 3 == 0 and dict(request.headers)["X-Attempt"] == "1":
        return Outcome(name="http_error", status=503)
    return Outcome(name="success", status=200)


async def edit(engine: Engine, chance: random.Random) -> None:
    """One thing that a tenant may do, to one of six schedules."""
    name = f"s{chance.randrange(6)}"
    try:
        match chance.randrange(11):
            case 0:
                await engine.schedules.delete(name)
            case 1:
                until = chance.choice((None, engine.clock.now_ms() + chance.randrange(90_000)))
                await engine.schedules.pause(name, Pause(until_ms=until))
            case 2:
                await engine.schedules.resume(name)
            case 3:
                await engine.schedules.trigger(name)
            case 4:
                to_ms = engine.clock.now_ms() - 1
                span = {"from_ms": to_ms - chance.randrange(HOUR_MS), "to_ms": to_ms}
                await engine.backfills.run(name, **span, dry_run=False)
            case 5 | 6:
                await intervene(engine, chance)
            case _:
                await put(engine, name, **document(engine, chance))
    except (Conflict, Invalid, NotFound):  # Nothing there, or a combination that is refused.
        pass


async def intervene(engine: Engine, chance: random.Random) -> None:
    """Cancel or replay a run, or replay or delete what has failed lately."""
    since_ms = engine.clock.now_ms() - chance.randrange(1, 600_000)
    which = Selection(tenant=engine.tenant, from_ms=since_ms)
    bounds: dict[str, Any] = {"schedule": None, "state": None, "from_ms": None, "to_ms": None}
    page, _ = await engine.runs.page(**bounds, limit=30, after=None)
    match chance.randrange(4):
        case 0:
            await engine.of(engine.tenant).dead_letters.delete(which, dry_run=False)
        case 1:
            await engine.of(engine.tenant).dead_letters.replay(which, dry_run=False)
        case 2 if page:
            await engine.runs.cancel(*key_of(chance.choice(page)))
        case 3 if page:
            await engine.runs.replay(*key_of(chance.choice(page)))


def key_of(run: Run) -> tuple[str, int]:
    return run.schedule_id, run.scheduled_for_ms


def document(engine: Engine, chance: random.Random) -> dict[str, Any]:
    now_ms = engine.clock.now_ms()
    rules: dict[str, Any] = chance.choice(
        (
            {"cron": "* * * * *"},
            {"cron": "*/20 * * * * *"},
            {"every": 7, "phase": chance.randrange(7)},
            {"every": 90},
            {"at": format_instant(now_ms + chance.randrange(-9_000, 60_000))},
        )
    )
    rules |= {"jitter_seconds": chance.choice((0, 3, 60, 900)), **chance.choice(CATCH_UP)}
    if chance.random() < 0.2:
        rules["max_runs"] = chance.randrange(1, 9)
    if chance.random() < 0.2:
        rules["start_at"] = format_instant(now_ms + chance.randrange(-60_000, 60_000))
    if chance.random() < 0.2:
        rules["end_at"] = format_instant(now_ms + chance.randrange(120_000))
    if chance.random() < 0.1:
        rules["paused"] = chance.random() < 0.5
    if "max_runs" in rules or "end_at" in rules:
        rules["delete_after_completion"] = chance.random() < 0.5
    rules["pause_after_failures"] = chance.choice((0, 0, 1))
    rules["overlap"] = chance.choice(("allow", "skip", "buffer_one"))
    return rules


def change(world: World, statement: str, *values: object) -> None:
    """Do to the journal's file what nobody should."""
    with closing(sqlite3.connect(world.directory / "offbeat.db")) as db, db:
        db.execute(statement, values)


def named(tally: Tally) -> list[tuple[str, str, str, int]]:
    return [
        (f.schedule_name, format_instant(f.first_ms), format_instant(f.last_ms), f.count)
        for f in tally.findings
    ]


def test_a_row_deleted_by_hand_is_found_and_named(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            for name in ("other", "robbed"):
                await put(engine, name, cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:09:30Z")
            assert (await audit(engine)).unaccounted == 0
            change(
                world,
                "DELETE FROM job_run WHERE scheduled_for IN (?, ?, ?)"
                " AND schedule_id = (SELECT id FROM schedule WHERE name = 'robbed')",
                *(parse_instant(f"2026-11-30T12:0{minute}:00Z") for minute in (2, 3, 7)),
            )
            tally = await audit(engine)
        assert named(tally) == [
            ("robbed", "2026-11-30T12:02:00Z", "2026-11-30T12:03:00Z", 2),
            ("robbed", "2026-11-30T12:07:00Z", "2026-11-30T12:07:00Z", 1),
        ]
        assert (tally.schedules, tally.runs, tally.unaccounted) == (2, 17, 3)

    simulate(main, directory, START)


def test_a_count_that_is_too_small_is_found(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:01:50Z")
            await engine.schedules.pause("x", Pause())
            await world.until("2026-11-30T12:05:30Z")
            await engine.schedules.resume("x")
            await world.until("2026-11-30T12:06:30Z")
            tally = await audit(engine)
            assert (tally.runs, tally.counted, tally.unaccounted) == (3, 4, 0)
            change(world, "UPDATE counted_range SET count = 3")
            tally = await audit(engine)
        assert named(tally) == [("x", "2026-11-30T12:01:50.001Z", "2026-11-30T12:05:30Z", 1)]
        assert (tally.counted, tally.unaccounted) == (3, 1)

    simulate(main, directory, START)


def test_a_backfill_inside_a_counted_pause_hides_no_loss(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:01:50Z")
            await engine.schedules.pause("x", Pause())
            await world.until("2026-11-30T12:05:30Z")
            await engine.schedules.resume("x")
            await world.until("2026-11-30T12:06:30Z")
            from_ms, to_ms = (parse_instant(f"2026-11-30T12:0{m}:00Z") for m in (2, 4))
            await engine.backfills.run("x", from_ms=from_ms, to_ms=to_ms, dry_run=False)
            tally = await audit(engine)
            assert (tally.runs, tally.counted, tally.unaccounted) == (5, 2, 0)
            change(world, "UPDATE counted_range SET count = 3")
            tally = await audit(engine)
        assert (tally.runs, tally.counted, tally.unaccounted) == (5, 1, 1)

    simulate(main, directory, START)


def test_what_is_not_due_or_rests_is_pending(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "ahead", cron="*/10 * * * *", jitter_seconds=0)
            await put(engine, "rests", cron="*/10 * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:05:00Z")
            await engine.schedules.pause("rests", Pause())
            await world.until("2026-11-30T12:35:00Z")
            tally = await audit(engine)  # Until 13:35.
        assert (tally.owed, tally.runs, tally.pending) == (20, 5, 15)
        assert tally.unaccounted == 0

    simulate(main, directory, START)


@pytest.mark.parametrize("how", ["edited", "paused", "deleted"])
def test_downtime_is_judged_by_the_rules_of_its_time(directory: Path, how: str) -> None:
    """The change is the first thing that the engine hears of when it returns."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:30Z")
        world.clock.step(HOUR_MS)
        async with world.engine() as engine:
            match how:
                case "edited":
                    await put(engine, "x", cron="30 3 * * *", jitter_seconds=0)
                case "paused":
                    await engine.schedules.pause("x", Pause())
                case _:
                    await engine.schedules.delete("x")
            await world.clock.run_for(20_000)
            tally = await audit(engine)
        # 12:00 ran in time; of 12:01 to 13:00 the newest has a run, whatever became of it.
        ended = {"edited": "succeeded", "paused": "skipped", "deleted": "cancelled"}[how]
        (last,) = world.rows("SELECT state FROM job_run ORDER BY scheduled_for DESC LIMIT 1")
        assert last == (ended,)
        assert (tally.runs, tally.counted, tally.unaccounted) == (2, 59, 0)

    simulate(main, directory, START)


def test_an_occurrence_begun_when_its_schedule_is_deleted_is_cancelled(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="0 12 * * *", jitter_seconds=900)
            await world.until("2026-11-30T12:00:01Z")  # It fires minutes later.
            await engine.schedules.delete("x")
            tally = await audit(engine)
        assert world.rows("SELECT state, reason FROM job_run") == [("cancelled", "deleted")]
        assert (tally.owed, tally.runs) == (1, 1)

    simulate(main, directory, START)


def test_a_pause_counts_by_the_rules_of_each_of_its_parts(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0, paused=True)
            await world.until("2026-11-30T12:04:30Z")
            await put(engine, "x", cron="*/2 * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:10:30Z")
            await engine.schedules.delete("x")
            tally = await audit(engine)
        counts = world.rows("SELECT count FROM counted_range ORDER BY after")
        assert counts == [(5,), (3,)]  # 12:00 to 12:04; 12:06, 12:08, 12:10
        assert (tally.counted, tally.unaccounted) == (8, 0)

    simulate(main, directory, START)


def test_what_history_has_forgotten_is_not_audited(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "gone", every=10)
            await put(engine, "x", every=10)
            await world.clock.run_for(2 * MINUTE_MS)
            await engine.schedules.delete("gone")
            await put(engine, "x", every=60)
        world.clock.step(8 * 24 * HOUR_MS)
        async with world.engine() as engine:
            await world.clock.run_for(3 * MINUTE_MS)
            floor_ms = await engine.audit.history_floor_ms()
            with pytest.raises(Invalid, match=f"history begins at {format_instant(floor_ms)}"):
                await engine.audit.run(floor_ms - 1, engine.clock.now_ms())
            tally = await audit(engine)
            assert (tally.schedules, tally.unaccounted) == (1, 0)
        assert floor_ms >= parse_instant("2026-11-30T12:01:30Z")
        assert world.rows("SELECT count(*) FROM revision") == [(0,)]

    simulate(main, directory, START)


def test_a_timetable_never_gets_the_id_of_a_forgotten_one(directory: Path) -> None:
    """The planner knows timetables by id, and would go on with the old expression."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "first", every=7)
            await put(engine, "second", every=90)
            await put(engine, "second", every=7)
            await world.clock.run_for(3 * MINUTE_MS)  # What nobody uses is swept.
            await put(engine, "third", every=11, jitter_seconds=0)
            await world.clock.run_for(MINUTE_MS)
            assert (await audit(engine)).unaccounted == 0
        seconds = [parse_instant(s.scheduled_for) // 1_000 for s in world.sent("third")]
        assert len(seconds) >= 5
        assert {second % 11 for second in seconds} == {0}

    simulate(main, directory, START)
