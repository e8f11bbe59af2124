"""A tenant whose receivers all hang fills the slots it may have: what that changes for others.

Time is virtual, so lateness is the engine's own and not the machine's: the same deliveries are made
twice, without the hanging ones and beside them, and their starts are compared to the millisecond.
"""

from dataclasses import dataclass
from pathlib import Path

from engine.app import Engine
from engine.core.access import Quotas
from engine.core.document import read_schedule
from engine.core.model import Outcome
from tests.simulation.world import World, simulate

START = "2026-11-30T12:00:00Z"
AT = "2026-11-30T12:00:10Z"
END = "2026-11-30T12:00:40Z"
SLOTS = 64
TENANT_SLOTS = SLOTS * 7 // 8
"""Of a tenant alone (`core/fairness.py`)."""

FLOWS, FLOW_RUNS = 37, 10
"""As many that hang as `tests/end_to_end/hostile.py` has kinds: six times the tenant's slots."""

HANG_MS = 2_000
TENANTS = ("hostile", "other")
ORDINARY = 5
"""Schedules of each tenant, every second, each with a receiver of its own that answers."""

UNDER_WAY = """SELECT count(*) FROM job_run r JOIN schedule s ON s.id = r.schedule_id
WHERE r.state = 'attempting' AND s.name LIKE 'hangs-%'"""
LATENESS = """SELECT s.tenant, r.first_attempt_at - r.fire_after
FROM job_run r JOIN schedule s ON s.id = r.schedule_id
WHERE s.name LIKE 'ordinary-%' AND r.first_attempt_at IS NOT NULL
ORDER BY r.scheduled_for, s.name"""

TIMEOUT = Outcome(name="timeout")
OK = Outcome(name="success", status=200)


@dataclass
class Seen:
    """How late ordinary deliveries started, by tenant, and how many hung at the same time."""

    late_ms: dict[str, list[int]]
    hanging: int


def seen(directory: Path, admin: Path, *, hanging: int) -> Seen:
    """Half a minute with so many schedules whose receivers hang, all at one instant."""

    async def main(world: World) -> Seen:
        async with world.engine(admin_key_file=admin, concurrency=SLOTS) as engine:
            for tenant in TENANTS:
                await engine.tenants.put(tenant, Quotas())
                for number in range(ORDINARY):
                    await put(engine, tenant, f"ordinary-{number}", every=1)
            for number in range(hanging):
                # The number of the name's end is that of its receiver, and so of its flow.
                name = f"hangs-{number // FLOWS}-{number % FLOWS}"
                await put(engine, "hostile", name, at=AT, retry={"max_attempts": 1})
            most = 0
            for second in range(10, 20):
                await world.until(f"2026-11-30T12:00:{second}.500Z")
                ((count,),) = world.rows(UNDER_WAY)
                most = max(most, count)
            await world.until(END)
            late_ms: dict[str, list[int]] = {tenant: [] for tenant in TENANTS}
            for tenant, late in world.rows(LATENESS):
                late_ms[tenant].append(late)
            return Seen(late_ms=late_ms, hanging=most)

    return simulate(
        main,
        directory,
        START,
        answer=lambda request: TIMEOUT if "hangs" in request.url else OK,
        delay_ms=lambda request: HANG_MS if "hangs" in request.url else 0,
    )


async def put(engine: Engine, tenant: str, name: str, **document: object) -> None:
    what, _, number = name.rpartition("-")
    target = {"url": f"http://{tenant}-{what.partition('-')[0]}-{number}.example/"}
    draft = read_schedule(
        {"target": target, "jitter_seconds": 0, **document}, tenant=tenant, name=name
    )
    await engine.of(tenant).schedules.put(draft)


def test_deliveries_of_another_tenant_start_to_the_millisecond_as_they_would_without_it(
    directory: Path, admin: Path
):
    alone = seen(directory / "alone", admin, hanging=0)
    beside = seen(directory / "beside", admin, hanging=FLOWS * FLOW_RUNS)
    assert beside.hanging == TENANT_SLOTS, "its slots are full"
    assert len(alone.late_ms["other"]) == 39 * ORDINARY
    assert beside.late_ms["other"] == alone.late_ms["other"] == [0] * 39 * ORDINARY


def test_its_own_other_receivers_are_served_within_two_of_its_timeouts(
    directory: Path, admin: Path
):
    """It has filled its own slots: what else it has takes turns with what hangs, flow by flow."""
    beside = seen(directory, admin, hanging=FLOWS * FLOW_RUNS)
    assert len(beside.late_ms["hostile"]) == 39 * ORDINARY
    assert 0 < max(beside.late_ms["hostile"]) <= 2 * HANG_MS
