"""What /metrics shows while the real engine works, in virtual time: each figure and its cause."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from engine.app import Engine
from engine.core.identity import parse_instant, schedule_id
from engine.core.model import Outcome
from engine.services.transport import HttpRequest
from tests.simulation.world import World, put, simulate

NOON = "2026-11-30T12:00:00Z"

HISTOGRAMS = {
    "scheduler_fire_delay_seconds",
    "scheduler_fire_lateness_seconds",
    "scheduler_token_wait_seconds",
    "scheduler_journal_commit_seconds",
    "scheduler_journal_batch_rows",
    "scheduler_loop_lag_seconds",
}
COUNTERS = {"scheduler_runs", "scheduler_attempts", "scheduler_clock_jumps"}
GAUGES = {
    "scheduler_backlog_runs",
    "scheduler_oldest_due_age_seconds",
    "scheduler_tokens",
    "scheduler_inflight",
    "scheduler_concurrency_limit",
    "scheduler_wheel_timers",
    "scheduler_desired_nodes",
    "scheduler_planner_lag_seconds",
    "scheduler_amplification_ratio",
    "scheduler_alignment_ratio",
    "scheduler_herd_verdict",
}
"""SPEC §9, to the letter; counters end in _total on the wire."""


class Scrape:
    """One answer of /metrics: values by sample name and labels."""

    def __init__(self, engine: Engine) -> None:
        text = generate_latest(engine.registry).decode()
        self.families = list(text_string_to_metric_families(text))
        self._values = {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in self.families
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float:
        return self._values[f"scheduler_{name}", *sorted(labels.items())]

    def true(self, name: str) -> list[str]:
        """The label values of a one-hot gauge that are 1."""
        family = f"scheduler_{name}"
        return [key[1][1] for key, value in self._values.items() if key[0] == family and value]


def test_every_metric_of_the_contract_is_there_from_the_start(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            families = Scrape(engine).families
        kinds = {
            kind: {family.name for family in families if family.type == kind}
            for kind in ("histogram", "counter", "gauge")
        }
        assert kinds["histogram"] == HISTOGRAMS
        assert kinds["counter"] >= COUNTERS
        assert kinds["gauge"] >= GAUGES
        for family in families:
            assert family.documentation
            assert family.samples, "a value that can occur is 0 before it does"

    simulate(main, directory, NOON)


def test_runs_and_attempts_are_counted_by_how_they_ended(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "good", at="2026-11-30T12:00:10Z")
            retry = {"max_attempts": 2, "min_backoff_seconds": 1}
            target = {"url": "http://127.0.0.1:9/bad"}
            await put(engine, "bad", at="2026-11-30T12:00:10Z", retry=retry, target=target)
            await put(engine, "resting", at="2026-11-30T12:00:10Z", paused=True)
            await world.until("2026-11-30T12:01:00Z")
            now = Scrape(engine)
        assert now("runs_total", disposition="succeeded") == 1
        assert now("runs_total", disposition="failed") == 1
        assert now("attempts_total", outcome="success") == 1
        assert now("attempts_total", outcome="http_error") == 2

    bad = Outcome(name="http_error", status=500)
    good = Outcome(name="success", status=200)
    answer = lambda request: bad if request.url.endswith("bad") else good  # noqa: E731 (a table)
    simulate(main, directory, NOON, answer=answer)


def test_a_run_that_an_edit_a_deletion_or_somebody_takes_away_is_counted_once(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:

            def cancelled() -> float:
                return Scrape(engine)("runs_total", disposition="cancelled")

            soon = "2026-11-30T12:00:04Z"
            for name in ("edited", "deleted", "unwanted"):
                await put(engine, name, at=soon)
            await world.clock.run_for(1_000)
            await put(engine, "edited", at="2026-11-30T13:00:00Z")
            assert cancelled() == 1
            await engine.schedules.delete("deleted")
            assert cancelled() == 2
            await engine.runs.cancel(schedule_id("default", "unwanted"), parse_instant(soon))
            assert cancelled() == 3
            await world.until("2026-11-30T12:01:00Z")
            assert cancelled() == 3

    simulate(main, directory, NOON)


def test_a_run_that_is_not_tried_again_is_cancelled_when_its_attempt_has_ended(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            target = {"url": "http://127.0.0.1:9/bad"}
            for name in ("deleted", "unwanted"):
                await put(engine, name, at="2026-11-30T12:00:04Z", target=target)
            await put(engine, "tried", at="2026-11-30T12:00:04Z", target=target)
            await world.until("2026-11-30T12:00:05Z")
            await engine.schedules.delete("deleted")
            unwanted = schedule_id("default", "unwanted")
            await engine.runs.cancel(unwanted, parse_instant("2026-11-30T12:00:04Z"))
            assert Scrape(engine)("runs_total", disposition="cancelled") == 0
            await world.until("2026-11-30T12:00:20Z")
            assert Scrape(engine)("runs_total", disposition="cancelled") == 2

    bad = Outcome(name="http_error", status=500)
    simulate(main, directory, NOON, answer=lambda _: bad, delay_ms=lambda _: 10_000)


def test_delay_counts_jitter_and_lateness_does_not(directory: Path) -> None:
    """By window and trigger; the buckets hold the objectives of 2 s and 15 s."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            hourly = await put(engine, "hourly", cron="0 * * * *", jitter_seconds=900)
            await put(engine, "later", at="2026-11-30T12:30:00Z")
            await world.until("2026-11-30T13:30:00Z")
            await engine.schedules.trigger("later")
            await world.clock.run_for(1_000)
            now = Scrape(engine)
        top = {"window": "top_of_hour", "trigger": "schedule"}
        other = {"window": "other", "trigger": "schedule"}
        offset = hourly.definition.offset_ms / 1_000
        assert now("fire_delay_seconds_sum", **top) == pytest.approx(offset, abs=0.01)
        assert now("fire_lateness_seconds_sum", **top) == pytest.approx(0, abs=0.01)
        assert now("fire_lateness_seconds_count", **top) == 1
        assert now("fire_lateness_seconds_count", **other) == 1
        assert now("fire_lateness_seconds_count", window="other", trigger="manual") == 1
        assert now("fire_lateness_seconds_bucket", **top, le="2.0") == 1
        assert now("fire_lateness_seconds_bucket", **top, le="15.0") == 1

    simulate(main, directory, "2026-11-30T12:10:00Z")


