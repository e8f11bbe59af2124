"""Tenants, their keys and their quotas on the real engine, over restarts and in virtual time."""

import asyncio
from pathlib import Path

import pytest

from engine.app import Engine
from engine.core.access import Quotas, Scope
from engine.core.document import read_schedule
from engine.core.errors import ConfigError, Conflict, Invalid, LimitReached, NotFound
from engine.core.identity import schedule_id
from engine.core.model import Schedule
from engine.store.database import check
from tests.simulation.world import World, simulate

START = "2026-11-30T12:00:00Z"
ADMIN_KEY = "obk_operator_" + "0123456789abcdef" * 4
TEN_MINUTES_MS = 600_000


@pytest.fixture
def admin(tmp_path: Path) -> Path:
    path = tmp_path / "admin.key"
    path.write_text(ADMIN_KEY)
    path.chmod(0o600)
    return path


async def put(engine: Engine, tenant: str, name: str, **document: object) -> Schedule:
    trigger = document or {"every": 3_600}
    target = {"url": "http://h.example/"}
    draft = read_schedule({**trigger, "target": target}, tenant=tenant, name=name)
    return (await engine.of(tenant).schedules.put(draft))[0]


def test_a_key_outlives_a_restart_and_a_revoked_one_does_not(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await engine.tenants.put("acme", Quotas())
            kept, kept_text = await engine.keys.create(tenant="acme", scope=Scope.READ, name="x")
            gone, gone_text = await engine.keys.create(tenant="acme", scope=Scope.READ, name=None)
            await engine.keys.revoke(gone.key_id)
            assert engine.keys.find(gone_text) is None
            with pytest.raises(NotFound):
                await engine.keys.revoke(gone.key_id)
        async with world.engine() as engine:
            found = engine.keys.find(kept_text)
            assert engine.keys.required, "the file is gone, and there is a key"
            assert found is not None
            assert (found.tenant, found.scope, found.name) == ("acme", "read", "x")
            assert found.created_at_ms == kept.created_at_ms
            assert engine.keys.find(gone_text) is None
            assert engine.keys.find(ADMIN_KEY) is None
        texts = (kept_text, gone_text, ADMIN_KEY)
        data = b"".join(file.read_bytes() for file in world.directory.glob("*.db*"))
        assert not [text for text in texts if text.split("_")[2].encode() in data]

    simulate(main, directory, START)


def test_the_last_use_of_a_key_is_written_to_ten_minutes(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            key, text = await engine.keys.create(tenant="default", scope=Scope.READ, name=None)
            used = "SELECT last_used_at FROM api_key"
            await world.until("2026-11-30T12:13:00Z")
            for _ in range(1_000):
                engine.keys.find(text)
            assert world.rows(used) == [(None,)], "asking writes nothing"
            await world.until("2026-11-30T12:21:00Z")
            assert world.rows(used) == [(key.created_at_ms + TEN_MINUTES_MS,)]
            ((listed,), _) = engine.keys.page(limit=10, after_id=None)
            assert listed.last_used_at_ms == key.created_at_ms + TEN_MINUTES_MS

    simulate(main, directory, START)


def test_no_key_was_used_before_it_was_made(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await world.until("2026-11-30T12:03:00Z")
            key, text = await engine.keys.create(tenant="default", scope=Scope.READ, name=None)
            await world.until("2026-11-30T12:04:00Z")
            assert engine.keys.find(text) is not None
            ((listed,), _) = engine.keys.page(limit=10, after_id=None)
            assert listed.last_used_at_ms == key.created_at_ms

    simulate(main, directory, START)


def test_a_key_may_ask_500_times_at_once_and_then_100_times_a_second(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            key, _ = await engine.keys.create(tenant="default", scope=Scope.READ, name=None)
            other, _ = await engine.keys.create(tenant="default", scope=Scope.READ, name=None)
            assert [engine.keys.wait_ms(key) for _ in range(501)] == [0] * 500 + [10]
            assert engine.keys.wait_ms(other) == 0, "each has its own"
            await world.clock.run_for(1_000)
            assert sum(engine.keys.wait_ms(key) == 0 for _ in range(200)) == 100

    simulate(main, directory, START)


def test_the_last_way_in_is_not_closed(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            first, _ = await engine.keys.create(tenant="default", scope=Scope.ADMIN, name=None)
        async with world.engine() as engine:
            second, _ = await engine.keys.create(tenant="default", scope=Scope.ADMIN, name=None)
            await engine.keys.revoke(first.key_id)
            third, _ = await engine.keys.create(tenant="default", scope=Scope.ADMIN, name=None)
            both = (engine.keys.revoke(key.key_id) for key in (second, third))
            assert list(map(type, await asyncio.gather(*both, return_exceptions=True))) == [
                type(None),
                Conflict,
            ]
        async with world.engine(admin_key_file=admin) as engine:
            await engine.keys.revoke(third.key_id)

    simulate(main, directory, START)


def test_without_keys_there_is_one_tenant_and_no_key_is_made(directory: Path):
    async def main(world: World) -> None:
        async with world.engine(tenant="edge") as engine:
            with pytest.raises(Conflict, match="OFFBEAT_AUTH__ADMIN_KEY_FILE"):
                await engine.tenants.put("acme", Quotas())
            with pytest.raises(Conflict, match="OFFBEAT_AUTH__ADMIN_KEY_FILE"):
                await engine.keys.create(tenant="edge", scope=Scope.READ, name=None)
            (tenants, _) = await engine.tenants.page(limit=10, after_name=None)
            assert [tenant.name for tenant in tenants] == ["edge"]

    simulate(main, directory, START)


def test_an_engine_listens_to_others_when_there_is_a_key(directory: Path, admin: Path):
    async def main(world: World) -> None:
        with pytest.raises(ConfigError, match="is open to others"):
            async with world.engine(listen="0.0.0.0:8420"):
                pass
        async with world.engine(listen="0.0.0.0:8420", admin_key_file=admin) as engine:
            await engine.keys.create(tenant="default", scope=Scope.ADMIN, name=None)
        async with world.engine(listen="0.0.0.0:8420"):
            pass

    simulate(main, directory, START)


def test_a_quota_of_schedules_counts_those_that_are_there(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await engine.tenants.put("acme", Quotas(schedules_max=2))
            await put(engine, "acme", "a")
            await put(engine, "acme", "b")
            await put(engine, "default", "c")
            with pytest.raises(LimitReached) as caught:
                await put(engine, "acme", "c")
            assert (caught.value.name, caught.value.value) == ("schedules_max", 2)
            await put(engine, "acme", "a", every=60)
            await engine.of("acme").schedules.delete("a")
            await put(engine, "acme", "c")
            with pytest.raises(LimitReached):
                await put(engine, "acme", "a")
            await engine.tenants.put("acme", Quotas(schedules_max=3))
            await put(engine, "acme", "a")
            assert (await engine.tenants.get("acme")).schedules == 3
        assert check(world.directory / "offbeat.db") == []

    simulate(main, directory, START)


def test_schedules_that_delete_themselves_make_room(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await engine.tenants.put("acme", Quotas(schedules_max=1))
            await put(engine, "acme", "a", at="2026-11-30T12:01:00Z", delete_after_completion=True)
            await world.until("2026-11-30T12:05:00Z")
            await put(engine, "acme", "b")
            assert (await engine.tenants.get("acme")).schedules == 1
        assert check(world.directory / "offbeat.db") == []

    simulate(main, directory, START)


def test_a_least_interval_refuses_what_occurs_more_often(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await engine.tenants.put("acme", Quotas(interval_seconds_min=300))
        async with world.engine(admin_key_file=admin) as engine:
            for good in ({"every": 300}, {"cron": "*/5 * * * *"}, {"at": "2026-12-01T00:00:00Z"}):
                await put(engine, "acme", "good", **good)
            for bad in ({"every": 299}, {"cron": "*/4 * * * *"}, {"cron": "0,59 * * * *"}):
                with pytest.raises(Invalid, match="interval_seconds_min is 300") as caught:
                    await put(engine, "acme", "bad", **bad)
                assert [fault.pointer for fault in caught.value.faults] == [f"/{next(iter(bad))}"]
            target = {"url": "http://h.example/"}
            documents = [
                {"name": n, "every": e, "target": target} for n, e in (("x", 1), ("y", 600))
            ]
            drafts = [read_schedule(document, tenant="acme") for document in documents]
            refused, stored = await engine.of("acme").schedules.put_many(drafts)
            assert isinstance(refused, Invalid)
            assert stored[0].definition.name == "y"
            await put(engine, "default", "bad", every=1)

    simulate(main, directory, START)


def test_a_tenant_goes_when_its_schedules_history_and_keys_have_gone(directory: Path, admin: Path):
    async def main(world: World) -> None:
        settings = {"admin_key_file": admin, "history_days": 1}
        async with world.engine(**settings) as engine:
            await engine.tenants.put("acme", Quotas())
            key, _ = await engine.keys.create(tenant="acme", scope=Scope.READ, name=None)
            await put(engine, "acme", "a", every=60)
            await engine.of("acme").flows.put("limited", rate=5, parallelism=1, paused=True)
            await world.until("2026-11-30T12:02:00Z")
            await engine.keys.revoke(key.key_id)
            await engine.of("acme").schedules.delete("a")
            with pytest.raises(Conflict, match="history"):
                await engine.tenants.delete("acme")
        await world.until("2026-12-02T12:00:00Z")
        async with world.engine(**settings) as engine:
            await world.until("2026-12-02T12:05:00Z")
            await engine.tenants.delete("acme")
            with pytest.raises(NotFound):
                await engine.tenants.get("acme")
            with pytest.raises(Conflict, match="own settings"):
                await engine.tenants.delete("default")
            await engine.tenants.put("acme", Quotas())
            assert await engine.of("acme").flows.page(limit=10, after_key=None) == ([], None)
        assert check(world.directory / "offbeat.db") == []

    simulate(main, directory, START)


def test_the_audit_of_a_tenant_counts_its_own(directory: Path, admin: Path):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            for tenant, schedules in (("acme", 2), ("globex", 3)):
                await engine.tenants.put(tenant, Quotas())
                for number in range(schedules):
                    await put(engine, tenant, f"s{number}", every=60)
            await world.until("2026-11-30T12:10:30Z")
            for tenant, schedules in (("acme", 2), ("globex", 3), ("default", 0)):
                audit = engine.of(tenant).audit
                tally = await audit.run(await audit.history_floor_ms(), engine.clock.now_ms())
                assert (tally.schedules, tally.unaccounted) == (schedules, 0)
                assert tally.runs == 10 * schedules

    simulate(main, directory, START)


def test_a_tenants_rate_holds_for_all_it_sends_at_once_and_after_a_restart(
    directory: Path, admin: Path
):
    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await engine.tenants.put("acme", Quotas(rate=2))
            for index in range(40):
                at = {"at": "2026-11-30T12:00:20Z", "flow_key": f"f{index % 4}"}
                await put(engine, "acme", f"s{index}", **at)
                await put(engine, "default", f"s{index}", **at)
            await world.until("2026-11-30T12:00:21Z")
            assert len(world.sent()) - sent_of(world, "acme") == 40
            await world.until("2026-11-30T12:00:25Z")
            first = sent_of(world, "acme")
            assert 9 <= first <= 11  # Two a second for five seconds, and one saved up.
        async with world.engine(admin_key_file=admin) as engine:
            await world.until("2026-11-30T12:00:30Z")
            assert 8 <= sent_of(world, "acme") - first <= 10
            await engine.tenants.put("acme", Quotas())
            await world.until("2026-11-30T12:00:31Z")
            assert sent_of(world, "acme") == 40

    simulate(main, directory, START)


def sent_of(world: World, tenant: str) -> int:
    """How many requests of a tenant's schedules `s0` to `s39` were made."""
    ids = {schedule_id(tenant, f"s{index}") for index in range(40)}
    return sum(dict(request.headers)["X-Schedule-Id"] in ids for _, request in world.ledger)
