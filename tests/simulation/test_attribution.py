"""What each cause of delay is called, in the real engine and in virtual time (SPEC §9)."""

from collections.abc import Callable
from pathlib import Path

from engine.app import Engine
from engine.core.attribution import Attribution, attribute_run
from engine.core.delay_shares import Shares
from engine.core.identity import parse_instant, schedule_id
from engine.core.model import Outcome
from engine.services.transport import HttpRequest
from tests.simulation.world import HOUR_MS, World, put, simulate

SUCCESS = Outcome(name="success", status=200)
BROKEN = Outcome(name="http_error", status=500)
DOWN = Outcome(name="connect_error")
START = "2026-11-30T12:00:00Z"
AT = "2026-11-30T12:00:20Z"

NO_DELAY = Attribution(*[0] * len(Attribution._fields))


def attempt_number(request: HttpRequest) -> int:
    return int(dict(request.headers)["X-Attempt"])


async def delay(engine: Engine, name: str, at: str = AT) -> Attribution:
    """Where the time of a run went; its sum is compared with what the journal says."""
    run, attempts = await engine.runs.get(schedule_id(engine.tenant, name), parse_instant(at))
    found = attribute_run(run, attempts)
    assert found is not None
    ended_ms = attempts[-1].ended_at_ms
    assert ended_ms is not None
    assert sum(found) == ended_ms - run.scheduled_for_ms
    return found


def herd(
    directory: Path,
    size: int,
    *,
    limits: dict[str, object] | None = None,
    delay_ms: Callable[[HttpRequest], int] = lambda _: 0,
    **settings: object,
) -> list[Attribution]:
    """The delays of so many runs due at `AT`, in the order of their names."""

    async def main(world: World) -> list[Attribution]:
        async with world.engine(**settings) as engine:
            for index in range(size):
                await put(engine, f"s{index:03}", at=AT, flow_key="f")
            if limits is not None:
                await engine.flows.put("f", **{"rate": None, "paused": False, **limits})
            await world.until("2026-11-30T12:01:20Z")
            return [await delay(engine, f"s{index:03}") for index in range(size)]

    return simulate(main, directory, START, delay_ms=delay_ms)


def test_a_run_that_nothing_delays_has_no_delay(directory: Path) -> None:
    assert herd(directory, 1) == [NO_DELAY]


def test_jitter_is_a_component_of_its_own(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "x", at=AT, jitter_seconds=30)
            await world.until("2026-11-30T12:01:00Z")
            assert schedule.definition.offset_ms > 0
            jitter = schedule.definition.offset_ms
            assert await delay(engine, "x") == NO_DELAY._replace(jitter=jitter)

    simulate(main, directory, START)


def test_what_waits_for_tokens_waited_for_the_bucket(directory: Path) -> None:
    found = herd(directory, 50, rate=10, burst=10, limits={"parallelism": 50})
    assert [sum(delay) - delay.bucket for delay in found] == [0] * 50
    waits = sorted(delay.bucket for delay in found)
    assert waits[:10] == [0] * 10  # The burst.
    assert waits[10:] == [100 * place for place in range(1, 41)]


def test_what_waits_for_a_place_in_its_flow_waited_for_the_flow(directory: Path) -> None:
    found = herd(directory, 20, limits={"parallelism": 5}, delay_ms=lambda _: 700)
    assert [delay.first_byte for delay in found] == [700] * 20
    assert [sum(delay) - delay.flow - 700 for delay in found] == [0] * 20
    assert sorted(d.flow for d in found) == [0] * 5 + [700] * 5 + [1_400] * 5 + [2_100] * 5


def test_a_flows_rate_is_its_own_and_not_the_buckets(directory: Path) -> None:
    found = herd(directory, 5, limits={"rate": 2, "parallelism": 20})
    assert [sum(delay) - delay.flow for delay in found] == [0] * 5
    # Its bucket is empty at first, too.
    assert sorted(d.flow for d in found) == [500, 1_000, 1_500, 2_000, 2_500]


def test_what_waits_for_a_slot_waited_in_the_queue(directory: Path) -> None:
    found = herd(directory, 4, concurrency=1, delay_ms=lambda _: 300)
    assert sorted(delay.queue for delay in found) == [0, 300, 600, 900]
    assert {sum(delay) - delay.queue for delay in found} == {300}


def test_a_paused_flow_holds_its_runs(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT, flow_key="f")
            await engine.flows.put("f", rate=None, parallelism=20, paused=True)
            await world.until("2026-11-30T12:00:50Z")
            await engine.flows.put("f", rate=None, parallelism=20, paused=False)
            await world.clock.run_for(1_000)
            assert await delay(engine, "x") == NO_DELAY._replace(held=30_000)

    simulate(main, directory, START)


def test_an_open_breaker_and_the_spread_after_it_hold_what_came_due(directory: Path) -> None:
    back = "2026-11-30T12:02:00Z"

    async def main(world: World) -> None:
        world.answer = lambda _: DOWN if world.now() < back else SUCCESS
        async with world.engine() as engine:
            for index in range(10):  # They open it.
                await put(engine, f"first-{index}", at=AT, flow_key="f")
            for index in range(10):  # They are the probes, or wait.
                await put(engine, f"second-{index}", at="2026-11-30T12:00:29Z", flow_key="f")
            await put(engine, "later", at="2026-11-30T12:00:30Z", flow_key="f")
            await world.until("2026-11-30T12:04:00Z")
            later = await delay(engine, "later", "2026-11-30T12:00:30Z")
            assert later.held > 90_000
            assert later == NO_DELAY._replace(held=later.held)

    simulate(main, directory, START)


