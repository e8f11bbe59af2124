"""Each minute's forecast, frozen before it, against the minute, in virtual time."""

from pathlib import Path

from engine.core.forecast_audit import Digest, Reason
from engine.core.identity import format_instant, parse_instant
from tests.simulation.world import World, put, simulate

START = "2026-11-30T11:56:30Z"
TOP_MS = parse_instant("2026-11-30T12:00:00Z")


async def populate(world: World, engine: object) -> None:
    for number in range(150):
        await put(engine, f"hourly-{number}", cron="0 * * * *", jitter_seconds=60)
    for number in range(20):
        await put(engine, f"often-{number}", cron="*/5 * * * *", jitter_seconds=30)
        await put(engine, f"wide-{number}", every=900, jitter_seconds=600)
    await put(engine, "uneven", every=47, jitter_seconds=10)
    await put(engine, "once", at="2026-11-30T12:17:30Z", jitter_seconds=45)


def test_of_schedules_that_nobody_changes_each_minute_is_what_was_foretold(directory: Path):
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            await populate(world, engine)
            await world.until("2026-11-30T13:03:00Z")
            minutes = engine.forecast_audit.minutes
            assert len(minutes) == 60
            assert format_instant(minutes[-1].frozen.start_ms) == "2026-11-30T12:02:00Z"
            assert [minute.planned_difference for minute in minutes] == [0] * 60
            runs = sum(minute.planned for minute in minutes)
            (planned,) = world.rows(
                "SELECT count(*) FROM job_run WHERE fire_after >= ? AND fire_after < ?",
                minutes[-1].frozen.start_ms,
                minutes[0].frozen.start_ms + 60_000,
            )
            assert (runs,) == planned
            assert runs > 300

    simulate(main, directory, START)


def test_a_schedule_written_after_the_freeze_is_named_with_the_difference(directory: Path):
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            for name in ("stays", "moves"):
                await put(engine, name, cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:30Z")
            await put(engine, "moves", every=10)
            await world.until("2026-11-30T12:03:00Z")
            second, first = engine.forecast_audit.minutes[:2]
            assert (first.frozen.planned, first.planned) == (2, 1 + 1 + 2)
            assert (second.frozen.planned, second.planned) == (2, 1 + 6)
            assert second.reasons == (Reason(cause="schedules_changed", count=1, names=("moves",)),)

    simulate(main, directory, START)


def test_a_run_by_hand_is_served_beside_the_forecast_and_told_as_such(directory: Path):
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            await put(engine, "job", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:30Z")
            await engine.schedules.trigger("job")
            await world.until("2026-11-30T12:02:00Z")
            (minute,) = engine.forecast_audit.minutes[:1]
            assert (minute.planned_difference, minute.served_difference) == (0, 1)
            assert minute.reasons == (Reason(cause="manual_or_backfill", count=1),)

    simulate(main, directory, START)


def test_runs_that_expire_before_their_turn_are_told_as_such(directory: Path):
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            for number in range(10):
                await put(engine, f"s{number}", at="2026-11-30T12:01:00Z", deadline_seconds=5)
            await engine.flows.put("127.0.0.1:9", rate=None, parallelism=1, paused=False)
            await world.until("2026-11-30T12:03:00Z")
            (minute,) = engine.forecast_audit.minutes[:1]
            # One at a time, 3 s each: two start, and the rest are worthless after 5 s.
            assert (minute.frozen.served, minute.served) == (10, 2)
            assert minute.reasons == (Reason(cause="expired", count=8),)

    simulate(main, directory, START, delay_ms=lambda _: 3_000)


def test_runs_that_their_policy_skips_are_told_with_the_reason(directory: Path):
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            await put(engine, "skips", every=5, overlap="skip")
            await put(engine, "buffers", every=5, overlap="buffer_one")
            await world.until("2026-11-30T12:03:00Z")
            (minute,) = engine.forecast_audit.minutes[:1]
            # One that was buffered the minute before is served in this one.
            assert (minute.frozen.served, minute.served) == (24, 9)
            assert minute.reasons == (
                Reason(cause="overlap", count=8),
                Reason(cause="superseded", count=8),
            )

    simulate(main, directory, START, delay_ms=lambda _: 14_000)


def test_a_clock_that_jumps_over_minutes_leaves_them_without_runs_and_says_so(directory: Path):
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            await put(engine, "job", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:55Z")
            world.clock.step(180_000)
            await world.until("2026-11-30T12:05:00Z")
            told = {
                format_instant(minute.frozen.start_ms)[11:16]: minute
                for minute in engine.forecast_audit.minutes
            }
            assert (told["12:02"].frozen.planned, told["12:02"].planned) == (1, 0)
            assert told["12:02"].reasons[0] == Reason(cause="downtime", count=1)

    simulate(main, directory, START)


def test_the_record_of_an_hour_has_what_was_foretold_of_it(directory: Path):
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            for number in range(300):
                await put(engine, f"hourly-{number}", cron="0 * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:02:00Z")
            (record,) = await engine.monitor.records(10)
            # 300 at once, ten saved tokens and 100 a second: the 297th leaves after 2.87 s.
            assert record.forecast == Digest(
                instant_ms=TOP_MS,
                frozen_at_ms=TOP_MS - 10_000,
                runs=300,
                busiest_planned=300,
                busiest_served=110,
                p99_ms=2_870,
                verdict="met",
            )
            assert (record.runs, record.busiest_planned) == (300, 300)

    simulate(main, directory, START)
