"""The real engine's curves against its journal, and its records against its restarts."""

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest

from engine.core.document import read_schedule
from engine.core.identity import parse_instant
from engine.core.model import Outcome
from engine.core.verdict import VerdictName
from tests.simulation.world import World, put, simulate

TOP = "2026-11-30T12:00:00Z"
TOP_MS = parse_instant(TOP)


def test_the_planned_curve_is_the_journals_and_the_served_one_the_receivers(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            hourly = [put(engine, f"hourly-{n}", cron="0 * * * *") for n in range(2_000)]
            once = [put(engine, f"once-{n}", at="2026-11-30T12:00:07.5Z") for n in range(50)]
            await asyncio.gather(*hourly, *once)
            await world.until("2026-11-30T12:01:10Z")
            sight = engine.monitor.current()
            curves = engine.monitor.by_second(sight.figures)
            assert sight.figures.start_ms == TOP_MS
            rows = world.rows("SELECT fire_after, first_attempt_at FROM job_run")
            for curve, column in (("planned", 0), ("served", 1)):
                seconds = Counter((row[column] - TOP_MS) // 1_000 for row in rows)
                assert curves[curve] == [seconds[second] for second in range(60)]
            assert sum(curves["planned"]) == 2_050
            assert curves["demand"] == [2_000, *[0] * 6, 50, *[0] * 52]

    simulate(main, directory, "2026-11-30T11:59:30Z")


def test_records_outlive_the_engine_that_made_them(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            await asyncio.gather(*(put(engine, f"h-{n}", cron="0 * * * *") for n in range(1_000)))
            await world.until("2026-11-30T12:01:20Z")
        async with world.engine(rate=100) as engine:
            (record,) = await engine.monitor.records(10)
            assert (record.instant_ms, record.runs, record.verdict) == (TOP_MS, 1_000, "flattened")
            assert record.timetables == (("0 * * * * (UTC)", 1_000),)
            await world.until("2026-11-30T13:01:20Z")
            assert [r.runs for r in await engine.monitor.records(10)] == [1_000, 1_000]

    simulate(main, directory, "2026-11-30T11:59:30Z")


@pytest.mark.parametrize("rate", [2, 10, 30])
def test_a_herd_behind_a_small_bucket_is_aligned_and_not_downstream(
    directory: Path, rate: int
) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=rate) as engine:
            runs = [
                put(
                    engine,
                    f"h-{number}",
                    cron="0 * * * *",
                    jitter_seconds=0,
                    flow_key=f"flow-{number % 4}",
                )
                for number in range(10 * rate)
            ]
            await asyncio.gather(*runs)
            await world.until("2026-11-30T12:01:20Z")
            (record,) = await engine.monitor.records(10)
            assert (record.runs, record.verdict) == (10 * rate, "alignment")

    simulate(main, directory, "2026-11-30T11:59:30Z")


def test_minutely_herds_that_leave_a_growing_backlog_are_volume_though_they_are_flat(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=10) as engine:
            for number in range(700):
                key = f"flow-{number % 8}"
                await put(engine, f"m-{number}", cron="* * * * *", jitter_seconds=60, flow_key=key)
            for minute in range(1, 5):
                await world.until(f"2026-11-30T12:0{minute}:30Z")
                verdict = engine.monitor.current().verdict
                assert verdict.name == "volume", verdict
                assert verdict.advice.startswith("Raise the rate above 11.")
            records = await engine.monitor.records(10)
            assert [record.verdict for record in records[:2]] == ["volume", "volume"]

    simulate(main, directory, "2026-11-30T11:59:30Z")


def test_a_herd_without_jitter_is_called_aligned_and_one_on_whole_seconds_too(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=100, jitter_subsecond=False) as engine:
            for number in range(1_000):
                document = {"cron": "0 * * * *", "target": {"url": "http://127.0.0.1:9/hook"}}
                draft = read_schedule(
                    document, tenant="default", name=f"w-{number}", subsecond=False
                )
                await engine.schedules.put(draft)
            exact = [
                put(engine, f"e-{n}", cron="30 12 * * *", jitter_seconds=0) for n in range(1_000)
            ]
            await asyncio.gather(*exact)
            await world.until("2026-11-30T12:32:00Z")
            half, top = await engine.monitor.records(10)
            assert (top.verdict, top.period_seconds) == ("alignment", 1)
            assert (half.verdict, half.busiest_planned) == ("alignment", 1_000)
            assert half.timetables == (("30 12 * * * (UTC)", 1_000),)

    simulate(main, directory, "2026-11-30T11:59:00Z")


def test_receivers_that_hang_are_called_downstream(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=100, concurrency=10) as engine:
            await asyncio.gather(*(put(engine, f"h-{n}", cron="0 * * * *") for n in range(1_000)))
            await world.until("2026-11-30T12:01:20Z")
            assert {r.verdict for r in await engine.monitor.records(10)} == {"downstream"}

    simulate(main, directory, "2026-11-30T11:59:30Z", delay_ms=lambda _: 10_000)


def test_runs_behind_an_open_breaker_are_called_downstream_and_their_flow_is_named(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            for name in range(20):
                await put(engine, f"s{name}", every=60, flow_key="lost")
            await world.until("2026-11-30T12:05:30Z")
            verdict = engine.monitor.current().verdict
        assert verdict.name == VerdictName.DOWNSTREAM
        assert re.fullmatch(
            r"\d+ due runs wait behind the breaker of flow lost\.", verdict.sentence
        )

    simulate(main, directory, TOP, answer=lambda _: Outcome(name="connect_error"))


def test_a_restart_that_catches_up_and_an_outage_that_is_retried_are_named(
    directory: Path,
) -> None:
    down = True

    async def main(world: World) -> None:
        nonlocal down
        async with world.engine(rate=100) as engine:
            # Flows of their own: a breaker for all of them would keep the storm away.
            await asyncio.gather(
                *(put(engine, f"h-{n}", cron="0 * * * *", flow_key=f"f{n}") for n in range(1_000))
            )
            await world.until("2026-11-30T12:01:20Z")
            (storm,) = {r.verdict for r in await engine.monitor.records(10)}
            assert storm == "retry_storm"
            down = False
            await world.until("2026-11-30T12:10:00Z")
        await world.until("2026-11-30T13:30:00Z")
        async with world.engine(rate=100) as engine:
            await world.until("2026-11-30T13:30:20Z")
            assert (await engine.monitor.records(1))[0].verdict == "catch_up"

    def answer(_: object) -> Outcome:
        return Outcome(name="http_error" if down else "success", status=503 if down else 200)

    simulate(main, directory, "2026-11-30T11:59:30Z", answer=answer)
