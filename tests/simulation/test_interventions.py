"""Runs that somebody cancels or replays, in every state that a run can have (SPEC §5; case C42)."""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.app import Engine
from engine.core.errors import Counted, NotFound, WrongState
from engine.core.identity import parse_instant
from engine.core.lifecycle import Event, next_state
from engine.core.model import Outcome, Pause, Run, State
from engine.core.retry import backoff_ms
from engine.services.transport import HttpRequest
from tests.simulation.world import HOUR_MS, MINUTE_MS, World, put, simulate

START = "2026-11-30T12:00:00Z"
AT = "2026-11-30T12:00:05Z"
SUCCESS = Outcome(name="success", status=200)
BROKEN = Outcome(name="http_error", status=500)
FINAL = Outcome(name="http_error", status=400)
PLAIN_RETRY = {"max_attempts": 2, "min_backoff_seconds": 20, "jitter": "none"}

Act = Callable[[str, int], Awaitable[Run]]


def attempt_of(request: HttpRequest) -> int:
    return int(dict(request.headers)["X-Attempt"])


async def run_of(engine: Engine, name: str = "x", at: str = AT) -> Run:
    schedule = await engine.schedules.get(name)
    run, _ = await engine.runs.get(schedule.definition.schedule_id, parse_instant(at))
    return run


async def act(action: Act, run: Run) -> Run:
    return await action(run.schedule_id, run.scheduled_for_ms)


async def unaccounted(engine: Engine) -> int:
    floor_ms = await engine.audit.history_floor_ms()
    return (await engine.audit.run(floor_ms, engine.clock.now_ms() + HOUR_MS)).unaccounted


async def bring_to(state: State, world: World, engine: Engine) -> None:
    """The run of x at `AT` in this state, by way of its target and its policies."""
    if state is State.SKIPPED:
        await put(engine, "x", at=AT)
        await world.until("2026-11-30T12:00:02Z")
        await engine.schedules.pause("x", Pause())
        await world.until("2026-11-30T12:00:06Z")
        return
    await put(engine, "x", at=AT, retry=PLAIN_RETRY)
    wait = {State.PLANNED: "02", State.ATTEMPTING: "07"}.get(state, "20")
    await world.until(f"2026-11-30T12:00:{wait}Z")
    if state is State.CANCELLED:
        await act(engine.runs.cancel, await run_of(engine))


