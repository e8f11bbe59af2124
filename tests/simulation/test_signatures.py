"""Signatures of runs that waited long before they were sent."""

from pathlib import Path

from engine.core.identity import parse_instant, verify_webhook
from tests.simulation.world import World, put, simulate

WAITING = 601


def test_c49_a_run_held_ten_minutes_in_the_bucket_is_signed_when_it_is_sent(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=1, burst=1) as engine:
            secrets = engine.secrets
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

    simulate(main, directory, "2026-11-30T12:00:00Z")
