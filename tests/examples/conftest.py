"""What examples about metrics are held against."""

import pytest
from prometheus_client.exposition import generate_latest

from tests.simulation.world import World, put, simulate


@pytest.fixture(scope="session")
def scrape(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What /metrics says of an engine that has worked for a minute."""

    async def main(world: World) -> str:
        async with world.engine() as engine:
            await put(engine, "s", every=10)
            await world.clock.run_for(60_000)
            return generate_latest(engine.registry).decode()

    return simulate(main, tmp_path_factory.mktemp("scrape") / "data", "2026-11-30T12:00:00Z")
