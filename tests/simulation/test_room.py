"""The room in memory: what one tenant lets wait there keeps no run of another out."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.app import Engine
from engine.core.access import Quotas
from engine.core.document import read_schedule
from engine.core.model import Outcome
from engine.services.transport import HttpRequest
from engine.services.waiting import Waiting
from tests.simulation.world import World, simulate

START = "2026-11-30T12:00:00Z"
CAPACITY = 1_000
SUCCESS = Outcome(name="success", status=200)
LATER = {"min_backoff_seconds": 60, "max_backoff_seconds": 60, "jitter": "none"}
FLOWS = 15
"""Of which each would hold a hundred runs, more than there is room for in all."""


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.app.Waiting", partial(Waiting, capacity=CAPACITY))


async def put(engine: Engine, tenant: str, name: str, **document: Any) -> None:
    target = {"url": "http://h.example/"}
    document = {**document, "jitter_seconds": 0, "target": target}
    draft = read_schedule(document, tenant=tenant, name=name)
    await engine.of(tenant).schedules.put(draft)


async def pause_flows(engine: Engine, *, paused: bool) -> None:
    for number in range(FLOWS):
        limits = {"rate": None, "parallelism": 1, "paused": paused}
        await engine.of("loud").flows.put(f"f{number}", **limits)


async def populate(engine: Engine) -> None:
    for tenant in ("loud", "quiet"):
        await engine.tenants.put(tenant, Quotas())
    await pause_flows(engine, paused=True)
    for number in range(FLOWS):
        await put(engine, "loud", f"s{number}", every=1, flow_key=f"f{number}")
    await put(engine, "quiet", "x", every=10)


def test_runs_behind_many_paused_flows_of_one_tenant_leave_room_for_others(
    directory: Path, admin: Path
) -> None:
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await populate(engine)
            await world.until("2026-11-30T12:03:05Z")
            assert engine.waiting.room >= CAPACITY // 8 - FLOWS
            sent = world.sent("x")
            assert [s.at for s in sent] == [s.scheduled_for for s in sent]
            assert len(sent) == 18

    simulate(main, directory, START)


def test_what_waited_for_room_is_read_back_when_its_flows_go_on(
    directory: Path, admin: Path
) -> None:
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await populate(engine)
            await world.until("2026-11-30T12:02:05Z")
            assert {s.name for s in world.sent()} == {"x"}
            await pause_flows(engine, paused=False)
            await world.until("2026-11-30T12:02:30Z")
        for number in range(FLOWS):
            instants = {s.scheduled_for for s in world.sent(f"s{number}")}
            assert len(instants) >= 148

    simulate(main, directory, START)


def test_retries_that_waited_through_a_downtime_come_back_for_flows_that_nobody_knows_yet(
    directory: Path, admin: Path
) -> None:
    """Their flows were never seen by the engine that comes back."""

    def answer(request: HttpRequest) -> Outcome:
        first = dict(request.headers)["X-Attempt"] == "1"
        return Outcome(name="http_error", status=425) if first else SUCCESS

    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await engine.tenants.put("loud", Quotas())
            for number in range(FLOWS):
                once = {"at": "2026-11-30T12:00:10Z", "flow_key": f"f{number}", "retry": LATER}
                await put(engine, "loud", f"s{number}", **once)
            await world.until("2026-11-30T12:00:30Z")
        await world.until("2026-11-30T12:05:00Z")
        async with world.engine(admin_key_file=admin) as engine:
            await world.until("2026-11-30T12:05:30Z")
        assert sorted(s.name for s in world.sent() if s.attempt == 2) == sorted(
            f"s{number}" for number in range(FLOWS)
        )

    simulate(main, directory, START, answer=answer)
