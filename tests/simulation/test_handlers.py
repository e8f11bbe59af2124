"""Handlers in the engine's own process: journaled, limited and tried again as a receiver is."""

import asyncio

import pytest

from engine.core.errors import Invalid
from engine.core.identity import idempotency_key, parse_instant, schedule_id
from engine.services.handlers import Call
from tests.simulation.world import MINUTE_MS, simulate

START = "2026-11-30T12:00:00Z"
ONCE = "2026-11-30T12:01:00Z"
ID = schedule_id("default", "job")
RETRY = {"max_attempts": 3, "min_backoff_seconds": 10, "jitter": "none"}


def job(**changes):
    target = {
        "url": "inproc:work",
        "headers": {"X-Own": "1"},
        "body": "hello",
        "timeout_seconds": 2,
    }
    return {"name": "job", "at": ONCE, "target": target, "retry": RETRY} | changes


def outcomes(directory, handler=None, *, minutes=3):
    """State of the run, and what its attempts came to, after some minutes."""

    async def main(world):
        async with world.engine() as engine:
            if handler is not None:
                engine.handler("work")(handler)
            await engine.schedules.put(job())
            await world.clock.run_for(minutes * MINUTE_MS)
            run, attempts = await engine.runs.get(ID, parse_instant(ONCE))
            assert world.ledger == []
            return run.state, [
                (a.outcome.name, a.outcome.status, a.outcome.error) for a in attempts
            ]

    return simulate(main, directory, START)


def test_a_handler_is_called_with_what_a_receiver_would_get(directory):
    calls: list[Call] = []

    async def work(call):
        calls.append(call)

    assert outcomes(directory, work) == ("succeeded", [("success", 200, None)])
    (call,) = calls
    assert (call.body, call.attempt, call.scheduled_for_ms) == (b"hello", 1, parse_instant(ONCE))
    assert call.key == idempotency_key(ID, parse_instant(ONCE)) == call.headers["webhook-id"]
    assert call.headers["X-Own"] == "1"
    assert call.headers["webhook-signature"].startswith("v1,")
    with pytest.raises(TypeError):
        call.headers["X-Own"] = "2"


@pytest.mark.parametrize(
    ("status", "state", "outcome"),
    [
        (204, "succeeded", [("success", 204, None)]),
        (410, "failed", [("http_error", 410, "status 410")]),
        (503, "failed", [("http_error", 503, "status 503")] * 3),
    ],
)
def test_a_status_is_read_as_a_receivers(directory, status, state, outcome):
    async def work(_):
        return status

    assert outcomes(directory, work) == (state, outcome)


@pytest.mark.parametrize("value", ["ok", True, 99, 600, 3.5])
def test_what_is_no_status_is_an_outcome_that_is_tried_again(directory, value):
    async def work(_):
        return value

    state, attempts = outcomes(directory, work)
    assert (state, {name for name, _, _ in attempts}, len(attempts)) == (
        "failed",
        {"protocol_error"},
        3,
    )


@pytest.mark.parametrize("error", [ValueError("a secret"), asyncio.CancelledError()])
def test_what_a_handler_raises_is_tried_again_and_named_by_its_type_alone(directory, capsys, error):
    async def work(call):
        if call.attempt < 3:
            raise error

    state, attempts = outcomes(directory, work)
    told = ("http_error", 500, f"the handler raised {type(error).__name__}")
    assert (state, attempts) == ("succeeded", [told, told, ("success", 200, None)])


def test_a_name_without_a_handler_is_tried_again_and_served_once_it_is_there(directory):
    async def work(_):
        return None

    async def main(world):
        async with world.engine() as engine:
            await engine.schedules.put(job())
            await world.clock.run_for(MINUTE_MS + 5_000)
            run, attempts = await engine.runs.get(ID, parse_instant(ONCE))
            assert run.state == "retry_wait"
            assert [(a.outcome.name, a.outcome.error) for a in attempts] == [
                ("connect_error", "this process has no handler named work")
            ]
            engine.handler("work")(work)
            await world.clock.run_for(MINUTE_MS)
            run, _ = await engine.runs.get(ID, parse_instant(ONCE))
            return run.state, run.attempt_count

    assert simulate(main, directory, START) == ("succeeded", 2)


def test_a_handler_has_the_targets_timeout_even_when_it_will_not_be_cancelled(directory):
    ended = []

    async def work(call):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(call.attempt)
            if call.attempt == 1:
                await asyncio.Event().wait()
            raise

    told = ("timeout", None, "no answer within 2 s")
    assert outcomes(directory, work) == ("failed", [told] * 3)
    assert ended == [1, 2, 3]


def test_an_attempts_time_in_a_handler_is_attributed_to_the_answer(directory):
    async def main(world):
        async with world.engine() as engine:

            @engine.handler("work")
            async def work(_):
                await world.clock.run_for(700)

            await engine.schedules.put(job())
            await world.clock.run_for(2 * MINUTE_MS)
            _, (attempt,) = await engine.runs.get(ID, parse_instant(ONCE))
            return attempt.timing.connect_ms, attempt.timing.first_byte_ms

    assert simulate(main, directory, START) == (0, 700)


def test_a_handlers_flow_has_its_name_and_its_limits_hold(directory):
    under_way, most = 0, 0

    async def main(world):
        async with world.engine() as engine:

            @engine.handler("work")
            async def work(_):
                nonlocal under_way, most
                under_way += 1
                most = max(most, under_way)
                await world.clock.run_for(100)
                under_way -= 1

            for i in range(30):
                await engine.schedules.put(job(name=f"job{i}"))
            await engine.flows.put("inproc:work", rate=None, parallelism=3, paused=False)
            await world.clock.run_for(2 * MINUTE_MS)
            return [
                flow.limits.key for flow in (await engine.flows.page(limit=9, after_key=None))[0]
            ]

    assert simulate(main, directory, START) == ["inproc:work"]
    assert most == 3


def test_names_are_refused_when_they_are_bad_or_taken(directory):
    async def work(_):
        return None

    async def main(world):
        async with world.engine() as engine:
            engine.handler("work")(work)
            with pytest.raises(ValueError, match="already"):
                engine.handler("work")(work)
            with pytest.raises(ValueError, match="1 to 64 letters"):
                engine.handler("a b")(work)
            with pytest.raises(Invalid, match="/target/url: write inproc: and the handler's name"):
                await engine.schedules.put(job(target={"url": "inproc:a b"}))

    simulate(main, directory, START)


def test_occurrences_and_documents_are_given_without_an_http_client(directory):
    async def main(world):
        async with world.engine() as engine:
            schedule, created = await engine.schedules.put(
                {"name": "job", "every": 60, "jitter_seconds": 0, "target": {"url": "inproc:work"}}
            )
            assert (created, schedule.definition.target.url) == (True, "inproc:work")
            with pytest.raises(Invalid, match="/name"):
                await engine.schedules.put({"every": 60, "target": {"url": "http://h.example/"}})
            from_ms = parse_instant("2026-11-30T11:00:00Z")
            return await engine.occurrences("job", from_ms, limit=2)

    first, second = simulate(main, directory, START)
    assert second.scheduled_for_ms - first.scheduled_for_ms == MINUTE_MS
    assert first.fire_after_ms == first.scheduled_for_ms == parse_instant("2026-11-30T11:00:00Z")
    assert first.key == idempotency_key(ID, first.scheduled_for_ms)
