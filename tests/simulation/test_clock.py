"""Calendars that step, and runs in virtual time as such (case C33)."""

import hashlib
from pathlib import Path

import pytest

from engine.core.identity import parse_instant
from tests.simulation.world import HOUR_MS, MINUTE_MS, World, put, simulate


def test_c33_a_clock_set_back_fires_nothing_twice_and_nothing_late(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "five", cron="*/5 * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:10:10Z")
            world.clock.step(-HOUR_MS)
            await world.clock.run_for(70 * MINUTE_MS)
            assert engine.figures.clock_jumps == 1
            assert engine.unready() == []
        assert [(s.at, s.scheduled_for) for s in world.sent()] == [
            (at, at)
            for at in (
                "2026-11-30T12:05:00Z",
                "2026-11-30T12:10:00Z",
                "2026-11-30T12:15:00Z",
                "2026-11-30T12:20:00Z",
            )
        ]

    simulate(main, directory, "2026-11-30T12:01:00Z")


@pytest.mark.parametrize("back_ms", [500, 2_500, HOUR_MS])
def test_c33_what_waits_for_tokens_while_the_clock_is_set_back_goes_out_once_and_not_early(
    directory: Path, back_ms: int
) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=20) as engine:
            for number in range(100):
                await put(engine, f"s{number}", at="2026-11-30T12:01:00Z")
            await world.until("2026-11-30T12:01:00.400Z")
            assert 0 < len(world.ledger) < 100
            before = len(world.ledger)
            world.clock.step(-back_ms)
            await world.clock.run_for(back_ms + 10_000)
        assert min(at_ms for at_ms, _ in world.ledger) >= parse_instant("2026-11-30T12:01:00Z")
        assert before < len({sent.name for sent in world.sent()}) == len(world.ledger) == 100

    simulate(main, directory, "2026-11-30T12:00:30Z")


@pytest.mark.parametrize(("policy", "late"), [("skip", []), ("latest", ["2026-12-01T11:10:00Z"])])
def test_c33_a_clock_set_forward_by_a_day_is_a_day_of_misses(
    directory: Path, policy: str, late: list[str]
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "five", cron="*/5 * * * *", jitter_seconds=0, catch_up=policy)
            await world.until("2026-11-30T11:14:50Z")
            world.clock.step(24 * HOUR_MS)
            await world.clock.run_for(60_000)
        after = [s for s in world.sent() if s.at > "2026-12-01"]
        assert [s.scheduled_for for s in after if s.trigger == "catch_up"] == late
        assert [s.at for s in after if s.trigger == "schedule"] == ["2026-12-01T11:15:00Z"]
        # 11:15 of the day before to 11:10: 288 were missed, counted or run.
        (counted,) = world.rows("SELECT coalesce(sum(count), 0) FROM counted_range")
        assert counted[0] + len(late) == 288

    simulate(main, directory, "2026-11-30T11:01:00Z")


def test_c33_a_short_interval_with_an_old_phase_is_not_walked_period_by_period(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "second", every=1, phase=0, start_at="2016-01-01T00:00:00Z")
            await world.clock.run_for(3_500)
        assert [s.at for s in world.sent()] == [f"2026-11-30T00:00:0{n}Z" for n in (1, 2, 3)]

    simulate(main, directory, "2026-11-30T00:00:00Z")


def test_c33_a_one_shot_waits_for_a_clock_set_back(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "once", at="2026-11-30T12:00:10Z")
            await world.clock.run_for(2_000)
            world.clock.step(-HOUR_MS)
            await world.clock.run_for(30 * MINUTE_MS)
            assert world.sent() == []
            await world.until("2026-11-30T12:01:00Z")
        assert [s.at for s in world.sent()] == ["2026-11-30T12:00:10Z"]

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_clock_a_day_behind_the_journal_stops_dispatch_until_it_is_right(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "minutely", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:01:30Z")
        world.ledger.clear()
        world.clock.step(-25 * HOUR_MS)
        async with world.engine() as engine:
            await world.clock.run_for(5 * MINUTE_MS)
            assert world.sent() == []
            assert "--accept-clock" in engine.unready()[0]
            assert engine.figures.clock_jumps == 0  # It stood there from the start.
            world.clock.step(25 * HOUR_MS)
            await world.clock.run_for(2 * MINUTE_MS)
            assert engine.unready() == []
        assert "2026-11-30T12:08:00Z" in [s.scheduled_for for s in world.sent()]

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_an_engine_whose_planner_stands_still_is_not_ready(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await world.clock.run_for(MINUTE_MS + 500)
            world.clock.step(11_000)  # To the planner, time in which it took no step.
            assert engine.checks()["planner"] == (
                "nothing has been planned for 11 s: see to the load of the machine"
            )
            assert len(engine.unready()) == 1
            await world.clock.run_for(2_000)
            assert engine.unready() == []

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_accept_clock_plans_from_the_clock_and_repeats_no_run(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "daily", cron="0 12 * * *", jitter_seconds=0)
            await put(engine, "minutely", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:01:30Z")
        first = len(world.sent())
        world.clock.step(-50 * HOUR_MS)
        async with world.engine(accept_clock=True) as engine:
            await put(engine, "new", cron="* * * * *", jitter_seconds=0)
            await world.clock.run_for(70 * MINUTE_MS)
            assert engine.unready() == []
        async with world.engine() as engine:  # It is remembered: once is enough.
            await world.clock.run_for(20 * MINUTE_MS)
            assert engine.unready() == []
        world.clock.step(-25 * HOUR_MS)
        async with world.engine() as engine:  # And it is no leave for the next time.
            await world.clock.run_for(MINUTE_MS)
            assert "--accept-clock" in engine.unready()[0]
        keys = [s.key for s in world.sent()]
        assert len(set(keys)) == len(keys)
        assert [s.name for s in world.sent()[first:]] == ["new"] * 90

    simulate(main, directory, "2026-11-30T11:59:30Z")


def test_an_hour_of_two_hundred_schedules_leaves_the_same_trace_twice(directory: Path) -> None:
    async def main(world: World) -> str:
        async with world.engine() as engine:
            for index in range(200):
                cron = ("* * * * *", "*/5 * * * *", "0 * * * *", "H * * * *")[index % 4]
                await put(engine, f"s{index}", cron=cron)
            await world.clock.run_for(HOUR_MS)
        trace = hashlib.sha256()
        for at_ms, request in world.ledger:
            unsigned = [h for h in request.headers if "ignature" not in h[0]]
            trace.update(f"{at_ms} {request.url} {unsigned} {request.body!r}\n".encode())
        for row in world.rows("SELECT * FROM job_run ORDER BY scheduled_for, schedule_id"):
            trace.update(f"{row}\n".encode())
        assert len(world.ledger) > 3_000
        return trace.hexdigest()

    start = "2026-11-30T11:59:30Z"
    first, second = (simulate(main, directory / name, start) for name in ("first", "second"))
    assert first == second


def test_every_start_is_at_or_after_its_fire_time(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            for index in range(50):
                await put(engine, f"s{index}", every=7, jitter_seconds=13)
            await world.clock.run_for(2 * MINUTE_MS)
        assert len(world.ledger) > 700
        for at_ms, request in world.ledger:
            assert at_ms >= parse_instant(dict(request.headers)["X-Fire-After"])

    simulate(main, directory, "2026-11-30T12:00:00Z")
