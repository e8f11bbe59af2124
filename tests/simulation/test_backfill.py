"""Backfill: what has no run gets one, once, spread, beside everything else (SPEC §6)."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from engine.app import Engine
from engine.core.backfill import Backfill
from engine.core.errors import Conflict, Invalid, NotFound
from engine.core.identity import idempotency_key, parse_instant
from engine.core.model import Outcome, Pause
from engine.store.backfill import SqliteBackfills
from tests.simulation.world import MINUTE_MS, World, put, simulate

START = "2026-11-30T12:00:30Z"


async def backfill(engine: Engine, begin: str, end: str, *, dry_run: bool = False) -> Backfill:
    """Backfill the schedule x between two times of the day."""
    bounds = [parse_instant(f"2026-11-30T{text}Z") for text in (begin, end)]
    return await engine.backfills.run("x", from_ms=bounds[0], to_ms=bounds[1], dry_run=dry_run)


def minutes(*numbers: int) -> list[str]:
    return [f"2026-11-30T12:{number:02d}:00Z" for number in numbers]


def sent_for(world: World, **wanted: Any) -> list[str]:
    """The `scheduled_for` of what was sent with these marks, in their order."""
    sent = [s for s in world.sent() if all(getattr(s, k) == v for k, v in wanted.items())]
    return sorted(s.scheduled_for for s in sent)


def test_a_pause_is_filled_and_what_has_run_does_not_run_again(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "x", cron="* * * * *")
            await world.until("2026-11-30T12:05:30Z")
            await engine.schedules.pause("x", Pause())
            await world.until("2026-11-30T12:09:30Z")
            await engine.schedules.resume("x")
            await world.until("2026-11-30T12:12:30Z")
            dry = await backfill(engine, "12:01:00", "12:12:00", dry_run=True)
            done = await backfill(engine, "12:01:00", "12:12:00")
            assert done == dry
            assert done == Backfill(
                count=4,
                first_ms=parse_instant(minutes(6)[0]),
                last_ms=parse_instant(minutes(9)[0]),
                spread_until_ms=parse_instant("2026-11-30T12:12:40Z"),
            )
            await world.until("2026-11-30T12:12:45Z")
            assert await backfill(engine, "12:01:00", "12:12:00") == Backfill()
            await world.until("2026-11-30T12:13:30Z")
        assert sent_for(world, trigger="backfill") == minutes(6, 7, 8, 9)
        assert sent_for(world, trigger="schedule") == minutes(1, 2, 3, 4, 5, 10, 11, 12, 13)
        identity = schedule.definition.schedule_id
        keys = {s.scheduled_for: s.key for s in world.sent()}
        assert keys == {at: idempotency_key(identity, parse_instant(at)) for at in keys}

    simulate(main, directory, START)


@pytest.mark.parametrize("jitter_seconds", [0, 45, 900])
def test_spans_that_touch_neither_overlap_nor_leave_a_gap(
    directory: Path, jitter_seconds: int
) -> None:
    """Bounds compared with jittered times would take a neighbour in, or leave an edge out."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            cron = {"cron": "* * * * *", "jitter_seconds": jitter_seconds}
            schedule = await put(engine, "x", **cron, start_at="2026-11-30T11:00:00Z")
            counts = [
                (await backfill(engine, begin, end)).count
                for begin, end in [
                    ("11:10:00", "11:20:00"),
                    ("11:20:00", "11:20:01"),
                    ("11:20:01", "11:30:00"),
                ]
            ]
            assert counts == [10, 1, 9]
            await world.clock.run_for(15_000)
        assert sent_for(world, trigger="backfill") == [
            f"2026-11-30T11:{minute}:00Z" for minute in range(10, 30)
        ]
        rows = world.rows("SELECT DISTINCT fire_after - scheduled_for FROM job_run")
        assert rows == [(schedule.definition.offset_ms,)]

    simulate(main, directory, START)


def test_a_dry_run_counts_and_plans_nothing(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="0 * * * *")
            dry = await backfill(engine, "03:00:00", "12:00:00", dry_run=True)
            assert (dry.count, world.rows("SELECT count(*) FROM job_run")) == (9, [(0,)])
            assert await backfill(engine, "03:00:00", "12:00:00") == dry

    simulate(main, directory, START)


def test_thousands_are_spread_and_fresh_runs_keep_their_own_time(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=500, burst=50) as engine:
            await put(engine, "fresh", every=1, jitter_seconds=0)
            await put(engine, "x", every=2, jitter_seconds=0)
            begun_ms = world.clock.now_ms()
            # 4,500 at half of 500 a second.
            done = await backfill(engine, "09:30:00", "12:00:00")
            assert done.count == 4_500
            assert done.spread_until_ms == begun_ms + 18_000
            await world.clock.run_for(20_000)
        backfilled = [s for s in world.sent("x") if s.trigger == "backfill"]
        assert len({s.key for s in backfilled}) == len(backfilled) == 4_500
        seconds = [s.at[:19] for s in backfilled]
        # A share of 250 a second, of which the edges and the drawn phase may move a few.
        assert max(map(seconds.count, set(seconds))) <= 252
        assert all(s.at == s.scheduled_for for s in world.sent("fresh"))

    simulate(main, directory, START)


