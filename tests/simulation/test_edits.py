"""Edits, deletions and pauses while runs are in sight (SPEC §6; case C35)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engine.core.errors import Invalid, NotFound
from engine.core.identity import jitter_offset_ms, parse_instant, schedule_id
from engine.core.model import Pause
from engine.store.database import check
from tests.simulation.world import MINUTE_MS, World, put, simulate


def test_c35_fifty_puts_across_the_fire_instant_make_one_fire(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await world.until("2026-11-30T11:59:59.500Z")
            for index in range(50):
                labels = {"revision": str(index)}
                await put(engine, "noon", cron="0 12 * * *", jitter_seconds=0, labels=labels)
                await world.clock.run_for(20)
            assert (await engine.schedules.get("noon")).revision == 50
            await world.until("2026-11-30T12:10:00Z")
        assert [s.scheduled_for for s in world.sent()] == ["2026-11-30T12:00:00Z"]

    simulate(main, directory, "2026-11-30T11:59:30Z")


def test_an_instant_that_vanishes_and_comes_back_fires_once(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await world.until("2026-11-30T11:59:58Z")
            for index in range(20):
                cron = "0 12 * * *" if index % 2 else "30 12 * * *"
                await put(engine, "noon", cron=cron, jitter_seconds=0)
                await world.clock.run_for(20)
            await world.until("2026-11-30T12:10:00Z")
        assert [s.scheduled_for for s in world.sent()] == ["2026-11-30T12:00:00Z"]

    simulate(main, directory, "2026-11-30T11:59:30Z")


def test_c35_the_same_put_again_changes_nothing(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            first = await put(engine, "x", cron="0 12 * * *")
            await world.clock.run_for(1_000)
            again = await put(engine, "x", cron="0 12 * * *")
            assert again == first
            changed = await put(engine, "x", cron="5 12 * * *")
            assert changed.revision == 2

    simulate(main, directory, "2026-11-30T11:00:00Z")


def test_an_edit_takes_effect_inside_the_lookahead(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "gone", cron="0 12 * * *", jitter_seconds=0)
            await put(engine, "come", cron="0 13 * * *", jitter_seconds=0)
            await put(engine, "move", cron="0 12 * * *", jitter_seconds=0)
            await world.until("2026-11-30T11:59:58Z")
            await put(engine, "gone", cron="0 13 * * *", jitter_seconds=0)
            await put(engine, "come", cron="0 12 * * *", jitter_seconds=0)
            moved = await put(engine, "move", cron="0 12 * * *", jitter_seconds=30)
            await put(engine, "fresh", cron="0 12 * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:01:00Z")
        offset_ms = moved.definition.offset_ms
        assert [(s.name, s.scheduled_for) for s in world.sent()] == [
            ("come", "2026-11-30T12:00:00Z"),
            ("fresh", "2026-11-30T12:00:00Z"),
            ("move", "2026-11-30T12:00:00Z"),
        ]
        start_ms = world.ledger[0][0]
        assert world.ledger[2][0] - start_ms == offset_ms
        cancelled = world.rows("SELECT state, reason FROM job_run WHERE state = 'cancelled'")
        assert cancelled == [("cancelled", "vanished")]

    simulate(main, directory, "2026-11-30T11:59:00Z")


def test_a_run_in_sight_gets_the_new_target(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="0 12 * * *", jitter_seconds=0)
            await world.until("2026-11-30T11:59:58Z")
            target = {"url": "http://127.0.0.1:9/new", "body": "hello"}
            await put(engine, "x", cron="0 12 * * *", jitter_seconds=0, target=target)
            await world.until("2026-11-30T12:01:00Z")
        assert [(r.url, r.body) for _, r in world.ledger] == [("http://127.0.0.1:9/new", b"hello")]

    simulate(main, directory, "2026-11-30T11:59:00Z")


def test_a_run_in_sight_gets_another_receiver_and_another_time_at_once(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="0 12 * * *", jitter_seconds=0)
            await world.until("2026-11-30T11:59:58Z")
            target = {"url": "http://127.0.0.1:10/other"}
            moved = await put(engine, "x", cron="0 12 * * *", jitter_seconds=3, target=target)
            assert moved.definition.offset_ms == 2_903
            await world.until("2026-11-30T12:01:00Z")
        ((at_ms, request),) = world.ledger
        assert (at_ms, request.url) == (parse_instant("2026-11-30T12:00:02.903Z"), target["url"])

    simulate(main, directory, "2026-11-30T11:59:00Z")


def test_deleted_and_made_again_it_is_the_same_schedule(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            before = await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:57Z")
            await engine.schedules.delete("x")
            with pytest.raises(NotFound):
                await engine.schedules.get("x")
            again = await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            assert again.definition.schedule_id == before.definition.schedule_id
            await world.until("2026-11-30T12:02:30Z")
        # 12:01 was planned, cancelled by the deletion, and is owed again; it fires once.
        assert [s.scheduled_for for s in world.sent()] == [
            "2026-11-30T12:01:00Z",
            "2026-11-30T12:02:00Z",
        ]

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_an_occurrence_that_ran_does_not_run_again_after_a_deletion(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at="2026-11-30T12:00:05Z")
            await world.until("2026-11-30T12:00:08Z")
            await engine.schedules.delete("x")
            await put(engine, "x", at="2026-11-30T12:00:05Z")
            await world.until("2026-11-30T12:05:00Z")
        assert len(world.sent()) == 1

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_pause_skips_what_falls_into_it_and_resuming_replays_nothing(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:01:57Z")  # 12:02 is planned.
            await engine.schedules.pause("x", Pause(reason="maintenance"))
            await world.until("2026-11-30T12:05:30Z")
            await engine.schedules.resume("x")
            await world.until("2026-11-30T12:07:30Z")
        assert [s.scheduled_for for s in world.sent()] == [
            "2026-11-30T12:01:00Z",
            "2026-11-30T12:06:00Z",
            "2026-11-30T12:07:00Z",
        ]
        skipped = world.rows("SELECT state, reason FROM job_run WHERE state = 'skipped'")
        counted = world.rows("SELECT reason, count FROM counted_range")
        assert skipped == [("skipped", "paused")]
        assert counted == [("paused", 3)]  # 12:03, 12:04, 12:05

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_a_pause_between_scheduled_for_and_fire_after_ends_in_time_or_skips(
    directory: Path,
) -> None:
    """What counts is whether the claim falls in the pause."""
    early, late = _names_with_offsets_over(20_000)

    async def main(world: World) -> None:
        async with world.engine() as engine:
            for name in (early, late):
                await put(engine, name, cron="0 * * * *", jitter_seconds=60)
            await world.until("2026-11-30T12:00:02Z")
            for name in (early, late):
                await engine.schedules.pause(name, Pause())
            await world.until("2026-11-30T12:00:10Z")
            await engine.schedules.resume(early)
            await world.until("2026-11-30T12:01:30Z")
            await engine.schedules.resume(late)
            await world.until("2026-11-30T12:05:00Z")
        assert [s.name for s in world.sent()] == [early]
        ended = world.rows("SELECT state, reason FROM job_run WHERE state = 'skipped'")
        assert ended == [("skipped", "paused")]

    simulate(main, directory, "2026-11-30T11:59:30Z")


def test_a_pause_with_an_end_resumes_by_itself(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(
                engine,
                "x",
                cron="* * * * *",
                jitter_seconds=0,
                paused=True,
                paused_until="2026-11-30T12:03:30Z",
            )
            await world.until("2026-11-30T12:05:30Z")
            assert (await engine.schedules.get("x")).pause is None
        assert [s.scheduled_for for s in world.sent()] == [
            "2026-11-30T12:04:00Z",
            "2026-11-30T12:05:00Z",
        ]

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_a_pause_whose_end_is_past_is_none(directory: Path) -> None:
    """It has been in a file for months, say, and the file comes to a new machine."""

    async def main(world: World) -> None:
        over = {"paused": True, "paused_until": "2026-11-30T02:00:00Z"}
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0, **over)
            assert (await engine.schedules.get("x")).pause is None
            await world.until("2026-11-30T12:02:30Z")
            await put(engine, "x", cron="* * * * *", jitter_seconds=0, **over)
            assert (await engine.schedules.get("x")).revision == 1
            await world.until("2026-11-30T12:03:30Z")
            await engine.schedules.pause("x", Pause())
            await put(engine, "x", cron="* * * * *", jitter_seconds=0, **over)
            await world.until("2026-11-30T12:05:30Z")
            with pytest.raises(Invalid, match="/until: is past"):
                await engine.schedules.pause(
                    "x", Pause(until_ms=parse_instant("2020-01-01T00:00:00Z"))
                )
        assert [s.scheduled_for for s in world.sent()] == [
            f"2026-11-30T12:0{minute}:00Z" for minute in (1, 2, 3, 4, 5)
        ]

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_a_pause_is_not_ended_before_it_began(directory: Path) -> None:
    """An earlier version stored such pauses: nothing from before one is sent when it ends."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:01:30Z")
            await engine.schedules.pause("x", Pause())
        with closing(sqlite3.connect(directory / "offbeat.db")) as db, db:
            db.execute("UPDATE schedule SET paused_until = paused_at - 36000000")
        async with world.engine() as engine:
            await world.until("2026-11-30T12:03:30Z")
            assert (await engine.schedules.get("x")).pause is None
        assert [s.scheduled_for for s in world.sent()] == [
            f"2026-11-30T12:0{minute}:00Z" for minute in (1, 2, 3)
        ]

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_a_pause_on_a_clock_that_was_set_back_brings_no_run_from_before(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.clock.run_for(1_000)
            world.clock.step(-20 * MINUTE_MS)
            await world.clock.run_for(1_000)
            until_ms = engine.clock.now_ms() + MINUTE_MS
            await engine.schedules.pause("x", Pause(until_ms=until_ms))
            await world.clock.run_for(2_000)
            world.clock.step(20 * MINUTE_MS)
            await world.until("2026-11-30T12:02:30Z")
            assert (await engine.schedules.get("x")).pause is None
            floor_ms = await engine.audit.history_floor_ms()
            tally = await engine.audit.run(floor_ms, engine.clock.now_ms())
            assert (tally.owed, tally.unaccounted) == (2, 0)
        assert [s.scheduled_for for s in world.sent()] == [
            "2026-11-30T12:01:00Z",
            "2026-11-30T12:02:00Z",
        ]

    simulate(main, directory, "2026-11-30T12:00:30Z")


@pytest.mark.parametrize("ends", [".050", ".500", ".999"])
def test_what_is_owed_right_after_a_pause_ends_is_not_lost(directory: Path, ends: str) -> None:
    """The end is noticed up to a second later; it counts from its own instant."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", every=1)
            until_ms = parse_instant(f"2026-11-30T12:00:07{ends}Z")
            await engine.schedules.pause("x", Pause(until_ms=until_ms))
            await world.until("2026-11-30T12:00:11.500Z")
        assert [s.scheduled_for for s in world.sent()] == [
            f"2026-11-30T12:00:{n:02d}Z" for n in (8, 9, 10, 11)
        ]

    simulate(main, directory, "2026-11-30T12:00:00.300Z")


def test_a_schedule_deleted_during_an_attempt_leaves_a_whole_journal(directory: Path) -> None:
    async def main(world: World) -> None:
        target = {"url": "http://127.0.0.1:9/hook", "timeout_seconds": 1}
        async with world.engine() as engine:
            await put(engine, "x", at="2026-11-30T12:00:05Z", target=target)
            await world.until("2026-11-30T12:00:05.300Z")
            await engine.schedules.delete("x")
            await world.until("2026-11-30T12:00:10Z")
        ended = world.rows("SELECT state, reason, next_attempt_at FROM job_run")
        assert ended == [("cancelled", "deleted", None)]
        assert check(directory / "offbeat.db") == []

    simulate(main, directory, "2026-11-30T12:00:00Z", delay_ms=lambda _: MINUTE_MS)


def test_a_manual_run_goes_out_at_once_under_a_key_of_its_own(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="0 0 1 1 *")
            await world.clock.run_for(1_000)
            first = await engine.schedules.trigger("x")
            second = await engine.schedules.trigger("x")
            assert [r.scheduled_for_ms % 1_000 for r in (first, second)] == [1, 2]
            await world.clock.run_for(1_000)
        assert [(s.scheduled_for, s.trigger) for s in world.sent()] == [
            ("2026-11-30T12:00:01.001Z", "manual"),
            ("2026-11-30T12:00:01.002Z", "manual"),
        ]
        assert len({s.key for s in world.sent()}) == 2

    simulate(main, directory, "2026-11-30T12:00:00Z")


def _names_with_offsets_over(offset_ms: int) -> tuple[str, str]:
    names = (f"n{index}" for index in range(100))
    over = [n for n in names if jitter_offset_ms(schedule_id("default", n), 60) > offset_ms]
    return over[0], over[1]
