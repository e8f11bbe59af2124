"""What happens to occurrences that were missed (SPEC §6; cases C28, C32, C37)."""

from pathlib import Path

import pytest

from engine.core.errors import NotFound
from engine.core.identity import parse_instant, unit_u53
from engine.core.model import Pause
from tests.simulation.world import HOUR_MS, World, put, simulate

STOPPED = "2026-11-27T18:00:30Z"
RETURNED = "2026-11-30T08:00:30"  # Without its Z: a fraction sorts behind it.
AWAY_MS = 2 * 24 * HOUR_MS + 14 * HOUR_MS


async def be_away(world: World, how: str, policies: dict[str, dict[str, object]]) -> None:
    """Run until STOPPED, be away until RETURNED, and run for another 90 seconds."""
    if how == "process":
        async with world.engine() as engine:
            for name, policy in policies.items():
                await put(engine, name, cron="* * * * *", jitter_seconds=0, **policy)
            await world.until(STOPPED)
        world.clock.step(AWAY_MS)
        async with world.engine():
            await world.clock.run_for(90_000)
    else:
        async with world.engine() as engine:
            for name, policy in policies.items():
                await put(engine, name, cron="* * * * *", jitter_seconds=0, **policy)
            await world.until(STOPPED)
            world.clock.step(AWAY_MS)
            await world.clock.run_for(90_000)


@pytest.mark.parametrize("how", ["process", "suspended"])
def test_c28_missed_minutes_follow_the_policy_and_are_all_accounted_for(
    directory: Path, how: str
) -> None:
    async def main(world: World) -> None:
        policies: dict[str, dict[str, object]] = {
            "skip": {"catch_up": "skip"},
            "latest": {"catch_up": "latest"},
            "all": {"catch_up": "all", "catch_up_window_seconds": 600},
        }
        await be_away(world, how, policies)
        late = {
            name: [s for s in world.sent(name) if s.at > RETURNED and s.trigger == "catch_up"]
            for name in policies
        }
        assert [s.scheduled_for for s in late["skip"]] == []
        assert [s.scheduled_for for s in late["latest"]] == ["2026-11-30T08:00:00Z"]
        # Inside ten minutes of 08:00:30, oldest first.
        assert [s.scheduled_for for s in late["all"]] == [
            f"2026-11-30T{7 + m // 60:02d}:{m % 60:02d}:00Z" for m in range(51, 61)
        ]
        fresh = [s for s in world.sent("skip") if s.at > RETURNED]
        assert fresh[0].scheduled_for == "2026-11-30T08:01:00Z"
        counted = dict(
            world.rows(
                "SELECT s.name, sum(c.count) FROM counted_range c"
                " JOIN schedule s ON s.id = c.schedule_id GROUP BY s.name"
            )
        )
        assert counted == {"skip": 3720, "latest": 3719, "all": 3710}

    simulate(main, directory, "2026-11-27T17:58:00Z")


