"""A tenant's forecast is what it would be if the tenant were alone on the node."""

from pathlib import Path
from typing import Any

from engine.app import Engine
from engine.core.document import read_schedule
from engine.core.herd_document import Change, Span
from engine.core.identity import parse_instant
from tests.simulation.world import World, simulate

START = "2026-11-30T11:30:00Z"
ASKED = "2026-11-30T12:00:12Z"
ASKED_S = parse_instant(ASKED) // 1000
SPAN = Span(from_s=ASKED_S + 1, to_s=ASKED_S + 7_201)


async def populate(engine: Engine, tenant: str, schedules: int) -> None:
    """Schedules of every kind that the forecast counts in a way of its own."""
    of = engine.of(tenant)

    async def put(name: str, **document: Any) -> None:
        document.setdefault("target", {"url": f"http://{tenant}.example/"})
        await of.schedules.put(read_schedule(document, tenant=tenant, name=name))

    for number in range(schedules):
        await put(f"hourly-{number}", cron="0 * * * *", jitter_seconds=60)
        await put(f"short-{number}", cron="0 * * * *", deadline_seconds=20, jitter_seconds=0)
        await put(f"slow-{number}", cron="30 * * * *", flow_key="slow", jitter_seconds=0)
    await put("due", every=60, flow_key="resting")
    await put("once", at="2026-11-30T12:45:00Z")
    await put("rests", every=60, paused=True)
    await put("ends", every=60, end_at="2026-11-30T12:10:00Z")
    await put("gone", every=60)
    await of.schedules.delete("gone")
    await of.flows.put("slow", rate=1, parallelism=5, paused=False)
    await of.flows.put("resting", rate=None, parallelism=5, paused=True)


def foreseen_by_acme(directory: Path, others: int) -> Any:
    async def main(world: World) -> Any:
        async with world.engine(rate=5, burst=5) as engine:
            if others:
                await populate(engine, "globex", others)
            await populate(engine, "acme", 20)
            await world.until(ASKED)
            forecasts = engine.of("acme").forecasts
            forecast, top = await forecasts.forecast(SPAN)
            what_if = await forecasts.what_if(Change(jitter_seconds=300), SPAN)
            advice = await forecasts.advice()
            node = await engine.forecasts.foresee(SPAN)
        assert (sum(node.planned) > sum(forecast.planned)) is bool(others)
        return (
            (forecast.demand, forecast.planned, forecast.served, forecast.minutes),
            (forecast.bucket, forecast.backlog, forecast.under_way, top),
            (what_if.selected_schedules, what_if.least_rate, what_if.least_jitter_seconds),
            (what_if.then.planned, what_if.then.served),
            [(change.crowd.schedules, change.jitter_seconds) for change in advice.changes],
        )

    return simulate(main, directory, START)


def test_what_others_have_changes_nothing_in_it(directory: Path):
    alone = foreseen_by_acme(directory / "alone", others=0)
    among_others = foreseen_by_acme(directory / "among", others=50)
    assert alone == among_others
    assert [tenant for tenant, _ in alone[1][3].tenants] == ["acme"]
    assert alone[1][2] == {parse_instant("2026-11-30T12:00:00Z") // 1000: 20 + 20 + 2}


def test_whoever_reads_for_one_tenant_may_be_asked_for_another(directory: Path):
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await populate(engine, "acme", 3)
            await populate(engine, "globex", 4)
            forecasts = [engine.of(tenant).forecasts for tenant in ("acme", "globex", "nobody")]
            planned = [sum((await each.foresee(SPAN)).planned) for each in forecasts]
            assert planned[1] - planned[0] == 4 + 2
            assert planned[2] == 0

    simulate(main, directory, START)