def test_failed_attempts_and_the_waits_between_them_are_retry(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT, retry={"min_backoff_seconds": 10, "jitter": "none"})
            await world.until("2026-11-30T12:02:00Z")
            found = await delay(engine, "x")
        # 250 ms, a wait of 10 s, 250 ms, a wait of 20 s; and 250 ms that succeed.
        assert found == NO_DELAY._replace(retry=30_500, first_byte=250)

    simulate(
        main,
        directory,
        START,
        answer=lambda request: SUCCESS if attempt_number(request) == 3 else BROKEN,
        delay_ms=lambda _: 250,
    )


def test_a_run_behind_another_of_its_schedule_is_held(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", every=10, overlap="buffer_one", jitter_seconds=0)
            await world.until("2026-11-30T12:00:40Z")
            found = await delay(engine, "x", AT)
        # The run of 12:00:10 took until 12:00:22.
        assert found == NO_DELAY._replace(held=2_000, first_byte=12_000)

    simulate(main, directory, START, delay_ms=lambda _: 12_000)


def test_catching_up_is_planning_until_the_return_and_held_for_the_spread(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", cron="30 * * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:10Z")
        await world.clock.run_for(HOUR_MS - 10_000)
        async with world.engine() as engine:
            await world.until("2026-11-30T13:01:00Z")
            found = await delay(engine, "x", "2026-11-30T12:30:00Z")
        assert 1_800_000 <= found.planning <= 1_801_000
        assert 0 < found.held <= 10_000
        assert found == NO_DELAY._replace(planning=found.planning, held=found.held)

    simulate(main, directory, START)


def test_a_run_planned_late_without_being_missed_shows_in_planning(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", every=20, jitter_seconds=0)
            await world.until("2026-11-30T12:00:14Z")
        await world.until("2026-11-30T12:00:25Z")
        async with world.engine() as engine:
            await world.until("2026-11-30T12:00:30Z")
            found = await delay(engine, "x", AT)
        assert found == NO_DELAY._replace(planning=5_000, bucket=1)  # It is empty at the start.

    simulate(main, directory, START)


def test_a_run_planned_before_a_restart_was_held_by_it(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", every=20, jitter_seconds=0)
            await world.until("2026-11-30T12:00:19Z")
        await world.until("2026-11-30T12:00:25Z")
        async with world.engine() as engine:
            await world.until("2026-11-30T12:00:30Z")
            found = await delay(engine, "x", AT)
        assert found == NO_DELAY._replace(held=5_000, bucket=1)

    simulate(main, directory, START)


def test_a_timeout_counts_to_where_the_exchange_stood(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            target = {"url": "http://127.0.0.1:9/hook", "timeout_seconds": 2}
            await put(engine, "x", at=AT, target=target, retry={"max_attempts": 1})
            await world.until("2026-11-30T12:00:40Z")
            found = await delay(engine, "x")
        assert found == NO_DELAY._replace(first_byte=sum(found))
        assert 2_000 <= sum(found) <= 2_100

    simulate(main, directory, START, delay_ms=lambda _: HOUR_MS)


def test_a_crash_in_mid_attempt_is_part_of_the_retry(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(drain_timeout_seconds=0) as engine:
            await put(engine, "x", at=AT)
            await world.until("2026-11-30T12:00:21Z")
        await world.until("2026-11-30T12:00:24Z")
        world.delay_ms = lambda _: 0
        async with world.engine() as engine:
            await world.until("2026-11-30T12:00:40Z")
            found = await delay(engine, "x")
        assert found == NO_DELAY._replace(retry=4_001)

    simulate(main, directory, START, delay_ms=lambda _: HOUR_MS)


def test_a_run_without_an_ended_attempt_has_none(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT)
            await world.until("2026-11-30T12:00:21Z")
            run, attempts = await engine.runs.get(
                schedule_id(engine.tenant, "x"), parse_instant(AT)
            )
            assert [attempt.ended_at_ms for attempt in attempts] == [None]
            assert attribute_run(run, attempts) is None

    simulate(main, directory, START, delay_ms=lambda _: 5_000)


def test_of_a_herd_the_bucket_ate_the_objective(directory: Path) -> None:
    async def main(world: World) -> Shares:
        async with world.engine(rate=100, burst=10) as engine:
            for index in range(2_500):
                await put(engine, f"s{index}", at=AT, flow_key=f"f{index % 100}")
            await engine.schedules.trigger("s0")  # Neither manual runs count,
            await put(engine, "later", at="2026-11-30T12:00:50Z")  # nor what lies outside.
            await world.until("2026-11-30T12:01:20Z")
            at_ms = parse_instant(AT)
            return await engine.attributions.shares(at_ms, at_ms + 1)

    found = simulate(main, directory, START)
    assert (found.runs, found.complete, found.eater) == (2_500, True, "bucket")
    # 2,500 at 100 a second: evenly from now to 25 s, and nobody waited for anything else.
    assert found.lateness == found.components["bucket"]
    assert found.total_ms == found.lateness.sum_ms
    assert 12_400 <= found.lateness.p50_ms <= 12_500
    assert 24_600 <= found.lateness.p99_ms <= 24_750


def test_a_runs_delay_can_be_read_while_its_retry_waits(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT)
            await world.until("2026-11-30T12:00:20.050Z")
            at_ms = parse_instant(AT)
            assert (await engine.attributions.shares(at_ms, at_ms + 1)).runs == 1
            assert await delay(engine, "x") == NO_DELAY._replace(first_byte=10)

    simulate(main, directory, START, answer=lambda _: BROKEN, delay_ms=lambda _: 10)
