"""What is said of an occurrence that was counted in a range and has no run of its own."""

from pathlib import Path

import pytest

from engine.app import Engine
from engine.core.errors import Counted, NotFound
from engine.core.identity import parse_instant, schedule_id
from engine.core.model import CountedRange, Pause
from tests.simulation.world import HOUR_MS, MINUTE_MS, World, put, simulate

START = "2026-11-30T12:00:30Z"


async def absence(engine: Engine, instant: str) -> NotFound:
    """Why the schedule x has no run then."""
    with pytest.raises(NotFound) as caught:
        await engine.runs.get(schedule_id("default", "x"), parse_instant(instant))
    return caught.value


def test_a_pause_says_from_when_to_when_and_when_it_was_counted(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await engine.schedules.pause("x", Pause())
            await world.until("2026-11-30T12:04:30Z")
            assert not isinstance(await absence(engine, "2026-11-30T12:02:00Z"), Counted)
            await engine.schedules.resume("x")
            found = await absence(engine, "2026-11-30T12:02:00Z")
            assert isinstance(found, Counted)
            assert found.counted == CountedRange(
                reason="paused",
                after_ms=parse_instant(START),
                until_ms=parse_instant("2026-11-30T12:04:30Z"),
                count=4,
                decided_at_ms=parse_instant("2026-11-30T12:04:30Z"),
            )
            assert str(found) == (
                "there is no such run: the schedule was paused (4 in all after 2026-11-30T12:00:30Z"
                " and up to 2026-11-30T12:04:30Z, decided at 2026-11-30T12:04:30Z)"
            )
            assert not isinstance(await absence(engine, "2026-11-30T12:06:00Z"), Counted)

    simulate(main, directory, START)


def test_downtime_says_so(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0, catch_up="skip")
            await world.until("2026-11-30T12:01:30Z")
        world.clock.step(HOUR_MS)
        async with world.engine() as engine:
            back_ms = world.clock.now_ms()
            await world.clock.run_for(MINUTE_MS)
            found = await absence(engine, "2026-11-30T12:30:00Z")
            assert isinstance(found, Counted)
            decided_ms = found.counted.decided_at_ms
            assert (found.counted.reason, found.counted.count) == ("catch_up", 60)
            assert decided_ms is not None
            assert back_ms <= decided_ms < back_ms + 10_000
            assert "it was missed in downtime, and skipped as catch_up says (60 in all" in str(
                found
            )

    simulate(main, directory, START)


def test_pruned_history_says_so(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:02:30Z")
        world.clock.step(8 * 24 * HOUR_MS)
        async with world.engine(history_days=7) as engine:
            await world.clock.run_for(2 * MINUTE_MS)
            found = await absence(engine, "2026-11-30T12:01:00Z")
            assert isinstance(found, Counted)
            assert (found.counted.reason, found.counted.count) == ("pruned", 2)
            assert (found.counted.decided_at_ms or 0) > parse_instant("2026-12-08T12:00:00Z")

    simulate(main, directory, START)