ANSWERS = {
    State.FAILED: FINAL,
    State.RETRY_WAIT: BROKEN,
    State.CANCELLED: BROKEN,
}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", [Event.CANCEL, Event.REPLAY])
def test_the_table_of_moves_says_what_can_be_done(
    directory: Path, state: State, event: Event
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await bring_to(state, world, engine)
            before = await run_of(engine)
            assert before.state is state
            action = engine.runs.cancel if event is Event.CANCEL else engine.runs.replay
            moved = next_state(state, event)
            if moved is None:
                with pytest.raises(WrongState, match=f"the run is {state}") as refused:
                    await act(action, before)
                assert refused.value.code == f"run_{state}"
                assert await run_of(engine) == before
                return
            after = await act(action, before)
            waits = state is State.ATTEMPTING
            assert (after.state, after.reason) == {
                Event.CANCEL: (state if waits else State.CANCELLED, "requested"),
                Event.REPLAY: (State.RETRY_WAIT, None),
            }[event]
            assert await unaccounted(engine) == 0

    simulate(
        main,
        directory,
        START,
        answer=lambda _: ANSWERS.get(state, SUCCESS),
        delay_ms=lambda _: 5_000 if state is State.ATTEMPTING else 0,
    )


@pytest.mark.parametrize(
    ("outcome", "end"),
    [
        (BROKEN, (State.CANCELLED, "requested")),
        (SUCCESS, (State.SUCCEEDED, None)),
        (FINAL, (State.FAILED, "final")),
    ],
)
def test_a_run_cancelled_while_attempting_ends_with_its_attempt(
    directory: Path, outcome: Outcome, end: tuple[State, str | None]
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await bring_to(State.ATTEMPTING, world, engine)
            assert (await act(engine.runs.cancel, await run_of(engine))).state is State.ATTEMPTING
            assert (await act(engine.runs.cancel, await run_of(engine))).state is State.ATTEMPTING
            await world.until("2026-11-30T12:05:00Z")
            run = await run_of(engine)
            assert (run.state, run.reason) == end
            assert run.ended_at_ms == parse_instant("2026-11-30T12:00:10Z")
            assert await unaccounted(engine) == 0
        assert [s.attempt for s in world.sent()] == [1]

    simulate(main, directory, START, answer=lambda _: outcome, delay_ms=lambda _: 5_000)


def test_a_cancellation_outlives_the_crash_of_its_attempt(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await bring_to(State.ATTEMPTING, world, engine)
            await act(engine.runs.cancel, await run_of(engine))
            engine.dispatcher.abandon()
        async with world.engine() as engine:
            await world.clock.run_for(5 * MINUTE_MS)
            run = await run_of(engine)
            assert (run.state, run.reason) == (State.CANCELLED, "requested")
            counted = {"disposition": "cancelled"}
            assert engine.registry.get_sample_value("scheduler_runs_total", counted) == 1
        assert len(world.sent()) == 1

    simulate(main, directory, START, delay_ms=lambda _: 5_000)


def test_what_is_cancelled_is_never_sent_and_not_planned_again(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:58Z")
            await act(engine.runs.cancel, await run_of(engine, at="2026-11-30T12:01:00Z"))
            # Edits that take the instant away and bring it back revive what vanished, not this.
            await put(engine, "x", cron="30 * * * *", jitter_seconds=0)
            await put(engine, "x", cron="* * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:02:30Z")
            assert await unaccounted(engine) == 0
        assert [s.scheduled_for for s in world.sent()] == ["2026-11-30T12:02:00Z"]

    simulate(main, directory, START)


def test_c42_both_resendings_go_out_with_the_same_key_and_bytes(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT, target={"url": "http://127.0.0.1:9/", "body": "first"})
            await world.until("2026-11-30T12:00:10Z")
            edited = {"url": "http://127.0.0.1:9/", "body": "edited"}
            await put(engine, "x", at=AT, target=edited)
            for minute in (1, 2):
                await world.until(f"2026-11-30T12:0{minute}:00Z")
                await act(engine.runs.replay, await run_of(engine))
            await world.until("2026-11-30T12:03:00Z")
            run = await run_of(engine)
            assert (run.state, run.attempt_count) == (State.SUCCEEDED, 3)
            assert run.first_attempt_at_ms == parse_instant(AT)
        assert [(s.attempt, s.at) for s in world.sent()] == [
            (1, AT),
            (2, "2026-11-30T12:01:00Z"),
            (3, "2026-11-30T12:02:00Z"),
        ]
        assert len({s.key for s in world.sent()}) == 1
        assert {request.body for _, request in world.ledger} == {b"first"}

    simulate(main, directory, START)


def test_a_replay_grants_attempts_and_age_anew_at_the_retry_times_of_their_numbers(
    directory: Path,
) -> None:
    retry = {"max_attempts": 3, "max_age_seconds": 60, "min_backoff_seconds": 5}

    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "x", at=AT, retry=retry)
            await world.until("2026-11-30T12:30:00Z")
            assert (await run_of(engine)).reason == "attempts"
            await act(engine.runs.replay, await run_of(engine))
            await world.until("2026-11-30T13:00:00Z")
            run = await run_of(engine)
            assert (run.state, run.reason) == (State.FAILED, "attempts")
        assert [s.attempt for s in world.sent()] == [1, 2, 3, 4, 5, 6]
        times = [at_ms for at_ms, _ in world.ledger]
        policy, key = schedule.definition.retry, world.sent()[0].key
        assert [b - a for a, b in itertools.pairwise(times[3:])] == [
            backoff_ms(policy, key, 4),
            backoff_ms(policy, key, 5),
        ]

    simulate(main, directory, START, answer=lambda _: BROKEN)


def test_of_a_run_replayed_again_and_again_the_first_attempt_and_the_newest_hundred_are_told(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "x", at=AT)
            await world.until("2026-11-30T12:00:06Z")
            for _ in range(110):
                await act(engine.runs.replay, await run_of(engine))
                await world.clock.run_for(1_000)
            run, attempts = await engine.runs.get(
                schedule.definition.schedule_id, parse_instant(AT)
            )
            assert run.attempt_count == 111
            assert [a.number for a in attempts] == [1, *range(12, 112)]

    simulate(main, directory, START, answer=lambda _: FINAL)


def test_a_replay_that_would_come_after_the_deadline_is_refused(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT, deadline_seconds=30)
            await world.until("2026-11-30T12:00:35Z")
            await act(engine.runs.replay, await run_of(engine))
            await world.clock.run_for(1_000)
            with pytest.raises(WrongState) as refused:
                await act(engine.runs.replay, await run_of(engine))
            assert refused.value.code == "deadline_passed"
        assert [s.attempt for s in world.sent()] == [1, 2]

    simulate(main, directory, START, answer=lambda _: FINAL)


def test_a_run_of_a_deleted_schedule_is_replayed_when_its_schedule_is_back(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT)
            await world.until("2026-11-30T12:00:20Z")
            run = await run_of(engine)
            await engine.schedules.delete("x")
            with pytest.raises(WrongState) as refused:
                await act(engine.runs.replay, run)
            assert refused.value.code == "schedule_deleted"
            await put(engine, "x", at="2026-11-30T13:00:00Z")
            await act(engine.runs.replay, run)
            await world.clock.run_for(MINUTE_MS)
        assert [(s.attempt, s.scheduled_for) for s in world.sent()] == [(1, AT), (2, AT)]

    simulate(main, directory, START)


def test_a_replay_waits_while_its_schedule_is_paused(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT)
            await world.until("2026-11-30T12:00:20Z")
            await engine.schedules.pause("x", Pause())
            await act(engine.runs.replay, await run_of(engine))
            await world.clock.run_for(MINUTE_MS)
            assert len(world.sent()) == 1
            await engine.schedules.resume("x")
            await world.clock.run_for(MINUTE_MS)
        assert [s.attempt for s in world.sent()] == [1, 2]

    simulate(main, directory, START)


@pytest.mark.parametrize("overlap", ["skip", "buffer_one"])
def test_replays_wait_in_the_line_of_a_schedule_that_forbids_overlap(
    directory: Path, overlap: str
) -> None:
    """Three runs of 25 s are replayed at once while one is under way: one after another."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            target = {"url": "http://127.0.0.1:9/", "timeout_seconds": 60}
            rules: dict[str, Any] = {"overlap": overlap, "jitter_seconds": 0, "target": target}
            await put(engine, "x", every=60, **rules)
            await world.until("2026-11-30T12:03:40Z")
            page, _ = await engine.runs.page(
                schedule=None, state=State.SUCCEEDED, from_ms=None, to_ms=None, limit=9, after=None
            )
            assert len(page) == 3
            await world.until("2026-11-30T12:04:05Z")
            for run in page:
                await act(engine.runs.replay, run)
            await world.until("2026-11-30T12:06:00Z")
            assert await unaccounted(engine) == 0
        starts = [at_ms for at_ms, _ in world.ledger[:8]]
        assert all(b - a >= 25_000 for a, b in itertools.pairwise(starts))
        sent = [(s.scheduled_for[14:16], s.attempt) for s in world.sent()[:7]]
        assert sent[:4] == [("01", 1), ("02", 1), ("03", 1), ("04", 1)]
        assert sorted(s for s in sent[4:] if s[1] == 2) == [("01", 2), ("02", 2), ("03", 2)]

    simulate(main, directory, START, delay_ms=lambda _: 25_000)


def test_the_next_in_line_goes_when_the_run_before_it_is_cancelled(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            rules = {"overlap": "buffer_one", "jitter_seconds": 0}
            retry = {"min_backoff_seconds": 3_000, "jitter": "none"}
            await put(engine, "x", every=60, retry=retry, **rules)
            await world.until("2026-11-30T12:02:30Z")
            assert [s.scheduled_for[14:16] for s in world.sent()] == ["01"]
            await act(engine.runs.cancel, await run_of(engine, at="2026-11-30T12:01:00Z"))
            await world.until("2026-11-30T12:02:31Z")
        assert [(s.scheduled_for[14:16], s.at[:22]) for s in world.sent()][1:] == [
            ("02", "2026-11-30T12:02:30Z")
        ]

    simulate(main, directory, START, answer=lambda _: BROKEN)


def test_what_is_anothers_is_not_there(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await bring_to(State.RETRY_WAIT, world, engine)
            run = await run_of(engine)
            stranger = engine.of("stranger").runs
            for action in (stranger.cancel, stranger.replay):
                with pytest.raises(NotFound) as refused:
                    await act(action, run)
                assert not isinstance(refused.value, Counted)
            assert await run_of(engine) == run

    simulate(main, directory, START, answer=lambda _: BROKEN)
