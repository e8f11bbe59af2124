"""One-shots: an instant to come or just past, and a key that no manual run takes (case C60)."""

from pathlib import Path

import pytest

from engine.core.errors import Invalid
from engine.core.identity import parse_instant
from tests.simulation.world import MINUTE_MS, World, put, simulate


def test_a_manual_run_leaves_the_instant_of_a_one_shot_to_its_own_run(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "once", at="2026-11-30T12:00:01.500Z", jitter_seconds=900)
            await world.until("2026-11-30T12:00:01.500Z")
            await engine.schedules.trigger("once")
            await world.until("2026-11-30T12:15:01.500Z")
        assert [(s.scheduled_for, s.trigger) for s in world.sent()] == [
            ("2026-11-30T12:00:01.501Z", "manual"),
            ("2026-11-30T12:00:01.500Z", "schedule"),
        ]

    simulate(main, directory, "2026-11-30T12:00:00Z")


@pytest.mark.parametrize(
    ("at", "timezone", "fires"),
    [
        ("2026-11-30T12:05:00", "America/New_York", "2026-11-30T17:05:00Z"),
        ("2026-11-30T12:00:00.500Z", None, "2026-11-30T12:00:00.500Z"),
        ("2026-11-30T12:00:03Z", None, "2026-11-30T12:00:03Z"),
        ("2026-11-30T11:59:50Z", None, "2026-11-30T12:00:00Z"),
        ("2027-03-14T02:30:00", "America/New_York", "2027-03-14T07:00:00Z"),
        ("2027-11-07T01:30:00", "America/New_York", "2027-11-07T05:30:00Z"),
    ],
)
def test_c60_a_one_shot_fires_once_at_its_instant(
    directory: Path, at: str, timezone: str | None, fires: str
) -> None:
    async def main(world: World) -> None:
        zone = {"timezone": timezone} if timezone else {}
        async with world.engine() as engine:
            await put(engine, "once", at=at, **zone)
            await world.clock.run_for(5_000)
        if fires > "2026-11-30T12:01":
            # Months in steps of a second would be slow: the engine is away until just before.
            world.clock.step(parse_instant(fires) - world.clock.now_ms() - 7_000)
            async with world.engine():
                await world.clock.run_for(15_000)
        async with world.engine():
            await world.clock.run_for(MINUTE_MS)
        # The one just past has ten seconds of grace: it is sent as soon as the engine sees it.
        assert [s.at[:19] for s in world.sent()] == [fires[:19]]

    simulate(main, directory, "2026-11-30T12:00:00Z")


@pytest.mark.parametrize("at", ["2026-11-30T11:59:49.999Z", "2026-11-30T12:05:00"])
def test_c60_an_instant_past_or_without_a_zone_is_refused(directory: Path, at: str) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            with pytest.raises(Invalid) as refused:
                await put(engine, "once", at=at)
            assert refused.value.faults[0].pointer == "/at"

    simulate(main, directory, "2026-11-30T12:00:00Z")
