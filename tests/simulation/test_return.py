"""The engine returns: what waited meanwhile is spread again (SPEC §8), in virtual time."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from engine.core.model import Outcome
from engine.services.transport import HttpRequest
from tests.simulation.world import HOUR_MS, World, put, simulate

AGAIN = Outcome(name="http_error", status=425)
"""To be tried again; it neither opens a breaker nor halves a rate."""
SUCCESS = Outcome(name="success", status=200)

LATER = {"min_backoff_seconds": 60, "max_backoff_seconds": 60, "jitter": "none"}
"""A retry that leaves each run the place it had: a minute later."""

RETURNED = "2026-11-30T13:00:50"  # Without its Z: a fraction sorts behind it.
RUNS = 1_200  # More than one transaction spreads.
RATE = 50


def first_fails(request: HttpRequest) -> Outcome:
    return AGAIN if dict(request.headers)["X-Attempt"] == "1" else SUCCESS


async def fail_all_and_stop(world: World, **document: object) -> None:
    """All runs, due at 12:00:10 fail once; the engine ends before they are tried again."""
    world.answer = first_fails
    async with world.engine(rate=RATE) as engine:
        for index in range(RUNS):
            await put(engine, f"s{index}", at="2026-11-30T12:00:10Z", retry=LATER, **document)
        await world.until("2026-11-30T12:00:50Z")
    world.ledger.clear()


def test_an_overdue_backlog_is_spread_over_twice_its_time_at_full_rate(directory: Path) -> None:
    async def main(world: World) -> list[str]:
        await fail_all_and_stop(world)
        world.clock.step(HOUR_MS)
        async with world.engine(rate=RATE):
            await world.clock.run_for(60_000)
        sent = world.sent()
        assert len({s.key for s in sent}) == len(sent) == RUNS
        # 1,200 runs at half of 50 a second: 48 s, and not 24 s with all of the rate taken.
        assert sent[0].at >= RETURNED
        assert "2026-11-30T13:01:37" < sent[-1].at <= "2026-11-30T13:01:38.100Z"
        busiest = max(Counter(s.at[:19] for s in sent).values())
        assert busiest <= 1.75 * RUNS / 48  # Of so few, chance alone makes 1.56.
        return [f"{s.at} {s.key}" for s in sent]

    start = "2026-11-30T12:00:00Z"
    first, second = (simulate(main, directory / name, start) for name in ("first", "second"))
    assert first == second


def test_an_engine_that_is_cancelled_while_it_drains_leaves_nothing_behind(directory: Path) -> None:
    """As under `asyncio.timeout` around a program that is being cancelled already."""

    async def main(world: World) -> None:
        began = asyncio.Event()

        async def program() -> None:
            async with world.engine() as engine:
                await put(engine, "x", at="2026-11-30T12:00:10Z")
                began.set()
                await asyncio.Event().wait()

        running = asyncio.create_task(program())
        await began.wait()
        await world.until("2026-11-30T12:00:11Z")
        running.cancel()
        await world.clock.run_for(100)  # It drains: the receiver takes 10 s.
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert asyncio.all_tasks() == {asyncio.current_task()}
        async with world.engine():  # The directory is free again.
            await world.until("2026-11-30T12:00:30Z")
        assert [s.attempt for s in world.sent()] == [1, 2]

    simulate(main, directory, "2026-11-30T12:00:00Z", delay_ms=lambda _: 10_000)


def test_another_instant_of_return_is_another_phase(directory: Path) -> None:
    async def main(world: World, away_ms: int) -> list[str]:
        await fail_all_and_stop(world)
        world.clock.step(away_ms)
        async with world.engine(rate=RATE):
            await world.clock.run_for(60_000)
        return [s.key for s in world.sent()]

    start = "2026-11-30T12:00:00Z"
    order = [
        simulate(lambda w, ms=ms: main(w, ms), directory / str(ms), start)
        for ms in (HOUR_MS, HOUR_MS + 1)
    ]
    assert sorted(order[0]) == sorted(order[1])
    assert order[0] != order[1]


def test_a_second_return_leaves_the_instants_of_the_first(directory: Path) -> None:
    async def main(world: World, lives: int) -> dict[str, str]:
        await fail_all_and_stop(world)
        world.clock.step(HOUR_MS)
        for _ in range(lives):
            async with world.engine(rate=RATE):
                await world.clock.run_for(60_000 // lives)
        return {s.key: s.at for s in world.sent()}

    start = "2026-11-30T12:00:00Z"
    whole = simulate(lambda w: main(w, 1), directory / "one", start)
    parts = simulate(lambda w: main(w, 4), directory / "four", start)
    assert len(whole) == len(parts) == RUNS
    same = [key for key, at in whole.items() if parts[key][:19] == at[:19]]
    # The bucket starts empty in each life, so a few wait for tokens and no more.
    assert len(same) >= 0.97 * RUNS


def test_runs_that_are_a_little_late_go_at_once(directory: Path) -> None:
    async def main(world: World) -> None:
        world.answer = first_fails
        async with world.engine(rate=RATE) as engine:
            for index in range(20):
                await put(engine, f"s{index}", at="2026-11-30T12:00:10Z", retry=LATER)
            await world.until("2026-11-30T12:01:09Z")
        world.clock.step(15_000)
        world.ledger.clear()
        async with world.engine(rate=RATE):
            await world.clock.run_for(2_000)
        assert len(world.sent()) == 20

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_fresh_runs_keep_their_own_time_beside_it(directory: Path) -> None:
    async def main(world: World) -> None:
        await fail_all_and_stop(world)
        async with world.engine(rate=RATE) as engine:
            world.answer = lambda _: SUCCESS
            await put(engine, "fresh", every=1, flow_key="fresh", catch_up="skip")
        world.clock.step(HOUR_MS)
        world.ledger.clear()
        async with world.engine(rate=RATE):
            await world.clock.run_for(60_000)
        fresh = [s for s in world.sent("fresh") if s.trigger == "schedule"]
        assert len(fresh) >= 60
        late = [
            s
            for s in fresh
            if s.scheduled_for >= "2026-11-30T13:01" and s.at[:19] + "Z" != s.scheduled_for
        ]
        assert late == []

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_deadline_is_not_missed_for_the_sake_of_an_even_spread(directory: Path) -> None:
    async def main(world: World) -> None:
        await fail_all_and_stop(world, deadline_seconds=3_660)
        world.clock.step(HOUR_MS)
        async with world.engine(rate=200):
            await world.clock.run_for(60_000)
        # At 13:01:10 they are worthless; half of what is left at 13:00:50 is ten seconds.
        assert len(world.sent()) == RUNS
        assert max(s.at for s in world.sent()) <= "2026-11-30T13:01:01Z"

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_runs_that_must_not_overlap_keep_their_order(directory: Path) -> None:
    async def main(world: World) -> None:
        world.delay_ms = lambda _: 20_000
        async with world.engine() as engine:
            await put(engine, "x", every=60, overlap="skip")
            await world.until("2026-11-30T12:01:01Z")
            for _ in range(5):
                await engine.schedules.trigger("x")
                await world.clock.run_for(5)
        world.clock.step(HOUR_MS)
        world.ledger.clear()
        world.delay_ms = lambda _: 10
        async with world.engine():
            await world.clock.run_for(58_000)
        manual = [s.scheduled_for for s in world.sent() if s.trigger == "manual"]
        assert len(manual) == 5
        assert manual == sorted(manual)

    simulate(main, directory, "2026-11-30T12:00:30Z")


@pytest.mark.parametrize("how", ["process", "suspended"])
def test_a_slow_flow_takes_its_time_however_the_engine_was_away(directory: Path, how: str) -> None:
    async def main(world: World) -> None:
        world.answer = first_fails
        async with world.engine() as engine:
            await engine.flows.put("f", rate=4, parallelism=100, paused=False)
            for index in range(40):
                at = "2026-11-30T12:00:10Z"
                await put(engine, f"s{index}", at=at, retry=LATER, flow_key="f")
            await world.until("2026-11-30T12:00:50Z")
            world.clock.step(HOUR_MS)
            if how == "suspended":
                await world.clock.run_for(30_000)
        if how == "process":
            async with world.engine():
                await world.clock.run_for(30_000)
        again = [s.at for s in world.sent() if s.attempt == 2]
        assert len(again) == 40
        # Twenty seconds at half of 4 a second; with all of it, it would be over after ten.
        assert max(again) > "2026-11-30T13:01:08"

    simulate(main, directory, "2026-11-30T12:00:00Z")
