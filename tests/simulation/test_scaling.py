"""The concurrency limit of the real engine, in virtual time (SPEC §8)."""

import asyncio
from pathlib import Path

from engine.app import Engine
from engine.core.document import read_schedule
from tests.simulation.world import World, put, simulate

NOON = "2026-11-30T12:00:00Z"


async def demand(engine: Engine, runs_a_second: int) -> None:
    """So many runs a second from 12:00:10 on, spread by jitter, each a flow of its own."""
    drafts = [
        read_schedule(
            {
                **{"every": 10, "jitter_seconds": 10, "flow_key": f"s{number}"},
                "target": {"url": "http://127.0.0.1:9/hook"},
            },
            tenant=engine.tenant,
            name=f"s{number}",
        )
        for number in range(10 * runs_a_second)
    ]
    await engine.schedules.put_many(drafts)


def test_slow_receivers_get_the_slots_that_littles_law_says(directory: Path) -> None:
    """A second each, 1,000 a second: 1,000 slots and more, and what piled up meanwhile is gone."""

    async def main(world: World) -> None:
        async with world.engine(rate=2_000, concurrency=4_000) as engine:
            await demand(engine, 1_000)
            await world.until("2026-11-30T12:00:09Z")
            assert engine.dispatcher.limit == 512
            await world.until("2026-11-30T12:00:35Z")
            limit, served = engine.dispatcher.limit, len(world.ledger)
            await world.until("2026-11-30T12:00:45Z")
            assert engine.dispatcher.limit == limit >= 1_000
            assert abs(len(world.ledger) - served - 10_000) < 300
            assert engine.waiting.ready < 10

    simulate(main, directory, NOON, delay_ms=lambda _: 1_000)


def test_fast_receivers_get_no_more_than_the_least(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=10_000, concurrency=4_000) as engine:
            await demand(engine, 1_000)
            await world.until("2026-11-30T12:00:20Z")
            assert engine.dispatcher.limit == 512
            assert len(world.ledger) > 9_500

    simulate(main, directory, NOON, delay_ms=lambda _: 20)


def test_receivers_that_hang_leave_slots_for_others_and_a_late_loop_takes_them_away(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine(concurrency=2_000) as engine:
            for number in range(1_000):
                await put(engine, f"s{number}", at="2026-11-30T12:00:10Z", flow_key=f"f{number}")
            await world.until("2026-11-30T12:00:16Z")
            assert engine.dispatcher.inflight == len(world.ledger) == 1_000
            assert 1_000 <= engine.dispatcher.limit <= 2_000
            for _ in range(20):
                stall(ms=100)
                await world.clock.run_for(100)
            assert engine.dispatcher.limit == 512
            assert engine.dispatcher.inflight == 1_000, "what is under way is not broken off"

    simulate(main, directory, NOON, delay_ms=lambda _: 600_000)


def test_the_ceiling_holds_whatever_waits(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(concurrency=600) as engine:
            for number in range(1_000):
                await put(engine, f"s{number}", at="2026-11-30T12:00:10Z", flow_key=f"f{number}")
            await world.until("2026-11-30T12:00:20Z")
            assert engine.dispatcher.limit == engine.dispatcher.inflight == len(world.ledger) == 600

    simulate(main, directory, NOON, delay_ms=lambda _: 60_000)


def stall(*, ms: int) -> None:
    """Take the loop for so long, as a computation does."""
    asyncio.get_running_loop().now_us += ms * 1_000  # type: ignore[attr-defined]  # A VirtualLoop.
