"""Flows in the real engine: limits, breakers, fairness, memory (SPEC §8), in virtual time."""

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from engine.core.breaker import Door
from engine.core.bucket import TokenBucket
from engine.core.document import read_schedule
from engine.core.model import Outcome
from engine.services.transport import HttpRequest
from engine.services.waiting import FLOWS_KEPT_MAX, Waiting
from tests.simulation.world import MINUTE_MS, World, put, simulate

SUCCESS = Outcome(name="success", status=200)
DOWN = Outcome(name="connect_error")
BUSY = Outcome(name="http_error", status=429)
GONE = Outcome(name="http_error", status=404)


def target(host: str) -> dict[str, str]:
    return {"url": f"http://{host}.example/hook"}


def host_of(request: HttpRequest) -> str:
    return request.url.split("/")[2].split(".")[0]


def test_a_hung_destination_holds_up_nobody_else(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(concurrency=100) as engine:
            for index in range(200):
                await put(engine, f"hung-{index}", at="2026-11-30T12:00:20Z", target=target("hung"))
            for index in range(500):
                host = f"good-{index % 99}"
                await put(engine, f"g-{index}", at="2026-11-30T12:00:20Z", target=target(host))
            await world.until("2026-11-30T12:00:25Z")
        by_host = Counter(host_of(request) for _, request in world.ledger)
        assert by_host["hung"] == 20  # Its parallelism, and no more.
        assert sum(by_host.values()) - by_host["hung"] == 500

    simulate(
        main,
        directory,
        "2026-11-30T12:00:00Z",
        delay_ms=lambda r: 10 * MINUTE_MS if host_of(r) == "hung" else 10,
    )


def test_limits_set_through_a_flow_hold_at_once_and_after_a_restart(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            for index in range(30):
                await put(engine, f"s{index}", at="2026-11-30T12:00:20Z", flow_key="slow")
            await engine.flows.put("slow", rate=2, parallelism=5, paused=False)
            await world.until("2026-11-30T12:00:25Z")
        first = len(world.ledger)
        assert 8 <= first <= 11  # Two a second for five seconds.
        async with world.engine():
            await world.clock.run_for(5_000)
        assert 8 <= len(world.ledger) - first <= 11

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_what_expires_behind_a_flows_rate_takes_no_token_from_what_is_in_time(
    directory: Path,
) -> None:
    """Three a second where two may start: the queue is as long as the deadline, and stays so."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            for phase in range(30):
                for index in range(3):
                    document = {"every": 30, "phase": phase, "deadline_seconds": 10}
                    await put(engine, f"s{phase}-{index}", flow_key="slow", **document)
            await engine.flows.put("slow", rate=2, parallelism=5, paused=False)
            await world.until("2026-11-30T12:01:30Z")
        # What starts counts, and two a second do, as many in the last half minute as before it.
        starts = [at_ms // 1_000 for at_ms, _ in world.ledger]
        assert sum(second >= starts[0] + 60 for second in starts) >= 55
        [(expired,)] = world.rows("SELECT count(*) FROM job_run WHERE reason = 'expired'")
        assert 60 <= expired <= 75

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_limit_holds_in_a_flow_whose_receiver_had_asked_for_less(directory: Path) -> None:
    """A second of 429, and from then on no success that could lift the throttle."""

    async def main(world: World) -> None:
        def answer(_: HttpRequest) -> Outcome:
            now = world.now()
            if now < "2026-11-30T12:00:11":
                return SUCCESS
            return BUSY if now < "2026-11-30T12:00:12" else GONE

        world.answer = answer
        async with world.engine() as engine:
            for index in range(40):
                await put(engine, f"s{index}", every=1, jitter_seconds=0, flow_key="f")
            await world.until("2026-11-30T12:00:12Z")
            await engine.flows.put("f", rate=5, parallelism=20, paused=False)
            before = len(world.ledger)
            await world.until("2026-11-30T12:01:12Z")
            assert (await engine.flows.get("f")).effective_rate == 5
        assert len(world.ledger) - before == 301  # Five a second, and one saved up.

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_receiver_that_asks_for_less_gets_half_of_what_it_got(directory: Path) -> None:
    async def main(world: World) -> None:
        world.answer = lambda _: BUSY if world.now() >= "2026-11-30T12:00:11" else SUCCESS
        async with world.engine() as engine:
            for index in range(40):
                await put(engine, f"s{index}", every=1, jitter_seconds=0, flow_key="f")
            await world.until("2026-11-30T12:00:15.5Z")
        sent = Counter(s.at[:19] for s in world.sent())
        assert [sent[f"2026-11-30T12:00:{second}"] for second in range(10, 15)] == [
            40,
            39,  # The first answers come when twenty have gone; then twenty a second.
            10,
            5,
            2,
        ]

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_herd_to_a_receiver_that_refuses_what_is_too_much_takes_what_it_takes(
    directory: Path,
) -> None:
    """Forty a second, else 429; and in the middle none at all for eight seconds."""

    async def main(world: World) -> None:
        allowed = TokenBucket(40, 40, world.clock.now_ms())
        accepted: Counter[int] = Counter()
        refused: Counter[int] = Counter()

        def answer(_: HttpRequest) -> Outcome:
            now_ms = world.clock.now_ms()
            second = (now_ms - noon_ms) // 1_000
            is_taken = not 10 <= second < 18 and allowed.reserve(now_ms, 1) == 1
            (accepted if is_taken else refused)[second] += 1
            return SUCCESS if is_taken else BUSY

        noon_ms = world.clock.now_ms() + 20_000
        world.answer = answer
        async with world.engine() as engine:
            for index in range(1_600):
                await put(engine, f"s{index}", at="2026-11-30T12:00:20Z", flow_key="f")
            await world.clock.run_for(120_000)
        # 1,600 are forty seconds of it; with the outage and the way up it takes a quarter more.
        assert sum(accepted.values()) == 1_600
        assert sum(accepted[second] for second in range(60)) >= 1_590
        # It is back near half of what it takes within six seconds, and asked for no more than half
        # as much again as it takes: what it may have saved up meanwhile.
        assert accepted[24] >= 15
        assert max(accepted[second] for second in range(18, 60)) <= 60
        assert sum(refused[second] for second in range(18, 60)) <= 40

    simulate(main, directory, "2026-11-30T12:00:00Z", delay_ms=lambda _: 20)


def test_a_flow_that_has_left_memory_comes_back_with_its_limits(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            for index in range(30):
                await put(engine, f"s{index}", at="2026-11-30T12:01:20Z", flow_key="slow")
            slow = await engine.flows.put("slow", rate=2, parallelism=5, paused=False)
            others = range(1_000, 1_000 + FLOWS_KEPT_MAX)
            engine.waiting.learn(replace(slow.limits, flow_id=n) for n in others)
            await world.until("2026-11-30T12:01:00Z")
            assert not engine.waiting.knows(slow.limits.flow_id)
            await world.until("2026-11-30T12:01:25Z")
        assert 8 <= len(world.ledger) <= 11  # Two a second for five seconds.

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_paused_flow_sends_nothing_until_it_is_resumed(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at="2026-11-30T12:00:05Z", flow_key="f")
            await engine.flows.put("f", rate=None, parallelism=20, paused=True)
            await world.until("2026-11-30T12:01:00Z")
            assert world.ledger == []
            await engine.flows.put("f", rate=None, parallelism=20, paused=False)
            await world.clock.run_for(10)
            assert len(world.ledger) == 1

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_a_receiver_that_is_down_gets_probes_and_costs_no_attempts(directory: Path) -> None:
    """Ten minutes down with 1,000 waiting: what comes after is spread, and the same each time."""
    back = "2026-11-30T12:10:00Z"

    async def main(world: World) -> list[str]:
        def answer(_: HttpRequest) -> Outcome:
            return DOWN if world.now() < back else SUCCESS

        world.answer = answer
        async with world.engine(rate=100) as engine:
            for index in range(1_000):
                second = index % 60
                at = f"2026-11-30T12:0{1 + second // 60}:{second:02d}Z"
                await put(engine, f"s{index}", at=at)
            await world.until("2026-11-30T12:12:00Z")
        down = [s for s in world.sent() if s.at < back]
        # Ten that open the breaker (some are under way by then), and a probe a minute at last.
        assert len(down) < 50
        assert max(Counter(s.key for s in down).values()) <= 8
        after = Counter(s.at[:19] for s in world.sent() if s.at >= back)
        assert sum(after.values()) == 1_000
        (failed,) = world.rows("SELECT count(*) FROM job_run WHERE state = 'failed'")
        assert failed == (0,)
        spread = [n for at, n in after.items()]
        assert max(spread) <= 1.5 * sum(spread) / len(spread) + 8
        return [f"{s.at} {s.key}" for s in world.sent()]

    start = "2026-11-30T12:00:30Z"
    first, second = (simulate(main, directory / name, start) for name in ("first", "second"))
    assert first == second


def test_another_tenants_failures_at_the_same_host_open_nothing(directory: Path) -> None:
    async def main(world: World) -> None:
        world.answer = lambda request: DOWN if "theirs" in str(request.headers) else SUCCESS
        async with world.engine() as engine:
            for index in range(30):
                document = {"every": 1, "target": target("shared")}
                theirs = read_schedule(document, tenant="them", name=f"theirs-{index}")
                await engine.of("them").schedules.put(theirs)
            await put(engine, "mine", every=1, target=target("shared"))
            await world.until("2026-11-30T12:00:30Z")
            doors = [
                (await flows.get("shared.example:80")).door
                for flows in (engine.of("them").flows, engine.of(engine.tenant).flows)
            ]
        assert doors == [Door.OPEN, Door.CLOSED]
        assert all(s.at == s.scheduled_for for s in world.sent("mine"))

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_one_flows_backlog_leaves_room_for_the_others(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.app.Waiting", partial(Waiting, capacity=500))

    async def main(world: World) -> None:
        async with world.engine(rate=100_000) as engine:
            for index in range(2_000):
                await put(engine, f"big-{index}", at="2026-11-30T12:00:20Z", flow_key="big")
            await engine.flows.put("big", rate=50, parallelism=20, paused=False)
            await put(engine, "small", every=1, flow_key="small")
            await world.until("2026-11-30T12:00:31Z")
            assert len(engine.waiting) <= 500
            small = [s for s in world.sent("small") if s.at >= "2026-11-30T12:00:20"]
            assert [s.at for s in small] == [s.scheduled_for for s in small]
            assert len(small) == 11
            await world.until("2026-11-30T12:01:20Z")
        big = [s.name for s in world.sent() if s.name.startswith("big")]
        assert len(big) == len(set(big)) == 2_000

    simulate(main, directory, "2026-11-30T12:00:00Z")
