"""One run at a time, judged when it is due: skipped, buffered or in line (SPEC §4; case C36).

The target takes 25 s and the schedule comes every 10 s, as in the case. It is made just before
12:00, so its occurrences are at 12:00:00, 12:00:10, 12:00:20 and so on.
"""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.app import Engine
from engine.core.identity import format_instant
from engine.core.model import Outcome, Pause
from engine.services.transport import HttpRequest
from tests.simulation.world import World, put, simulate

START = "2026-11-30T11:59:55Z"
TAKES_MS = 25_000
TARGET = {"url": "http://127.0.0.1:9/hook", "timeout_seconds": 60}
SUCCESS = Outcome(name="success", status=200)
BROKEN = Outcome(name="http_error", status=500)


def attempt_of(request: HttpRequest) -> int:
    return int(dict(request.headers)["X-Attempt"])


def name_of(request: HttpRequest) -> str:
    return dict(request.headers)["X-Schedule-Name"]


def at(second: int) -> str:
    """An instant by seconds after 12:00."""
    return f"2026-11-30T12:{second // 60:02d}:{second % 60:02d}Z"


def seconds(instant: str) -> float:
    """Seconds after 12:00, with whatever milliseconds there are."""
    minutes, rest = instant.removeprefix("2026-11-30T12:").removesuffix("Z").split(":")
    return int(minutes) * 60 + float(rest)


def starts(world: World) -> list[float]:
    """When requests arrived, in seconds after 12:00."""
    return [seconds(sent.at) for sent in world.sent()]


