"""Credentials in headers: sent in the clear, stored sealed, shown to nobody."""

from pathlib import Path

import pytest

from engine.app import Engine
from engine.core.document import patch_schedule, read_schedule, write_schedule
from engine.core.errors import ConfigError, Invalid
from engine.core.model import Draft, Outcome, Schedule
from engine.services.transport import HttpRequest
from tests.simulation.world import World, put, simulate

START = "2026-11-30T12:00:00Z"
SECRET = "Bearer c4nary-0123456789"
TARGET = {"url": "http://127.0.0.1:9/a", "headers": {"Authorization": SECRET, "X-Kind": "a"}}
LATER = "2027-01-01T00:00:00Z"


def echo(request: HttpRequest) -> Outcome:
    text = " ".join(f"{name}: {value}" for name, value in request.headers)
    return Outcome(name="http_500", status=500, response=text.encode())


async def sent(world: World, engine: Engine) -> str:
    await engine.schedules.trigger("s")
    await world.clock.run_for(500)
    return dict(world.ledger[-1][1].headers)["Authorization"]


def test_it_is_sent_as_written_and_found_nowhere_on_disk(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "s", at=LATER, target=TARGET)
            assert await sent(world, engine) == SECRET
        async with world.engine() as engine:
            assert await sent(world, engine) == SECRET
            files = b"".join(f.read_bytes() for f in world.directory.glob("*.db*"))
        assert b"X-Kind: a" in files, "the answer that echoed the headers is kept"
        assert b"c4nary" not in files

    simulate(main, directory, START, answer=echo)


def test_what_was_read_can_be_written_and_goes_to_no_other_host(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            stored = await put(engine, "s", at=LATER, target=TARGET)
            document = write_schedule(stored, engine.clock.now_ms())
            assert document["target"]["headers"] == {"Authorization": "********", "X-Kind": "a"}
            same = await engine.schedules.put(read_schedule(document, tenant="default", name="s"))
            assert same[0].revision == stored.revision == 1

            def patched(**target: object) -> object:
                def change(schedule: Schedule) -> Draft:
                    merged = patch_schedule(schedule, {"target": target})
                    return read_schedule(merged, tenant="default", name="s")

                return engine.schedules.update("s", change)

            await patched(url="http://127.0.0.1:9/b")
            assert await sent(world, engine) == SECRET
            assert world.ledger[-1][1].url.endswith("/b")
            with pytest.raises(Invalid, match="Authorization"):
                await patched(url="http://127.0.0.1:10/b")
            await patched(headers={"Authorization": "Bearer another"})
            assert await sent(world, engine) == "Bearer another"

    simulate(main, directory, START)


def test_without_the_package_an_engine_does_not_start_on_what_it_cannot_open(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "s", at=LATER, target=TARGET)
        monkeypatch.setattr("engine.services.credentials.IS_AVAILABLE", False)
        with pytest.raises(ConfigError, match=r"offbeat\[encryption\]"):
            async with world.engine():
                pass

    simulate(main, directory, START)
