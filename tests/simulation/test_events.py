"""What streams of events tell while the real engine works, in virtual time."""

import asyncio
import itertools
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from engine.app import Engine
from engine.core.errors import LimitReached
from engine.core.identity import schedule_id
from engine.core.model import Outcome
from engine.services.event_stream import (
    QUEUE_EVENTS_MAX,
    Begun,
    Dropped,
    Reset,
    Stream,
    StreamEvent,
)
from engine.services.events import (
    CHANNELS_MAX,
    EVENTS_PER_SECOND,
    LINGER_SECONDS,
    STREAMS_MAX,
    STREAMS_PER_TENANT_MAX,
)
from engine.services.monitor import HerdSecond
from engine.services.run_events import RunEvent
from tests.simulation.world import World, put, simulate

START = "2026-11-30T11:59:55Z"
NOON = "2026-11-30T12:00:00Z"
BROKEN = Outcome(name="http_error", status=500)
GONE = Outcome(name="http_error", status=404)


def listen(engine: Engine, *, schedule=None, runs=True, herd=False, after=None):
    return engine.events.open(schedule=schedule, runs=runs, herd=herd, after=after)


async def heard(stream: Stream) -> list[StreamEvent]:
    """What waits for a client that reads now."""
    return await stream.next(0.5) or []


def states(events: list[StreamEvent]) -> list[tuple[str, str, str | None, int]]:
    return [
        (e.schedule_name, e.state, e.reason, e.attempt) for e in events if isinstance(e, RunEvent)
    ]


async def once(engine: Engine, name: str, **document) -> None:
    """A schedule that occurs at noon and then never while a test looks."""
    document = {"cron": "0 12 30 11 *", "jitter_seconds": 0} | document
    await put(engine, name, **document)