def test_runs_of_a_schedule_that_forbids_overlap_wait_in_line(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            target = {"url": "http://127.0.0.1:9/hook", "timeout_seconds": 60}
            await put(engine, "x", cron="0 * * * *", overlap="skip", target=target)
            await backfill(engine, "08:00:00", "12:00:00")
            await world.clock.run_for(3 * MINUTE_MS)
        assert [s.scheduled_for[11:13] for s in world.sent()] == ["08", "09", "10", "11"]
        times = [at_ms for at_ms, _ in world.ledger]
        assert all(b - a >= 25_000 for a, b in itertools.pairwise(times))

    simulate(main, directory, START, delay_ms=lambda _: 25_000)


def test_it_outlives_a_restart_and_is_not_missed_by_it(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="0 * * * *", catch_up="skip")
            await backfill(engine, "02:00:00", "12:00:00")
            await world.clock.run_for(3_000)
        early = len(world.sent())
        assert 0 < early < 10
        await world.clock.run_for(20 * MINUTE_MS)
        async with world.engine():
            await world.clock.run_for(20_000)
        assert [s[11:13] for s in sent_for(world)] == [f"{hour:02d}" for hour in range(2, 12)]

    simulate(main, directory, START)


def test_what_history_has_forgotten_is_not_run_again(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(history_runs=3) as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:20:30Z")
            pruned = world.rows("SELECT count, until FROM counted_range WHERE reason = 'pruned'")
            assert pruned[0][0] > 10
            assert await backfill(engine, "12:00:00", "12:21:00") == Backfill()
            await world.clock.run_for(15_000)
        assert len(world.sent()) == len({s.key for s in world.sent()}) == 20

    simulate(main, directory, START)


def test_an_occurrence_whose_run_an_edit_cancelled_may_have_one(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:57Z")
            await put(engine, "x", cron="0 0 * * *", jitter_seconds=0)
            assert world.rows("SELECT reason FROM job_run") == [("vanished",)]
            await world.until("2026-11-30T12:02:30Z")
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            assert (await backfill(engine, "12:01:00", "12:02:00")).count == 1
            await world.until("2026-11-30T12:02:45Z")
        assert sent_for(world) == minutes(1)

    simulate(main, directory, START)


def test_it_is_refused_where_its_runs_would_come_to_nothing(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            with pytest.raises(NotFound):
                await backfill(engine, "11:00:00", "12:00:00")
            await put(engine, "x", every=1)
            with pytest.raises(Invalid, match="100,000"):
                await engine.backfills.run("x", from_ms=0, to_ms=10**13, dry_run=True)
            await engine.schedules.pause("x", Pause())
            with pytest.raises(Conflict, match="paused"):
                await backfill(engine, "11:00:00", "12:00:00")

    simulate(main, directory, START)


def test_two_at_once_plan_each_occurrence_once(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="0 * * * *")
            calls = (backfill(engine, "02:00:00", "12:00:00") for _ in range(2))
            counts = [done.count for done in await asyncio.gather(*calls)]
            assert sum(counts) == 10
            await world.clock.run_for(15_000)
        assert len(world.sent()) == len({s.key for s in world.sent()}) == 10

    simulate(main, directory, START)


def test_runs_made_for_a_schedule_that_was_edited_meanwhile_are_refused(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "x", cron="0 * * * *")
            instant_ms = parse_instant("2026-11-30T11:00:00Z")
            past = SqliteBackfills(*engine._connections[:2])
            identity = schedule.definition.schedule_id
            now_ms = world.clock.now_ms()
            span = await past.span(identity, instant_ms, instant_ms + 1, now_ms, if_match=None)
            await put(engine, "x", cron="30 * * * *")
            with pytest.raises(Conflict, match="changed meanwhile"):
                await past.plan(span, [instant_ms], range(1), now_ms=now_ms, rate=1)

    simulate(main, directory, START)


def test_of_a_limited_flow_half_of_its_rate_is_given(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await engine.flows.put("slow", rate=2, parallelism=20, paused=False)
            await put(engine, "x", every=60, jitter_seconds=0, flow_key="slow")
        async with world.engine() as engine:  # Which has not heard of the flow yet.
            begun_ms = world.clock.now_ms()
            dry = await backfill(engine, "11:00:00", "12:00:00", dry_run=True)
            done = await backfill(engine, "11:00:00", "12:00:00")
            assert done == dry
            assert done.spread_until_ms == begun_ms + 60_000  # 60 at one a second.
            await world.clock.run_for(70_000)
        late = [
            at_ms - begun_ms for at_ms, r in world.ledger if ("X-Trigger", "backfill") in r.headers
        ]
        assert len(late) == 60
        assert all(1_000 * i <= ms <= 1_000 * (i + 2) for i, ms in enumerate(late))

    simulate(main, directory, START)


def test_of_a_flow_whose_receiver_asks_for_less_half_of_what_it_gets_is_given(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        world.answer = lambda _: Outcome(name="http_error", status=429)
        async with world.engine() as engine:
            await put(engine, "x", every=1, jitter_seconds=0, retry={"max_attempts": 1})
            await world.clock.run_for(5_000)
            begun_ms = world.clock.now_ms()
            done = await backfill(engine, "11:59:00", "12:00:00")
            assert done.spread_until_ms == begun_ms + 120_000  # 60 at half of one a second.

    simulate(main, directory, START)
