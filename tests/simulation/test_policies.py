"""Retries, deadlines, ends and self-made pauses (SPEC §4, §7; cases C08, C41, C42)."""

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engine.core.errors import NotFound
from engine.core.identity import format_instant, parse_instant
from engine.core.labels import ScheduleFilter
from engine.core.model import Attempt, Outcome, Pause
from engine.core.owed import computable
from engine.core.retry import backoff_ms
from engine.services.transport import HttpRequest
from tests.simulation.world import HOUR_MS, MINUTE_MS, World, put, simulate

SUCCESS = Outcome(name="success", status=200)
BROKEN = Outcome(name="http_error", status=500)


def attempt_of(request: HttpRequest) -> int:
    return int(dict(request.headers)["X-Attempt"])


def test_c42_attempts_share_key_and_bytes_and_are_counted(directory: Path) -> None:
    def third_time_lucky(request: HttpRequest) -> Outcome:
        return SUCCESS if attempt_of(request) == 3 else BROKEN

    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "x", at="2026-11-30T12:00:05Z")
            await world.clock.run_for(MINUTE_MS)
        assert [s.attempt for s in world.sent()] == [1, 2, 3]
        assert len({s.key for s in world.sent()}) == 1
        assert len({r.body for _, r in world.ledger}) == 1
        times = [at_ms for at_ms, _ in world.ledger]
        waits = [b - a for a, b in itertools.pairwise(times)]
        key = world.sent()[0].key
        retry = schedule.definition.retry
        assert waits == [backoff_ms(retry, key, 1), backoff_ms(retry, key, 2)]
        attempts = world.rows("SELECT number, outcome, status FROM attempt ORDER BY number")
        assert attempts == [(1, "http_error", 500), (2, "http_error", 500), (3, "success", 200)]

    simulate(main, directory, "2026-11-30T12:00:00Z", answer=third_time_lucky)


def test_c41_a_thousand_that_failed_together_do_not_return_together(directory: Path) -> None:
    def first_fails(request: HttpRequest) -> Outcome:
        return BROKEN if attempt_of(request) == 1 else SUCCESS

    async def main(world: World) -> list[str]:
        retry = {"min_backoff_seconds": 10, "jitter": "partial"}
        async with world.engine(rate=100_000, concurrency=2_000) as engine:
            for index in range(1_000):
                # Each a flow of its own: this is about retry times, not about breakers.
                one = {"at": "2026-11-30T12:00:30Z", "flow_key": f"f{index}"}
                await put(engine, f"s{index}", retry=retry, **one)
            await world.until("2026-11-30T12:01:00Z")
        assert [s.attempt for s in world.sent()].count(1) == 1_000
        second = [s.at for s in world.sent() if s.attempt == 2]
        assert len(second) == 1_000
        # Half of the ten seconds is sure, the other half is spread.
        assert min(second) >= "2026-11-30T12:00:35"
        assert max(second) <= "2026-11-30T12:00:41"
        busiest = max(
            sum(s.startswith(f"2026-11-30T12:00:{n:02d}") for s in second) for n in range(60)
        )
        assert busiest < 300
        return second

    start = "2026-11-30T12:00:00Z"
    first, again = (
        simulate(main, directory / name, start, answer=first_fails) for name in ("first", "again")
    )
    assert first == again


