"""History is bounded for the whole node, and none pays for the runs of another."""

from pathlib import Path
from typing import Any

import pytest

from engine.app import Engine
from engine.core.access import Quotas
from engine.core.document import read_schedule
from engine.core.errors import Invalid
from engine.core.identity import parse_instant
from engine.core.model import Outcome, State
from engine.services.transport import HttpRequest
from engine.store import pruning
from engine.store.database import check
from tests.simulation.world import MINUTE_MS, World, simulate

START = "2026-11-30T12:00:00Z"
RUNS_MAX = 300
FINAL = Outcome(name="http_error", status=400)
SUCCESS = Outcome(name="success", status=200)


async def put(engine: Engine, tenant: str, name: str, **trigger: Any) -> None:
    target = {"url": "http://h.example/"}
    document = {**trigger, "jitter_seconds": 0, "target": target, "catch_up": "all"}
    draft = read_schedule(document, tenant=tenant, name=name)
    await engine.of(tenant).schedules.put(draft)


async def populate(engine: Engine) -> None:
    """One tenant that fails once a minute, and one that makes 300 runs in the same time."""
    for tenant in ("quiet", "loud"):
        await engine.tenants.put(tenant, Quotas())
    await put(engine, "quiet", "x", cron="* * * * *")
    for number in range(5):
        await put(engine, "loud", f"s{number}", every=1)


def answer(request: HttpRequest) -> Outcome:
    return FINAL if dict(request.headers)["X-Schedule-Name"] == "x" else SUCCESS


async def runs_of(engine: Engine, tenant: str, state: State | None = None) -> int:
    everything = {"schedule": None, "from_ms": None, "to_ms": None, "after": None}
    runs, _ = await engine.of(tenant).runs.page(state=state, limit=1_000, **everything)
    return len(runs)


def test_many_runs_of_one_tenant_push_no_dead_letter_of_another_out(
    directory: Path, admin: Path
) -> None:
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin, history_runs=RUNS_MAX) as engine:
            await populate(engine)
            await world.until("2026-11-30T12:20:30Z")
            assert await runs_of(engine, "quiet", State.FAILED) == 20
            assert (await engine.of("quiet").dead_letters.grouped()).runs == 20
            # Between two censuses a minute's runs come in.
            assert RUNS_MAX - 20 <= await runs_of(engine, "loud") <= 2 * RUNS_MAX + 20
        assert world.rows(
            "SELECT tenant, sum(count) > 5000 FROM counted_range c JOIN schedule s"
            " ON s.id = c.schedule_id WHERE reason = 'pruned' GROUP BY tenant"
        ) == [("loud", 1)]
        assert check(world.directory / "offbeat.db") == []

    simulate(main, directory, START, answer=answer)


def test_each_is_audited_from_where_its_own_history_begins(directory: Path, admin: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin, history_runs=RUNS_MAX) as engine:
            await populate(engine)
            await world.until("2026-11-30T12:10:30Z")
            now_ms = engine.clock.now_ms()
            quiet, loud = engine.of("quiet").audit, engine.of("loud").audit
            assert await quiet.history_floor_ms() < parse_instant("2026-11-30T12:01:00Z")
            tally = await quiet.run(await quiet.history_floor_ms(), now_ms)
            assert (tally.runs, tally.unaccounted) == (10, 0)
            floor_ms = await loud.history_floor_ms()
            assert floor_ms > parse_instant("2026-11-30T12:07:00Z")
            assert (await loud.run(floor_ms, now_ms)).unaccounted == 0
            with pytest.raises(Invalid, match="history begins at"):
                await loud.run(floor_ms - 1, now_ms)

    simulate(main, directory, START, answer=answer)


def test_what_was_pruned_of_a_tenant_is_not_run_again_by_its_backfill(
    directory: Path, admin: Path
) -> None:
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin, history_runs=RUNS_MAX) as engine:
            await populate(engine)
            await world.until("2026-11-30T12:10:30Z")
            span = {"from_ms": parse_instant(START), "to_ms": parse_instant("2026-11-30T12:05:00Z")}
            assert (await engine.of("loud").backfills.run("s1", **span, dry_run=True)).count == 0
        assert len({s.key for s in world.sent()}) == len(world.sent())

    simulate(main, directory, START, answer=answer)


def test_the_oldest_go_first_a_page_of_history_at_a_time(
    directory: Path, admin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is others' is passed over, and no step looks at more than a page of it."""
    monkeypatch.setattr(pruning, "LOOKED_AT_MAX", 5)
    monkeypatch.setattr(pruning, "PRUNED_RUNS_MAX", 2)

    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await engine.tenants.put("quiet", Quotas())
            await put(engine, "quiet", "x", every=1)
            await world.until("2026-11-30T12:00:12Z")
            await engine.tenants.put("loud", Quotas())
            await put(engine, "loud", "y", every=1)
            await world.clock.run_for(MINUTE_MS)
            await engine.of("quiet").schedules.delete("x")
            excess, steps, place = {"loud": 7}, [], (0, 0)
            while place is not None and excess["loud"]:
                gone, place = await engine._journal.prune_excess(place, excess)
                excess["loud"] -= gone.get("loud", 0)
                steps.append(gone.get("loud", 0))
            assert steps == [0, 0, 1, 2, 2, 2]
            oldest = world.rows(
                "SELECT tenant, min(scheduled_for) FROM job_run r JOIN schedule s"
                " ON s.id = r.schedule_id GROUP BY tenant ORDER BY tenant"
            )
            assert oldest == [
                ("loud", parse_instant("2026-11-30T12:00:20Z")),
                ("quiet", parse_instant("2026-11-30T12:00:01Z")),
            ]

    simulate(main, directory, START)