def test_a_run_is_told_from_its_attempt_to_its_end(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            await once(engine, "report")
            with listen(engine) as stream:
                await world.until("2026-11-30T12:00:01Z")
                return await heard(stream)

    begun, *told = simulate(main, tmp_path, START, delay_ms=lambda _: 40)
    assert isinstance(begun, Begun)
    assert states(told) == [("report", "attempting", None, 1), ("report", "succeeded", None, 1)]
    start, end = told
    assert start.schedule_id == end.schedule_id == schedule_id("default", "report")
    assert (start.scheduled_for_ms, start.at_ms) == (1_796_040_000_000, 1_796_040_000_000)
    assert (end.at_ms, end.outcome, end.status) == (1_796_040_000_040, "success", 200)
    assert [e.id.partition("-")[2] for e in (begun, *told)] == ["0", "1", "2"]


def test_a_retry_says_when_and_a_final_outcome_why(tmp_path: Path):
    answers = iter([BROKEN, GONE])

    async def main(world: World):
        async with world.engine() as engine:
            await once(engine, "report", retry={"jitter": "none"})
            with listen(engine) as stream:
                await world.until("2026-11-30T12:00:09Z")
                return await heard(stream)

    _, *told = simulate(main, tmp_path, START, answer=lambda _: next(answers))
    assert states(told) == [
        ("report", "attempting", None, 1),
        ("report", "retry_wait", None, 1),
        ("report", "attempting", None, 2),
        ("report", "failed", "final", 2),
    ]
    assert [e.next_attempt_at_ms for e in told] == [None, 1_796_040_005_000, None, None]
    assert [e.status for e in told] == [None, 500, None, 404]


def test_what_ends_without_an_attempt_is_told_too(tmp_path: Path):
    """Skipped for one under way, displaced by a newer one, past its deadline."""
    every = {"every": 10, "jitter_seconds": 0}
    every["target"] = {"url": "http://127.0.0.1:9/hook", "timeout_seconds": 60}

    async def main(world: World):
        async with world.engine() as engine:
            await put(engine, "skip", overlap="skip", **every)
            await put(engine, "buffer", overlap="buffer_one", **every)
            await put(engine, "short", deadline_seconds=5, flow_key="narrow", **every)
            await engine.flows.put("narrow", rate=None, parallelism=1, paused=False)
            with listen(engine) as stream:
                await world.until("2026-11-30T12:00:36Z")
                return await heard(stream)

    _, *told = simulate(main, tmp_path, START, delay_ms=lambda _: 35_000)
    ends = sorted(
        (e.schedule_name, e.scheduled_for_ms // 1_000 % 60, e.state, e.reason, e.attempt)
        for e in told
        if e.state not in ("attempting", "succeeded")
    )
    assert ends == [
        ("buffer", 10, "skipped", "superseded", 0),
        ("buffer", 20, "skipped", "superseded", 0),
        ("short", 10, "failed", "expired", 0),
        ("short", 20, "failed", "expired", 0),
        ("skip", 10, "skipped", "overlap", 0),
        ("skip", 20, "skipped", "overlap", 0),
        ("skip", 30, "skipped", "overlap", 0),
    ]


def test_one_schedules_stream_has_that_schedule_alone(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            await once(engine, "report")
            await once(engine, "other")
            wanted = schedule_id("default", "report")
            with listen(engine, schedule=wanted) as one, listen(engine) as both:
                await world.until("2026-11-30T12:00:01Z")
                return states(await heard(one)), states(await heard(both))

    one, both = simulate(main, tmp_path, START)
    assert {name for name, *_ in one} == {"report"}
    assert len(one) == 2
    assert {name for name, *_ in both} == {"report", "other"}


def test_another_tenant_hears_nothing(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            await once(engine, "report")
            stranger = engine.of("globex").events
            wanted = schedule_id("default", "report")
            with (
                stranger.open(schedule=None, runs=True, herd=False, after=None) as all_of_theirs,
                stranger.open(schedule=wanted, runs=True, herd=False, after=None) as guessed,
            ):
                await world.until("2026-11-30T12:00:01Z")
                return [*await heard(all_of_theirs), *await heard(guessed)]

    assert [type(event) for event in simulate(main, tmp_path, START)] == [Begun, Begun]


def test_the_herds_figures_come_once_a_second(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            await put(engine, "tick", every=1, jitter_seconds=1)  # None is due as a second ends.
            with listen(engine, runs=False, herd=True) as stream:
                await world.until("2026-11-30T12:00:03.500Z")
                return await heard(stream)

    told = simulate(main, tmp_path, START)
    assert all(isinstance(second, HerdSecond) for second in told)
    noon_ms = 1_796_040_000_000
    assert [s.at_ms - noon_ms for s in told] == [n * 1_000 for n in range(-4, 4)]
    last = told[-1]
    assert (last.demand, last.planned, last.served, last.backlog) == (1, 1, 1, 0)


def test_of_a_herd_a_sample_is_told_and_the_rest_is_counted(tmp_path: Path):
    runs = 400

    async def main(world: World):
        async with world.engine() as engine:
            for number in range(runs):
                await once(engine, f"herd-{number}", flow_key=f"flow-{number % 40}")
            with listen(engine) as stream:
                await world.until("2026-11-30T12:00:09Z")
                return await heard(stream)

    _, *told = simulate(main, tmp_path, START)
    events = [event for event in told if isinstance(event, RunEvent)]
    dropped = [event for event in told if isinstance(event, Dropped)]
    assert EVENTS_PER_SECOND <= len(events) <= 3 * EVENTS_PER_SECOND
    for state in ("attempting", "succeeded"):
        counted = sum(event.by_state.get(state, 0) for event in dropped)
        assert counted + sum(event.state == state for event in events) == runs


def test_who_comes_back_hears_what_it_missed(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            await put(engine, "tick", every=1, jitter_seconds=0)
            with listen(engine) as stream:
                await world.until("2026-11-30T12:00:00.500Z")
                last = (await heard(stream))[-1]
            await world.until("2026-11-30T12:00:02.500Z")
            with listen(engine, after=last.id) as again:
                missed = await heard(again)
            with listen(engine, after=missed[-1].id) as complete:
                return last, missed, await heard(complete)

    last, missed, none = simulate(main, tmp_path, START)
    number = int(last.id.partition("-")[2])
    assert [int(e.id.partition("-")[2]) for e in missed] == [number + n for n in range(1, 5)]
    assert none == []


@pytest.mark.parametrize("after", ["", "0-0", "never-1", "{life}-99", "{life}-²", "x" * 8_000])
def test_an_id_that_says_nothing_is_answered_with_reset(tmp_path: Path, after: str):
    async def main(world: World):
        async with world.engine() as engine:
            with listen(engine) as stream:
                (begun,) = await heard(stream)
            life = begun.id.partition("-")[0]
            with listen(engine, after=after.replace("{life}", life)) as again:
                return begun, await heard(again)

    begun, told = simulate(main, tmp_path, START)
    assert told == [Reset(begun.id)]


def test_a_channel_is_forgotten_a_minute_after_its_last_stream(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            await put(engine, "tick", every=1, jitter_seconds=0)
            with listen(engine) as stream:
                (begun, *_) = await heard(stream)
            await world.clock.run_for((LINGER_SECONDS + 2) * 1_000)
            with listen(engine, after=begun.id) as again:
                return begun, await heard(again)

    begun, told = simulate(main, tmp_path, START)
    assert isinstance(told[0], Reset)
    assert told[0].id.partition("-")[0] != begun.id.partition("-")[0]


def test_a_client_that_does_not_read_is_let_go_and_counted(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            for number in range(60):
                await put(engine, f"tick-{number}", every=1, jitter_seconds=0)
            with listen(engine) as slow, listen(engine) as reader:
                seen = 0
                for _ in range(2 * QUEUE_EVENTS_MAX // EVENTS_PER_SECOND):
                    await world.clock.run_for(1_000)
                    seen += len(await heard(reader))
                return slow.ended, await slow.next(1), reader.ended, seen, engine.figures

    slow, left, reader, seen, figures = simulate(main, tmp_path, START)
    assert (slow, left, reader) == ("slow", None, None)
    assert seen > QUEUE_EVENTS_MAX
    assert figures.streams_dropped == 1


def open_until_refused(engine: Engine, tenants: list[str]) -> tuple[str, int]:
    """The name and value of the limit that ends it; then all have left."""
    with ExitStack() as stack:
        for name in itertools.cycle(tenants):
            events = engine.of(name).events
            try:
                stack.enter_context(events.open(schedule=None, runs=True, herd=False, after=None))
            except LimitReached as error:
                return error.name, error.value
    raise AssertionError("there is a limit")


def test_a_tenant_and_the_node_may_have_so_many_streams(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            of_one = open_until_refused(engine, ["default"])
            of_all = open_until_refused(engine, [f"tenant-{number}" for number in range(8)])
            with listen(engine) as stream:  # The others have left.
                return of_one, of_all, stream.ended

    assert simulate(main, tmp_path, START) == (
        ("streams_per_tenant_max", STREAMS_PER_TENANT_MAX),
        ("streams_max", STREAMS_MAX),
        None,
    )


def test_who_has_no_stream_finds_one_beside_others_that_open_all_they_may(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            opened = Counter()
            with ExitStack() as stack:
                for number in range(7):
                    events = engine.of(f"tenant-{number}").events
                    with suppress(LimitReached):
                        for _ in range(STREAMS_MAX):
                            stack.enter_context(
                                events.open(schedule=None, runs=True, herd=False, after=None)
                            )
                            opened[number] += 1
            return list(opened.values())

    assert simulate(main, tmp_path, START) == [32, 32, 32, 16, 8, 4, 2]


def test_a_tenant_with_many_channels_has_no_others_forgotten(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            quiet = engine.of("quiet").events
            ask = {"schedule": None, "runs": True, "herd": False}
            with quiet.open(**ask, after=None) as stream:
                (begun,) = await heard(stream)
            for number in range(CHANNELS_MAX + 1):
                with listen(engine, schedule=f"sch_{number}"):
                    pass
            with quiet.open(**ask, after=begun.id) as stream:
                return await heard(stream)

    assert simulate(main, tmp_path, START) == [], "nothing was missed, and nothing begins anew"


def test_channels_are_bounded_and_the_longest_quiet_is_forgotten_first(tmp_path: Path):
    async def main(world: World):
        async with world.engine() as engine:
            begun = []
            for number in range(CHANNELS_MAX + 1):
                with listen(engine, schedule=f"sch_{number}") as stream:
                    begun += await heard(stream)
            told = []
            for number in (1, 0):
                with listen(engine, schedule=f"sch_{number}", after=begun[number].id) as stream:
                    told += await heard(stream)
            return told

    (reset,) = simulate(main, tmp_path, START)
    assert isinstance(reset, Reset), "0 had to go, and 1 was there"


def test_all_streams_end_when_the_engine_drains(tmp_path: Path):
    async def main(world: World):
        engine = world.engine()
        async with engine:
            await once(engine, "report")
            with listen(engine) as stream:
                await heard(stream)
                waiting = asyncio.ensure_future(stream.next(3_600))
                await world.until(NOON)
                draining = asyncio.ensure_future(engine.drain())
                ended = await waiting
                under_way = not draining.done()
                await draining
                return ended, stream.ended, under_way

    assert simulate(main, tmp_path, START, delay_ms=lambda _: 5_000) == (None, "stopping", True)
