"""Signatures: of runs that waited long before they were sent, and while secrets rotate."""

from pathlib import Path

import pytest

from engine.app import Engine
from engine.core.access import Quotas
from engine.core.errors import Conflict
from engine.core.identity import Signer, parse_instant, verify_scheduler, verify_webhook
from engine.services.transport import HttpRequest
from tests.simulation.world import World, put, simulate

START = "2026-11-30T12:00:00Z"
WAITING = 601


def test_c49_a_run_held_ten_minutes_in_the_bucket_is_signed_when_it_is_sent(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=1, burst=1) as engine:
            secrets = engine.secrets.active
            for number in range(WAITING):
                await put(engine, f"wait-{number}", at="2026-11-30T12:01:00Z", jitter_seconds=0)
            await world.until("2026-11-30T12:12:00Z")
        assert len(world.ledger) == WAITING
        held_ms = world.ledger[-1][0] - parse_instant("2026-11-30T12:01:00Z")
        assert held_ms >= 600_000
        for at_ms, request in world.ledger:
            headers = dict(request.headers)
            assert headers["webhook-timestamp"] == str(at_ms // 1_000)
            assert verify_webhook(
                secrets,
                webhook_id=headers["webhook-id"],
                timestamp=headers["webhook-timestamp"],
                body=request.body,
                signature=headers["webhook-signature"],
                now_s=at_ms // 1_000,
            )

    simulate(main, directory, START)


def signers(request: HttpRequest, secrets: list[str]) -> list[bool]:
    """Which of `secrets` alone verify both signatures of a request."""
    headers = dict(request.headers)
    return [
        verify_webhook(
            [secret],
            webhook_id=headers["webhook-id"],
            timestamp=headers["webhook-timestamp"],
            body=request.body,
            signature=headers["webhook-signature"],
            now_s=int(headers["webhook-timestamp"]),
        )
        and verify_scheduler(
            [secret],
            schedule_id=headers["X-Schedule-Id"],
            scheduled_for=headers["X-Scheduled-For"],
            body=request.body,
            signature=headers["X-Scheduler-Signature"],
        )
        for secret in secrets
    ]


async def signed_by(world: World, engine: Engine, secrets: list[str]) -> list[bool]:
    """Which of `secrets` alone verify what is sent now."""
    await engine.schedules.trigger("s")
    await world.clock.run_for(1_000)
    return signers(world.ledger[-1][1], secrets)


def test_both_secrets_sign_from_the_rotation_to_the_retirement_and_over_restarts(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "s", at="2027-01-01T00:00:00Z")
            (old,) = engine.secrets.active
            assert await signed_by(world, engine, [old]) == [True]
            await engine.secrets.rotate()
            new, still = engine.secrets.active
            assert still == old != new
            assert await signed_by(world, engine, [new, old]) == [True, True]
            headers = dict(world.ledger[-1][1].headers)
            sent = (headers["webhook-id"], int(headers["webhook-timestamp"]), b"")
            signatures = [Signer([secret]).webhook_signature(*sent) for secret in (new, old)]
            assert headers["webhook-signature"].split(" ") == signatures
        async with world.engine() as engine:
            assert engine.secrets.active == [new, old]
            with pytest.raises(Conflict, match="retire"):
                await engine.secrets.rotate()
            assert await signed_by(world, engine, [new, old]) == [True, True]
            await engine.secrets.retire()
            assert await signed_by(world, engine, [new, old]) == [True, False]
        async with world.engine() as engine:
            assert engine.secrets.active == [new]
            assert await signed_by(world, engine, [new, old]) == [True, False]
            with pytest.raises(Conflict, match="rotate first"):
                await engine.secrets.retire()

    simulate(main, directory, START)


def test_a_tenant_rotates_for_itself_and_a_retired_secret_outlives_it(
    directory: Path, tmp_path: Path
) -> None:
    admin = tmp_path / "admin.key"
    admin.write_text("obk_operator_" + "0123456789abcdef" * 4)
    admin.chmod(0o600)

    async def main(world: World) -> None:
        async with world.engine(admin_key_file=admin) as engine:
            await engine.tenants.put("acme", Quotas())
            others = engine.of("globex").secrets.active
            (old,) = engine.of("acme").secrets.active
            await engine.of("acme").secrets.rotate()
            await engine.of("acme").secrets.retire()
            assert engine.of("globex").secrets.active == others
            await engine.tenants.delete("acme")
            await engine.tenants.put("acme", Quotas())
            assert old not in engine.of("acme").secrets.active
        async with world.engine(admin_key_file=admin) as engine:
            assert old not in engine.of("acme").secrets.active

    simulate(main, directory, START)
