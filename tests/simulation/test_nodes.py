"""How many nodes the engine asks for (SPEC §8, `scheduler_desired_nodes`), in virtual time."""

from pathlib import Path

from engine.app import Engine
from engine.core.document import read_schedule
from tests.simulation.world import World, simulate


async def put_many(engine: Engine, count: int, **document: object) -> None:
    target = {"url": "http://127.0.0.1:9/hook"}
    drafts = [
        read_schedule(
            {"target": target, "flow_key": f"f{number % 100}", **document},
            tenant=engine.tenant,
            name=f"s{number}",
        )
        for number in range(count)
    ]
    await engine.schedules.put_many(drafts)


def test_nodes_are_asked_for_before_the_herd_comes(directory: Path) -> None:
    """2,600 at one instant within 15.15 s need 172 a second: two nodes of 100."""

    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            await put_many(engine, 2_600, cron="0 13 * * *", jitter_seconds=0)
            assert engine.nodes.desired == 1
            await world.until("2026-11-30T12:20:00Z")
            assert engine.waiting.ready == 0
            assert engine.nodes.desired == 2
            await world.until("2026-11-30T13:20:00Z")
            assert engine.nodes.desired == 1, "the next herd is more than an hour away"

    simulate(main, directory, "2026-11-30T12:10:00Z")


def test_a_backlog_asks_for_nodes_unless_it_waits_for_a_receiver(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=10) as engine:
            await put_many(engine, 1_000, at="2026-11-30T12:00:10Z")
            await world.until("2026-11-30T12:00:15Z")
            assert engine.nodes.desired == 7  # About 950 wait; a node starts 150 in 15 s.
            for number in range(100):
                await engine.flows.put(f"f{number}", rate=None, parallelism=20, paused=True)
            await world.clock.run_for(2_000)
            assert engine.waiting.ready > 900
            assert engine.nodes.desired == 1

    simulate(main, directory, "2026-11-30T12:00:00Z")
