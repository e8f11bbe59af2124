"""The occurrence audit after whatever may happen to schedules, engines and clocks."""

import random
from pathlib import Path
from typing import Any

import pytest

from engine.app import Engine
from engine.core.audit import Tally
from engine.core.errors import Invalid, NotFound
from engine.core.identity import format_instant
from engine.core.model import Pause
from tests.simulation.world import HOUR_MS, World, put, simulate

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

    simulate(main, directory, START)


async def edit(engine: Engine, chance: random.Random) -> None:
    """One thing that a tenant may do, to one of six schedules."""
    name = f"s{chance.randrange(6)}"
    try:
        match chance.randrange(8):
            case 0:
                await engine.schedules.delete(name)
            case 1:
                until = chance.choice((None, engine.clock.now_ms() + chance.randrange(90_000)))
                await engine.schedules.pause(name, Pause(until_ms=until))
            case 2:
                await engine.schedules.resume(name)
            case 3:
                await engine.schedules.trigger(name)
            case _:
                await put(engine, name, **document(engine, chance))
    except (Invalid, NotFound):  # Nothing there, or a combination that is refused.
        pass


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
    return rules