def test_token_waits_are_those_of_runs_that_nothing_else_held_back(directory: Path) -> None:
    """Ten runs at ten a second: the first leaves with the burst, the last waits for 0.9 s."""

    async def main(world: World) -> None:
        async with world.engine(rate=10, burst=1) as engine:
            for name in range(10):
                await put(engine, f"s{name}", at="2026-11-30T12:00:10Z")
            await world.until("2026-11-30T12:00:20Z")
            now = Scrape(engine)
        assert now("token_wait_seconds_count") == 10
        assert now("token_wait_seconds_sum") == pytest.approx(4.5, abs=0.1)
        assert now("token_wait_seconds_bucket", le="0.005") == 1

    simulate(main, directory, NOON)


def test_waiting_for_a_slot_is_not_waiting_for_a_token(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(concurrency=1) as engine:
            for name in range(10):
                await put(engine, f"s{name}", at="2026-11-30T12:00:10Z")
            await world.until("2026-11-30T12:00:40Z")
            now = Scrape(engine)
        assert now("token_wait_seconds_count") == 10
        assert now("token_wait_seconds_sum") == 0
        waited = now("fire_lateness_seconds_sum", window="top_of_hour", trigger="schedule")
        assert waited == pytest.approx(45, abs=0.2)

    simulate(main, directory, NOON, delay_ms=lambda _: 1_000)


def test_a_token_wait_begins_when_the_other_waits_are_over(directory: Path) -> None:
    """Two hold both slots for 5 s; of the four behind, two leave then and two wait for tokens."""

    async def main(world: World) -> None:
        async with world.engine(concurrency=2, rate=1, burst=2) as engine:
            for name in ("slow-1", "slow-2", "a", "b", "c", "d"):
                second = 10 if name.startswith("slow") else 11
                await put(engine, name, at=f"2026-11-30T12:00:{second}Z")
            await world.until("2026-11-30T12:00:30Z")
            now = Scrape(engine)
        assert now("token_wait_seconds_count") == 6
        assert now("token_wait_seconds_sum") == pytest.approx(1 + 2, abs=0.1)

    def delay_ms(request: HttpRequest) -> int:
        return 5_000 if "slow" in dict(request.headers)["X-Schedule-Name"] else 0

    simulate(main, directory, NOON, delay_ms=delay_ms)


def test_levels_show_what_waits_and_what_is_under_way(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(concurrency=4, rate=10, burst=5) as engine:
            for name in range(10):
                await put(engine, f"s{name}", at="2026-11-30T12:00:10Z")
            await world.until("2026-11-30T12:00:08Z")
            before = Scrape(engine)
            await world.until("2026-11-30T12:00:13Z")
            during = Scrape(engine)
        assert before("wheel_timers") == 10
        assert before("backlog_runs") == before("oldest_due_age_seconds") == before("inflight") == 0
        assert before("tokens") == 5
        assert before("planner_lag_seconds") <= 3.5
        assert during("inflight") == during("concurrency_limit") == 4
        assert during("backlog_runs") == during("wheel_timers") == 6
        assert during("oldest_due_age_seconds") == pytest.approx(3, abs=0.01)

    simulate(main, directory, NOON, delay_ms=lambda _: 10_000)


def test_the_journal_counts_commits_and_their_rows(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            before = Scrape(engine)
            for name in range(100):
                await put(engine, f"s{name}", at="2026-11-30T12:00:10Z")
            stored = Scrape(engine)
            await world.until("2026-11-30T12:00:20Z")
            now = Scrape(engine)
        commits = stored("journal_commit_seconds_count") - before("journal_commit_seconds_count")
        assert commits >= 100
        assert stored("journal_batch_rows_count") == stored("journal_commit_seconds_count")
        # A claim and an outcome are one change each in any number of rows.
        assert now("journal_batch_rows_sum") - stored("journal_batch_rows_sum") >= 400
        assert now("journal_batch_rows_count") - stored("journal_batch_rows_count") < 50
        assert now("planned_rows_total") == 100

    simulate(main, directory, NOON)


def test_a_loop_that_stands_still_shows_in_its_lag(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await world.clock.run_for(1_000)
            before = Scrape(engine)
            asyncio.get_running_loop().call_soon(stall, world, 1_500)
            await world.clock.run_for(1_000)
            now = Scrape(engine)
        assert before("loop_lag_seconds_sum") == 0
        assert 1.4 <= now("loop_lag_seconds_sum") <= 1.5

    simulate(main, directory, NOON)


def test_a_clock_that_is_set_is_counted(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await world.clock.run_for(5_000)
            assert Scrape(engine)("clock_jumps_total") == 0
            world.clock.step(30_000)
            await world.clock.run_for(5_000)
            assert Scrape(engine)("clock_jumps_total") == 1

    simulate(main, directory, NOON)


def test_the_monitor_shows_its_ratios_and_exactly_one_verdict(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            for name in range(600):
                await put(engine, f"s{name}", cron="0 13 * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:59:00Z")
            before = Scrape(engine)
            await world.until("2026-11-30T13:00:30Z")
            now = Scrape(engine)
        assert before.true("herd_verdict") == ["quiet"]
        assert before("amplification_ratio", stage="demand") == 0
        assert now.true("herd_verdict") == ["alignment"]
        assert now("amplification_ratio", stage="demand") == 30  # All in one of thirty seconds.
        assert now("amplification_ratio", stage="served") < 6
        assert now("alignment_ratio", stage="demand") == pytest.approx(1)
        assert now("alignment_ratio", stage="planned") == pytest.approx(1)

    simulate(main, directory, "2026-11-30T12:58:00Z")


def test_an_open_breaker_is_counted_until_it_closes(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            for name in range(20):
                await put(engine, f"s{name}", every=60)
            await world.until("2026-11-30T12:03:00Z")
            down = Scrape(engine)
            await world.until("2026-11-30T12:10:00Z")
            back = Scrape(engine)
        assert down("breakers_open") == 1
        assert back("breakers_open") == 0

    outcomes = answers_until(14)
    simulate(main, directory, NOON, answer=lambda _: next(outcomes))


def answers_until(failures: int) -> Iterator[Outcome]:
    yield from [Outcome(name="connect_error")] * failures
    while True:
        yield Outcome(name="success", status=200)


def stall(world: World, ms: int) -> None:
    """Take the loop for so long, as a computation does."""
    loop = asyncio.get_running_loop()
    loop.now_us += ms * 1_000
