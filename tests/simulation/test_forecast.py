"""The forecast of an hour against the hour, in virtual time: policy, not speed."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from engine.app import Engine
from engine.core.forecast import Forecast
from engine.core.herd_document import Change, Span
from engine.core.herd_top import Top
from engine.core.identity import format_instant, parse_instant
from engine.core.json_text import compact_json
from engine.core.what_if import WhatIf
from tests.simulation.world import HOUR_MS, World, put, simulate

NOON = "2026-11-30T12:00:00Z"
NOON_S = parse_instant(NOON) // 1000


def span(seconds: int, from_s: int = NOON_S) -> Span:
    return Span(from_s=from_s, to_s=from_s + seconds)


async def populate(engine: Engine, names: int, **document: object) -> None:
    for number in range(names):
        await put(engine, f"job-{number}", **document)


def test_what_was_forecast_is_what_happens_second_by_second(tmp_path: Path):
    async def main(world: World) -> tuple[Forecast, Counter[int]]:
        async with world.engine(rate=4, burst=2) as engine:
            await populate(engine, 300, cron="0 * * * *", jitter_seconds=60)
            await put(engine, "often", every=20, jitter_seconds=5)
            await put(engine, "once", at="2026-11-30T12:02:30Z")
            await put(engine, "rests", cron="* * * * *", paused=True)
            await put(engine, "ends", every=10, end_at="2026-11-30T12:00:30Z")
            await put(engine, "begins", every=10, start_at="2026-11-30T12:02:10Z")
            forecast, _ = await engine.forecasts.forecast(span(180))
            await world.until("2026-11-30T12:03:05Z")
        sent = Counter(at_ms // 1000 - NOON_S for at_ms, _ in world.ledger)
        return forecast, sent

    forecast, sent = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    assert sum(forecast.planned) == 300 + 9 + 1 + 4 + 5
    busy = range(10, 70)
    assert [forecast.served[second] for second in busy] == [4] * 60
    assert sum(abs(forecast.served[second] - sent[second]) for second in busy) <= 4
    assert abs(sum(forecast.served[:60]) - sum(sent[second] for second in range(60))) <= 4
    assert forecast.demand[0] == 300 + 1 + 1
    assert forecast.demand[150] == 1 + 1


def test_what_nobody_owes_is_in_no_curve_and_names_no_timetable(tmp_path: Path):
    async def main(world: World) -> tuple[Forecast, Top]:
        async with world.engine() as engine:
            await put(engine, "ahead", every=1)
        world.clock.step(-50 * HOUR_MS)
        async with world.engine(accept_clock=True) as engine:
            await put(engine, "later", every=61, start_at="2030-01-01T00:00:00Z")
            await put(engine, "twice", every=62, max_runs=2)
            await put(engine, "over", every=63, end_at="2020-01-01T00:00:00Z")
            from_s = world.clock.now_ms() // 1000 + 1
            return await engine.forecasts.forecast(span(86_400, from_s))

    forecast, top = simulate(main, tmp_path, NOON)
    assert (sum(forecast.demand), sum(forecast.planned)) == (2, 2)
    assert top.timetables == [("every 62 s", 2)]
    assert (top.hosts, top.tenants) == ([("127.0.0.1:9", 2)], [("default", 2)])


def test_the_forecast_p99_is_that_of_the_herd(tmp_path: Path):
    async def main(world: World) -> tuple[Forecast, list[int]]:
        async with world.engine(rate=4, burst=1) as engine:
            await populate(engine, 300, cron="0 * * * *", jitter_seconds=60)
            forecast, _ = await engine.forecasts.forecast(span(3600))
            await world.until("2026-11-30T12:02:00Z")
        waits = [
            at_ms - parse_instant(dict(request.headers)["X-Fire-After"])
            for at_ms, request in world.ledger
        ]
        return forecast, sorted(waits)

    forecast, waits = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    [minute] = forecast.minutes
    assert (minute.runs, len(waits)) == (300, 300)
    assert abs(minute.delays.p99_ms - waits[297]) <= 1_500


def test_runs_of_an_occurrence_that_is_past_are_in_the_forecast_once(tmp_path: Path):
    async def main(world: World) -> tuple[Forecast, int]:
        async with world.engine(rate=100) as engine:
            await populate(engine, 200, cron="0 * * * *", jitter_seconds=60)
            await world.until("2026-11-30T12:00:20.500Z")
            await put(engine, "late", cron="0 * * * *", jitter_seconds=60)
            forecast, _ = await engine.forecasts.forecast(span(60, NOON_S + 21))
            before = len(world.ledger)
            await world.until("2026-11-30T12:01:30Z")
            return forecast, len(world.ledger) - before

    forecast, happened = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    assert sum(forecast.demand) == 0
    assert happened - 4 <= sum(forecast.served) <= happened


def test_a_herd_of_which_runs_are_to_come_is_told_with_all_of_its_runs(tmp_path: Path):
    found: list[tuple[Mapping[int, int], int]] = []

    async def main(world: World) -> None:
        async with world.engine(rate=100) as engine:
            await populate(engine, 200, cron="0 * * * *", jitter_seconds=60)
            for number in range(50):
                await put(engine, f"short-{number}", cron="0 12 * * *", jitter_seconds=5)
                await put(engine, f"wide-{number}", cron="59 11 * * *", jitter_seconds=900)
            await put(engine, "once", at="2026-11-30T12:00:00.250Z")
            for second in (0.6, 20.5, 40.5, 61.5):
                await world.until(format_instant(NOON_S * 1000 + int(1000 * second)))
                await engine.schedules.trigger("once")
                await put(engine, f"late-{second:.0f}", cron="0 * * * *", jitter_seconds=60)
                from_s = world.clock.now_ms() // 1000 + 1
                forecast, _ = await engine.forecasts.forecast(span(60, from_s))
                found.append((forecast.under_way, engine.monitor.current().figures.demand.runs))

    simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    wide = {NOON_S - 60: 50}
    assert [under_way for under_way, _ in found] == [{**wide, NOON_S: 251}] * 3 + [wide]
    assert found[0][1] < found[1][1] < 251 == found[3][1]


def test_a_backlog_that_waits_already_is_served_first(tmp_path: Path):
    async def main(world: World) -> Forecast:
        async with world.engine(rate=1, burst=1) as engine:
            await populate(engine, 60, cron="0 12 * * *", jitter_seconds=0)
            await world.until("2026-11-30T12:00:20.500Z")
            forecast, _ = await engine.forecasts.forecast(span(60, NOON_S + 21))
            return forecast

    forecast = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    assert sum(forecast.planned) == 0
    assert 38 <= sum(forecast.served) <= 41


def test_a_flows_rate_holds_its_runs_back_in_the_forecast_as_it_does_when_they_are_sent(
    tmp_path: Path,
):
    async def main(world: World) -> tuple[Forecast, Counter[int]]:
        async with world.engine(rate=1_000) as engine:
            await populate(engine, 600, cron="0 * * * *", jitter_seconds=0, flow_key="slow")
            await populate_others(engine)
            await engine.flows.put("slow", rate=10, parallelism=20, paused=False)
            forecast, _ = await engine.forecasts.forecast(span(120))
            await world.until("2026-11-30T12:01:30Z")
        sent = Counter(at_ms // 1000 - NOON_S for at_ms, _ in world.ledger)
        return forecast, sent

    async def populate_others(engine: Engine) -> None:
        for number in range(30):
            await put(engine, f"other-{number}", cron="0 * * * *", jitter_seconds=0)

    forecast, sent = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    assert sum(forecast.served) == 630
    assert forecast.served[1:59] == [10] * 58 == [sent[second] for second in range(1, 59)]
    assert [(held.limit.key, held.waiting) for held in forecast.held] == [("slow", 589)]


def test_a_forecast_of_next_week_knows_what_jitter_carries_into_it(tmp_path: Path):
    async def main(world: World) -> Forecast:
        async with world.engine(rate=100) as engine:
            await populate(engine, 50, cron="0 * * * *", jitter_seconds=900)
            from_s = NOON_S + 7 * 86_400 + 300
            forecast, _ = await engine.forecasts.forecast(span(3000, from_s))
            return forecast

    forecast = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    assert sum(forecast.demand) == 0
    assert 20 <= sum(forecast.planned) <= 45


def test_another_jitter_gives_the_offsets_that_the_schedules_would_have(tmp_path: Path):
    async def main(world: World) -> tuple[WhatIf, Forecast]:
        async with world.engine(rate=10) as engine:
            await populate(engine, 80, cron="0 * * * *", jitter_seconds=0)
            await put(engine, "short", cron="0 * * * *", jitter_seconds=0, deadline_seconds=20)
            change = Change(jitter_seconds=90)
            found = await engine.forecasts.what_if(change, span(600))
            await populate(engine, 80, cron="0 * * * *", jitter_seconds=90)
            await put(engine, "short", cron="0 * * * *", jitter_seconds=20, deadline_seconds=20)
            forecast, _ = await engine.forecasts.forecast(span(600))
            return found, forecast

    found, forecast = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    assert (found.exactness, found.selected_schedules) == ("exact", 81)
    assert found.then.planned == forecast.planned


def test_the_busiest_names_are_told_and_deleted_schedules_are_not(tmp_path: Path):
    async def main(world: World) -> bytes:
        async with world.engine() as engine:
            await populate(engine, 3, every=60, target={"url": "http://a.example:1/x"})
            await put(engine, "slow", every=1800, target={"url": "http://b.example/x"})
            await put(engine, "gone", every=1)
            await engine.schedules.delete("gone")
            _, top = await engine.forecasts.forecast(span(3600))
            return compact_json([top.tenants, top.hosts, top.timetables])

    assert simulate(main, tmp_path, "2026-11-30T11:58:00Z") == compact_json(
        [
            [["default", 182]],
            [["a.example:1", 180], ["b.example", 2]],
            [["every 60 s", 180], ["every 1800 s", 2]],
        ]
    )


def test_an_engine_without_schedules_has_a_quiet_forecast_and_no_advice(tmp_path: Path):
    async def main(world: World) -> tuple[Forecast, int]:
        async with world.engine() as engine:
            forecast, _ = await engine.forecasts.forecast(span(86_400))
            return forecast, len((await engine.forecasts.advice()).changes)

    forecast, changes = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    assert (forecast.minutes, changes) == ((), 0)
    assert format_instant(forecast.start_s * 1000) == NOON


def test_as_many_expire_as_the_forecast_says_and_nobody_waits_for_them(tmp_path: Path):
    async def main(world: World) -> tuple[Forecast, Counter[int], int]:
        async with world.engine(rate=20, burst=2) as engine:
            for number in range(300):
                urgent = {"deadline_seconds": 40} if number % 2 else {}
                await put(engine, f"job-{number}", cron="0 * * * *", jitter_seconds=5, **urgent)
            for number in range(200):
                document = {"cron": "0 * * * *", "jitter_seconds": 0, "flow_key": "slow"}
                await put(engine, f"slow-{number}", deadline_seconds=30, **document)
            await engine.flows.put("slow", rate=2, parallelism=20, paused=False)
            forecast, _ = await engine.forecasts.forecast(span(3600))
            await world.until("2026-11-30T12:02:00Z")
        [(expired,)] = world.rows("SELECT count(*) FROM job_run WHERE reason = 'expired'")
        return forecast, Counter(at_ms // 1000 - NOON_S for at_ms, _ in world.ledger), expired

    forecast, sent, expired = simulate(main, tmp_path, "2026-11-30T11:58:00Z")
    # Of the flow's two hundred sixty are in time, less a few whose token waited for the engine's.
    assert 140 <= expired <= 145
    assert abs(forecast.expiring - expired) <= 5
    assert sum(abs(forecast.served[second] - sent[second]) for second in range(60)) <= 20
