"""Schedules that are written while the planner takes a step: none of their occurrences is lost."""

from pathlib import Path

import pytest

from tests.simulation.world import World, put, simulate


@pytest.mark.parametrize("after_ms", [0, 1, 50, 999, 1_000, 1_001])
def test_a_timetable_learnt_beside_a_planning_step_misses_nothing(
    directory: Path, after_ms: int
) -> None:
    """At 0 ms the first step is under way: its slices do not know the timetable yet."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await world.clock.run_for(after_ms)
            await put(engine, "each-second", every=1)
            await world.clock.run_for(10_000)
        seconds = [s.at for s in world.sent()]
        first = 1 if after_ms < 500 else 2
        assert seconds[:9] == [f"2026-11-30T12:00:{n + first:02d}Z" for n in range(9)]

    simulate(main, directory, "2026-11-30T12:00:00.300Z")


@pytest.mark.parametrize("after_ms", [0, 1, 50, 999, 1_000, 1_001])
def test_a_later_schedule_of_a_timetable_just_learnt_misses_nothing(
    directory: Path, after_ms: int
) -> None:
    """At 0 ms the step under way knows of the timetable, and of no offset as large as this."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await world.clock.run_for(after_ms)
            await put(engine, "exact", every=1, jitter_seconds=0)
            await put(engine, "spread", every=1, jitter_seconds=3)
            await world.clock.run_for(10_000)
        seconds = [s.scheduled_for for s in world.sent("spread")]
        first = 1 if after_ms < 500 else 2
        assert seconds[:7] == [f"2026-11-30T12:00:{n + first:02d}Z" for n in range(7)]

    simulate(main, directory, "2026-11-30T12:00:00.300Z")