def test_no_attempt_starts_after_the_deadline(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(
                engine,
                "x",
                at="2026-11-30T12:00:05Z",
                deadline_seconds=30,
                retry={"min_backoff_seconds": 8, "jitter": "none", "multiplier": 1},
            )
            await world.clock.run_for(5 * MINUTE_MS)
        assert [s.at for s in world.sent()] == [
            "2026-11-30T12:00:05Z",
            "2026-11-30T12:00:13Z",
            "2026-11-30T12:00:21Z",
            "2026-11-30T12:00:29Z",
        ]
        assert world.rows("SELECT state, reason FROM job_run") == [("failed", "expired")]

    simulate(main, directory, "2026-11-30T12:00:00Z", answer=lambda _: BROKEN)


def test_a_run_that_missed_its_deadline_waiting_is_expired_without_an_attempt(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=1, burst=1) as engine:
            for index in range(20):
                await put(engine, f"s{index}", at="2026-11-30T12:00:20Z", deadline_seconds=5)
            await world.clock.run_for(MINUTE_MS)
        states = dict(world.rows("SELECT reason, count(*) FROM job_run GROUP BY reason"))
        # One token is there at 20 s, and one more a second until 25 s.
        assert len(world.sent()) == 6
        assert states == {None: 6, "expired": 14}

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_attempts_are_used_up(directory: Path) -> None:
    async def main(world: World) -> None:
        retry = {"max_attempts": 3, "min_backoff_seconds": 1}
        async with world.engine() as engine:
            await put(engine, "x", at="2026-11-30T12:00:05Z", retry=retry)
            await world.clock.run_for(MINUTE_MS)
        assert [s.attempt for s in world.sent()] == [1, 2, 3]
        assert world.rows("SELECT state, reason FROM job_run") == [("failed", "attempts")]

    simulate(main, directory, "2026-11-30T12:00:00Z", answer=lambda _: BROKEN)


def test_a_slow_receiver_is_cut_off_and_tried_again(directory: Path) -> None:
    async def main(world: World) -> None:
        target = {"url": "http://127.0.0.1:9/hook", "timeout_seconds": 2}
        retry = {"max_attempts": 2, "min_backoff_seconds": 1, "jitter": "none"}
        async with world.engine() as engine:
            await put(engine, "x", at="2026-11-30T12:00:05Z", target=target, retry=retry)
            await world.clock.run_for(MINUTE_MS)
        attempts = world.rows("SELECT outcome, ended_at - started_at FROM attempt")
        assert [outcome for outcome, _ in attempts] == ["timeout", "timeout"]
        assert all(2_000 <= took <= 2_300 for _, took in attempts)

    simulate(main, directory, "2026-11-30T12:00:00Z", delay_ms=lambda _: HOUR_MS)


def test_410_fails_the_run_and_pauses_the_schedule(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.clock.run_for(5 * MINUTE_MS)
            pause = (await engine.schedules.get("x")).pause
            assert pause is not None
            assert pause.reason == "the receiver answered 410 Gone"
        assert len(world.sent()) == 1

    gone = Outcome(name="http_error", status=410)
    simulate(main, directory, "2026-11-30T12:00:30Z", answer=lambda _: gone)


def test_failed_runs_in_a_row_pause_the_schedule(directory: Path) -> None:
    answers = iter([BROKEN, SUCCESS, BROKEN, BROKEN, BROKEN, SUCCESS])

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(
                engine,
                "x",
                cron="* * * * *",
                jitter_seconds=0,
                pause_after_failures=2,
                retry={"max_attempts": 1},
            )
            await world.clock.run_for(9 * MINUTE_MS)
            pause = (await engine.schedules.get("x")).pause
            assert pause is not None
            assert pause.reason == "2 runs in a row failed"
        assert len(world.sent()) == 4

    simulate(main, directory, "2026-11-30T12:00:30Z", answer=lambda _: next(answers))


@pytest.mark.parametrize(
    "trigger",
    [
        {"at": "2026-11-30T12:00:05Z"},
        {"every": 2, "max_runs": 3},
        {"every": 2, "end_at": "2026-11-30T12:00:09Z"},
    ],
)
def test_a_schedule_that_is_complete_deletes_itself_if_asked(
    directory: Path, trigger: dict[str, object]
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", delete_after_completion=True, **trigger)
            await put(engine, "kept", **trigger)
            await world.clock.run_for(MINUTE_MS)
            await engine.schedules.get("kept")
            with pytest.raises(NotFound):
                await engine.schedules.get("x")

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_retries_wait_while_their_schedule_is_paused(directory: Path) -> None:
    def first_fails(request: HttpRequest) -> Outcome:
        return BROKEN if attempt_of(request) == 1 else SUCCESS

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at="2026-11-30T12:00:05Z")
            await world.until("2026-11-30T12:00:06Z")
            await engine.schedules.pause("x", Pause())
            await world.until("2026-11-30T12:10:00Z")
            assert [s.attempt for s in world.sent()] == [1]
            await engine.schedules.resume("x")
            await world.until("2026-11-30T12:10:01Z")
        assert [s.attempt for s in world.sent()] == [1, 2]

    simulate(main, directory, "2026-11-30T12:00:00Z", answer=first_fails)


def test_an_attempt_under_way_is_among_those_of_its_run(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:01:05Z")
            instant = parse_instant("2026-11-30T12:01:00Z")
            _, [attempt] = await engine.runs.get(schedule.definition.schedule_id, instant)
            assert attempt == Attempt(
                number=1, started_at_ms=instant, ended_at_ms=None, outcome=None
            )
            await world.until("2026-11-30T12:01:15Z")
            _, [attempt] = await engine.runs.get(schedule.definition.schedule_id, instant)
            assert (attempt.number, attempt.ended_at_ms) == (1, instant + 10_000)

    simulate(main, directory, "2026-11-30T12:00:30Z", delay_ms=lambda _: 10_000)


def test_max_runs_counts_skipped_occurrences(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0, max_runs=5)
            await world.until("2026-11-30T12:01:30Z")
            await engine.schedules.pause("x", Pause())
            await world.until("2026-11-30T12:03:30Z")
            schedule = await engine.schedules.resume("x")
            await world.until("2026-11-30T12:20:00Z")
            assert await engine.schedules.get("x") == schedule
        assert [s.scheduled_for[14:16] for s in world.sent()] == ["01", "04", "05"]
        # What it has owed and owes can be computed, whatever became of it.
        instants = computable(schedule).between(0, schedule.updated_at_ms + HOUR_MS, 10)
        assert [format_instant(ms)[14:16] for ms in instants] == ["01", "02", "03", "04", "05"]

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_max_runs_counts_nothing_from_before_a_start_that_was_brought_forward(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            trigger = {"cron": "* * * * *", "jitter_seconds": 0, "max_runs": 2}
            await put(engine, "x", **trigger, start_at="2026-11-30T12:30:00Z")
            await world.until("2026-11-30T12:10:30Z")
            await put(engine, "x", **trigger)
            await world.until("2026-11-30T12:20:00Z")
            await put(engine, "x", **trigger, start_at="2026-11-30T12:00:00Z")  # It has begun.
            await world.until("2026-11-30T12:40:00Z")
        assert [s.scheduled_for[14:16] for s in world.sent()] == ["11", "12"]

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_old_history_becomes_a_counted_range(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", every=10)
            await world.clock.run_for(2 * MINUTE_MS)
        world.clock.step(8 * 24 * HOUR_MS)
        async with world.engine(history_days=7):
            await world.clock.run_for(2 * MINUTE_MS)
        (runs,) = world.rows("SELECT count(*) FROM job_run WHERE scheduled_for < 1796040500000")
        (pruned,) = world.rows("SELECT count FROM counted_range WHERE reason = 'pruned'")
        assert (runs, pruned) == ((0,), (12,))
        assert world.rows("SELECT count(*) FROM attempt WHERE scheduled_for < 1796040500000") == [
            (0,)
        ]

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_history_is_bounded_in_number_too(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(history_runs=1_000) as engine:
            for index in range(30):
                await put(engine, f"s{index}", every=1)
            await world.clock.run_for(3 * MINUTE_MS)
        (runs,) = world.rows("SELECT count(*) FROM job_run")
        (pruned,) = world.rows("SELECT sum(count) FROM counted_range")
        assert runs[0] < 3_000
        assert (
            runs[0] + pruned[0]
            == len(world.sent())
            + world.rows("SELECT count(*) FROM job_run WHERE state = 'planned'")[0][0]
        )

    simulate(main, directory, "2026-11-30T12:00:00Z")


@pytest.mark.parametrize(
    "spec",
    [
        '["cron","0 0 30 2 *","UTC","shift","first"]',
        '["cron","* * * * *","Mars/Olympus","shift","first"]',
        '["cron","not cron at all","UTC","shift","first"]',
        '["sundial",1,2]',
        "not json",
    ],
)
def test_c08_a_row_that_another_version_wrote_stops_nobody_else(directory: Path, spec: str) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "strange", cron="7 7 7 7 *")
            await put(engine, "good", cron="* * * * *", jitter_seconds=0)
        with closing(sqlite3.connect(directory / "offbeat.db")) as db, db:
            db.execute("UPDATE timetable SET spec = ? WHERE spec LIKE '%7 7 7 7 *%'", (spec,))
        world.clock.step(HOUR_MS)
        async with world.engine() as engine:
            await world.clock.run_for(2 * MINUTE_MS)
            assert engine.unready() == []
        assert {s.name for s in world.sent()} == {"good"}
        assert len(world.sent()) == 3  # The newest missed, and two fresh ones.

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_a_policy_that_another_version_wrote_stops_nobody_else(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "strange", every=1, retry={"max_attempts": 3})
            await put(engine, "good", every=1)
        with closing(sqlite3.connect(directory / "offbeat.db")) as db, db:
            strange = '{"max_attempts": 3, "newfield": 1}'
            db.execute("UPDATE schedule SET retry = ? WHERE retry IS NOT NULL", (strange,))
        async with world.engine() as engine:
            await world.clock.run_for(5_000)
            page, _ = await engine.schedules.page(ScheduleFilter(), limit=10, after_name=None)
            assert [s.definition.name for s in page] == ["good"]
            assert engine.figures.rows_skipped > 0
            await put(engine, "strange", every=1)
            await world.clock.run_for(3_000)
        assert {s.name for s in world.sent()} == {"good", "strange"}

    simulate(main, directory, "2026-11-30T12:00:00Z")