def test_c28_a_thousand_schedules_are_judged_in_slices_beside_fresh_runs(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            for index in range(1_000):
                await put(engine, f"s{index}", cron="* * * * *", jitter_seconds=0)
            await world.until(STOPPED)
        world.clock.step(AWAY_MS)
        world.ledger.clear()
        async with world.engine():
            await world.clock.run_for(60_000)
        late = [s for s in world.sent() if s.trigger == "catch_up"]
        fresh = [s for s in world.sent() if s.trigger == "schedule"]
        assert len({s.name for s in late}) == len(late) == 1_000
        assert {s.scheduled_for for s in late} == {"2026-11-30T08:00:00Z"}
        # 1,000 missed at half of 1,000 a second is two seconds; the least spread is ten.
        assert min(s.at for s in late) >= RETURNED
        assert max(s.at for s in late) <= "2026-11-30T08:00:41.000Z"
        assert len(fresh) == 1_000
        assert {s.at[:17] for s in fresh} == {"2026-11-30T08:01:"}

    simulate(main, directory, "2026-11-27T18:00:05Z")


def test_c32_what_was_delivered_before_the_restart_is_not_missed_after_it(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(
                engine, "daily", cron="0 22 * * *", timezone="America/Santiago", jitter_seconds=0
            )
            await world.until("2026-03-10T01:30:00Z")
        world.clock.step(37_000)
        async with world.engine():
            await world.clock.run_for(HOUR_MS)
        assert [(s.at, s.attempt) for s in world.sent()] == [("2026-03-10T01:00:00Z", 1)]

    simulate(main, directory, "2026-03-10T00:58:00Z")


def test_c37_the_send_time_survives_twenty_restarts(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "nightly", cron="0 0 * * *", jitter_seconds=900)
        for _ in range(20):
            async with world.engine():
                await world.clock.run_for(5_000)
        await world.until("2026-12-01T00:00:07Z")
        async with world.engine():
            await world.until("2026-12-01T00:00:09Z")
        async with world.engine():
            await world.until("2026-12-01T00:20:00Z")
        offset_s = schedule.definition.offset_ms // 1_000
        at = f"2026-12-01T00:{offset_s // 60:02d}:{offset_s % 60:02d}"
        assert [s.at[:19] for s in world.sent()] == [at]
        assert [s.scheduled_for for s in world.sent()] == ["2026-12-01T00:00:00Z"]

    simulate(main, directory, "2026-11-30T23:57:00Z")


def test_planned_rows_that_were_never_attempted_are_judged_like_the_rest(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "skip", every=60, jitter_seconds=0, catch_up="skip")
            await put(engine, "latest", every=60, jitter_seconds=0)
            await world.until("2026-11-30T12:00:57Z")  # 12:01:00 is planned by now.
        planned = world.rows("SELECT count(*) FROM job_run WHERE state = 'planned'")
        assert planned == [(2,)]
        world.clock.step(30_000)
        async with world.engine():
            await world.clock.run_for(20_000)
        assert [s.name for s in world.sent() if s.scheduled_for == "2026-11-30T12:01:00Z"] == [
            "latest"
        ]
        ended = world.rows(
            "SELECT state, reason FROM job_run r JOIN schedule s ON s.id = r.schedule_id"
            " WHERE s.name = 'skip' AND state = 'skipped'"
        )
        assert ended == [("skipped", "catch_up")]

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_downtime_below_ten_seconds_misses_nothing(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "skip", every=1, catch_up="skip")
            await world.clock.run_for(3_500)
        world.clock.step(9_000)
        async with world.engine():
            await world.clock.run_for(5_200)
        seconds = [s.scheduled_for for s in world.sent()]
        assert seconds == [f"2026-11-30T12:00:{n:02d}Z" for n in range(1, 18)]
        assert world.rows("SELECT count(*) FROM counted_range") == [(0,)]

    simulate(main, directory, "2026-11-30T12:00:00Z")


@pytest.mark.parametrize(("away_ms", "is_sent"), [(15_000, True), (15_001, False)])
def test_a_run_that_is_ten_seconds_late_to_the_millisecond_is_not_missed(
    directory: Path, away_ms: int, is_sent: bool
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "skip", every=3_600, phase=30, jitter_seconds=0, catch_up="skip")
            await world.until("2026-11-30T12:00:25Z")
        world.clock.step(away_ms)
        async with world.engine():
            await world.clock.run_for(1_000)
        sent = [(s.scheduled_for, s.trigger) for s in world.sent()]
        assert sent == ([("2026-11-30T12:00:30Z", "schedule")] if is_sent else [])

    simulate(main, directory, "2026-11-30T12:00:00Z")


@pytest.mark.parametrize(("policy", "caught_up"), [("all", 13), ("latest", 1), ("skip", 0)])
def test_a_pause_that_ended_during_downtime_ended_when_it_said(
    directory: Path, policy: str, caught_up: int
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", every=1, catch_up=policy)
            await world.until("2026-11-30T12:00:02.500Z")
            until_ms = parse_instant("2026-11-30T12:00:10.200Z")
            await engine.schedules.pause("x", Pause(until_ms=until_ms))
            await world.until("2026-11-30T12:00:04Z")
        await world.clock.run_for(30_000)  # Nobody is there until 12:00:34.
        async with world.engine() as engine:
            await world.clock.run_for(15_000)
            assert engine.figures.runs["skipped_catch_up"] + caught_up == 13
        late = [s.scheduled_for for s in world.sent() if s.trigger == "catch_up"]
        # Missed are 12:00:11 to 12:00:23, over ten seconds before the return; the rest is fresh.
        assert late == [f"2026-11-30T12:00:{n}Z" for n in range(24 - caught_up, 24)]
        # What became due just before the return gives way to what is due now: the order is another.
        fresh = sorted(s.scheduled_for for s in world.sent() if s.trigger == "schedule")
        assert fresh[:4] == [f"2026-11-30T12:00:{n:02d}Z" for n in (1, 2, 24, 25)]

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_complete_schedule_deletes_itself_although_its_last_occurrence_was_missed(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(
                engine,
                "x",
                at="2026-11-30T12:00:20Z",
                catch_up="skip",
                delete_after_completion=True,
            )
            await world.clock.run_for(1_000)
        world.clock.step(HOUR_MS)
        async with world.engine() as engine:
            await world.clock.run_for(70_000)
            with pytest.raises(NotFound):
                await engine.schedules.get("x")
        assert world.sent() == []

    simulate(main, directory, "2026-11-30T12:00:00Z")


@pytest.mark.parametrize("how", ["process", "suspended"])
def test_a_slow_flow_catches_up_at_half_of_its_rate_and_holds_up_no_other(
    directory: Path, how: str
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await engine.flows.put("slow", rate=1, parallelism=20, paused=False)
            for index in range(30):
                await put(
                    engine, f"one{index}", cron="0 * * * *", jitter_seconds=0, flow_key="slow"
                )
            await put(engine, "each", every=60, jitter_seconds=0, catch_up="all", flow_key="slow")
            await put(engine, "fast", every=60, jitter_seconds=0, catch_up="all")
            await world.until("2026-11-30T12:30:30Z")
            world.clock.step(HOUR_MS)
            if how == "suspended":
                await world.clock.run_for(240_000)
        if how == "process":
            async with world.engine():
                await world.clock.run_for(240_000)
        caught_up = [s for s in world.sent() if s.trigger == "catch_up"]
        fast = [s.at for s in caught_up if s.name == "fast"]
        slow = [s.at for s in caught_up if s.name != "fast"]
        assert (len(fast), len(slow)) == (60, 90)
        assert max(fast) < "2026-11-30T13:30:41"
        # 90 runs at half of one a second: three minutes, each schedule's evenly over all of them.
        each = [s.at for s in caught_up if s.name == "each"]
        assert all(
            at >= f"2026-11-30T13:{30 + (30 + 3 * i) // 60}:{(30 + 3 * i) % 60:02d}"
            for i, at in enumerate(each)
        )
        assert "2026-11-30T13:33:25" < max(slow) < "2026-11-30T13:33:36"

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_what_catches_up_is_due_by_the_formula(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=1) as engine:
            policy = {"catch_up": "all", "catch_up_window_seconds": 600}
            schedule = await put(engine, "x", every=60, jitter_seconds=0, **policy)
            await world.until("2026-11-30T12:05:30Z")
        world.clock.step(HOUR_MS)
        resume_ms = world.clock.now_ms()
        async with world.engine(rate=1):
            await world.clock.run_for(400)
            due = world.rows(
                "SELECT next_attempt_at FROM job_run WHERE trigger = 'catch_up'"
                " ORDER BY scheduled_for"
            )
        # Ten inside the window, at half of one a second.
        u = unit_u53(schedule.definition.schedule_id, resume_ms, "catchup")
        assert due == [(resume_ms + (20_000 * ((i << 53) + u)) // (10 << 53),) for i in range(10)]

    simulate(main, directory, "2026-11-30T12:00:30Z")