def ended(world: World, reason: str) -> list[int]:
    """The `scheduled_for` of the runs that ended so, in seconds after 12:00."""
    rows = world.rows(
        "SELECT scheduled_for FROM job_run WHERE reason = ? ORDER BY scheduled_for", reason
    )
    noon_ms = 1_796_040_000_000
    return [(instant - noon_ms) // 1_000 for (instant,) in rows]


async def every_ten_seconds(engine: Engine, overlap: str, **document: Any) -> None:
    document = {"every": 10, "jitter_seconds": 0, "target": TARGET} | document
    await put(engine, "x", overlap=overlap, **document)


def run(
    main: Callable[[World], Awaitable[None]],
    directory: Path,
    *,
    answer: Callable[[HttpRequest], Outcome] = lambda _: SUCCESS,
    delay_ms: Callable[[HttpRequest], int] = lambda _: TAKES_MS,
) -> None:
    simulate(main, directory, START, answer=answer, delay_ms=delay_ms)


def test_c36_skip_starts_at_0_30_60_and_90_and_names_what_it_skipped(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "skip")
            await world.until(at(99))
        assert starts(world) == [0, 30, 60, 90]
        assert ended(world, "overlap") == [10, 20, 40, 50, 70, 80]

    run(main, directory)


def test_c36_buffer_one_runs_one_after_the_other_and_keeps_the_newest(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "buffer_one")
            await world.until(at(105))
        assert [(seconds(s.at), seconds(s.scheduled_for)) for s in world.sent()] == [
            (0, 0),
            (25, 20),
            (50, 50),
            (75, 70),
            (100, 100),
        ]
        assert ended(world, "superseded") == [10, 30, 40, 60, 80, 90]
        assert ended(world, "overlap") == []

    run(main, directory)


def test_c36_allow_runs_three_at_once(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "allow")
            await world.until(at(24))
            assert starts(world) == [0, 10, 20]
            assert engine.dispatcher.inflight == 3
            assert world.rows("SELECT count(*) FROM job_run WHERE exclusive") == [(0,)]

    run(main, directory)


def test_c36_a_run_that_waits_for_a_token_is_active(directory: Path) -> None:
    """Others take the bucket's tokens for a minute: of the seven due meanwhile one starts."""

    async def main(world: World) -> None:
        async with world.engine(rate=1, burst=1) as engine:
            for index in range(63):
                await put(engine, f"other-{index}", at="2026-11-30T11:59:58Z")
            await every_ten_seconds(engine, "skip")
            await world.until(at(75))
        assert [(s.at, s.scheduled_for) for s in world.sent("x")] == [(at(61), at(0))]
        assert ended(world, "overlap") == [10, 20, 30, 40, 50, 60, 70]

    run(main, directory, delay_ms=lambda request: TAKES_MS if name_of(request) == "x" else 0)


def test_c36_a_run_between_two_attempts_is_active(directory: Path) -> None:
    """However long the retry is away: what is due meanwhile is skipped, so nothing piles up."""

    def fails_once(request: HttpRequest) -> Outcome:
        return BROKEN if attempt_of(request) == 1 else SUCCESS

    async def main(world: World) -> None:
        retry = {"min_backoff_seconds": 50, "jitter": "none"}
        async with world.engine() as engine:
            await every_ten_seconds(engine, "skip", retry=retry)
            await world.until(at(65))
        sent = [(s.at, s.scheduled_for, s.attempt) for s in world.sent()]
        assert sent == [(at(0), at(0), 1), (at(50), at(0), 2), (at(60), at(60), 1)]
        assert ended(world, "overlap") == [10, 20, 30, 40, 50]

    run(main, directory, answer=fails_once, delay_ms=lambda _: 0)


def test_a_slow_run_of_one_schedule_is_nothing_to_another(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "skip", end_at=at(0))
            await put(engine, "y", at=at(5), overlap="skip", target=TARGET)
            await world.until(at(9))
        assert starts(world) == [0, 5]

    run(main, directory)


def test_runs_asked_for_by_hand_wait_in_line_in_their_order(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "skip", end_at=at(30))
            await world.until(at(2))
            runs = [await engine.schedules.trigger("x") for _ in range(2)]
            await world.until(at(100))
        assert starts(world) == [0, 25, 50]
        triggers = [(s.trigger, s.scheduled_for) for s in world.sent()]
        assert triggers[1:] == [("manual", format_instant(r.scheduled_for_ms)) for r in runs]
        # What came while they ran was skipped: they are runs of the schedule like any other.
        assert ended(world, "overlap") == [10, 20, 30]

    run(main, directory)


def test_a_buffered_run_does_not_overtake_one_asked_for_before_it(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "buffer_one", end_at=at(20))
            await world.until(at(12))
            await engine.schedules.trigger("x")
            await world.until(at(100))
        assert [(s.at, s.trigger) for s in world.sent()] == [
            (at(0), "schedule"),
            (at(25), "manual"),
            (at(50), "schedule"),
        ]
        assert ended(world, "superseded") == [10]

    run(main, directory)


def test_it_is_judged_when_a_run_is_due_not_at_its_nominal_time(directory: Path) -> None:
    """At the nominal time of the second the first still runs; when it is due, no more."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=at(0), overlap="skip", target=TARGET)
            await world.until(at(20))
            schedule = await put(
                engine, "x", at=at(24), jitter_seconds=60, overlap="skip", target=TARGET
            )
            assert schedule.definition.offset_ms > 1_000
            await world.until(at(90))
        assert [s.scheduled_for for s in world.sent()] == [at(0), at(24)]

    run(main, directory)


@pytest.mark.parametrize("overlap", ["skip", "buffer_one"])
def test_a_crash_leaves_the_line_as_it_was(directory: Path, overlap: str) -> None:
    async def main(world: World) -> None:
        engine = world.engine(drain_timeout_seconds=0.1)
        async with engine:
            await every_ten_seconds(engine, overlap, end_at=at(10))
            await world.until(at(2))
            await engine.schedules.trigger("x")
            await world.until(at(12))
        assert starts(world) == [0]
        async with world.engine():
            await world.until(at(100))
        sent = [(s.scheduled_for[:19], s.trigger, s.attempt) for s in world.sent()]
        again = [
            (at(0)[:19], "schedule", 1),
            (at(0)[:19], "schedule", 2),
            (at(2)[:19], "manual", 1),
        ]
        buffered = [(at(10)[:19], "schedule", 1)]
        assert sent == again + (buffered if overlap == "buffer_one" else [])
        times = starts(world)[1:]
        assert all(b - a >= 25 for a, b in itertools.pairwise(times))

    run(main, directory)


def test_allowing_overlap_lets_the_whole_line_go(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "skip", end_at=at(0))
            await world.until(at(2))
            for _ in range(3):
                await engine.schedules.trigger("x")
            await world.until(at(5))
            assert starts(world) == [0]
            await every_ten_seconds(engine, "allow", end_at=at(0))
            await world.until(at(6))
        assert starts(world) == [0, 5, 5, 5]

    run(main, directory)


def test_forbidding_overlap_counts_what_is_under_way(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "allow")
            await world.until(at(15))
            await every_ten_seconds(engine, "skip")
            await world.until(at(45))
        # The run of :10 ends at 35.
        assert starts(world) == [0, 10, 40]
        assert ended(world, "overlap") == [20, 30]

    run(main, directory)


def test_a_pause_ends_what_waits_and_no_run_of_it_is_forgotten(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "buffer_one", end_at=at(20))
            await world.until(at(22))
            await engine.schedules.trigger("x")
            await engine.schedules.pause("x", Pause())
            await world.until(at(40))
            await engine.schedules.resume("x")
            await world.until(at(90))
        assert [(s.at, s.trigger) for s in world.sent()] == [
            (at(0), "schedule"),
            (at(25), "manual"),
        ]
        assert ended(world, "superseded") == [10]
        assert ended(world, "paused") == [20]

    run(main, directory)


def test_deleting_a_schedule_empties_its_line(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "buffer_one", end_at=at(10))
            await world.until(at(12))
            await engine.schedules.trigger("x")
            await engine.schedules.delete("x")
            await world.until(at(90))
        assert starts(world) == [0]
        states = world.rows("SELECT state, count(*) FROM job_run GROUP BY state ORDER BY state")
        assert states == [("cancelled", 2), ("succeeded", 1)]

    run(main, directory)


def test_a_deadline_goes_by_in_line_and_the_next_has_its_turn(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            document = {"deadline_seconds": 15, "end_at": at(0)}
            await every_ten_seconds(engine, "skip", **document)
            await world.until(at(2))
            await engine.schedules.trigger("x")
            await world.until(at(20))
            await engine.schedules.trigger("x")
            await world.until(at(60))
        assert [(s.at, s.scheduled_for[:19]) for s in world.sent()] == [
            (at(0), at(0)[:19]),
            (at(25), at(20)[:19]),
        ]
        assert ended(world, "expired") == [2]

    run(main, directory)


def test_a_failed_run_lets_the_next_go(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "buffer_one", retry={"max_attempts": 1}, end_at=at(10))
            await world.until(at(60))
        assert starts(world) == [0, 25]

    run(main, directory, answer=lambda _: BROKEN)


def test_all_that_was_missed_runs_one_by_one(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await every_ten_seconds(engine, "skip", catch_up="all", end_at=at(30))
        await world.until(at(60))
        async with world.engine():
            await world.until(at(240))
        caught_up = [s for s in world.sent() if s.trigger == "catch_up"]
        assert [seconds(s.scheduled_for) for s in caught_up] == [0, 10, 20, 30]
        times = [seconds(s.at) for s in caught_up]
        assert [round(b - a) for a, b in itertools.pairwise(times)] == [25, 25, 25]

    run(main, directory)
