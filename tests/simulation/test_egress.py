"""A schedule to an address that no delivery may reach is refused when it is written."""

import pytest

from engine.core.document import patch_schedule, read_schedule
from engine.core.egress import read_opening
from engine.core.errors import Fault, Invalid
from engine.core.labels import ScheduleFilter
from tests.simulation.world import put, simulate

START = "2026-11-30T12:00:00Z"
METADATA = "http://169.254.169.254/latest/"
REFUSED = Fault(
    "/target/url",
    "169.254.169.254 is where clouds keep metadata services; to allow it: "
    'egress.allow = ["169.254.169.254:80"]',
)


def draft(name, url):
    return read_schedule({"every": 60, "target": {"url": url}}, tenant="default", name=name)


def test_a_put_of_a_blocked_address_is_refused_and_stores_nothing(tmp_path):
    async def run(world):
        async with world.engine() as engine:
            with pytest.raises(Invalid) as caught:
                await engine.schedules.put(draft("a", METADATA))
            assert caught.value.faults == (REFUSED,)
            stored = await engine.schedules.page(ScheduleFilter(), limit=9, after_name=None)
            assert stored == ([], None)

    simulate(run, tmp_path, START)


def test_a_patch_to_a_blocked_address_is_refused(tmp_path):
    async def run(world):
        async with world.engine() as engine:
            await put(engine, "a", every=60)

            def change(schedule):
                document = patch_schedule(schedule, {"target": {"url": METADATA}})
                return read_schedule(document, tenant="default", name="a")

            with pytest.raises(Invalid) as caught:
                await engine.schedules.update("a", change)
            assert caught.value.faults == (REFUSED,)
            assert (await engine.schedules.get("a")).revision == 1

    simulate(run, tmp_path, START)


def test_of_a_batch_the_blocked_ones_alone_are_refused(tmp_path):
    urls = ["http://h/", METADATA, "http://127.0.0.1:9/", "http://[::ffff:169.254.169.254]/latest"]

    async def run(world):
        async with world.engine() as engine:
            drafts = [draft(f"s{i}", url) for i, url in enumerate(urls)]
            results = await engine.schedules.put_many(drafts)
            assert [getattr(result, "faults", None) for result in results] == [
                None,
                (REFUSED,),
                None,
                (REFUSED,),
            ]
            stored, _ = await engine.schedules.page(ScheduleFilter(), limit=9, after_name=None)
            assert [schedule.definition.name for schedule in stored] == ["s0", "s2"]
            assert results[2][0] == stored[1]
            [alone] = await engine.schedules.put_many([draft("s1", METADATA)])
            assert isinstance(alone, Invalid)

    simulate(run, tmp_path, START)


def test_an_opened_address_is_stored(tmp_path):
    async def run(world):
        opening = read_opening("169.254.169.254:80")
        async with world.engine(egress_allow=(opening,)) as engine:
            await engine.schedules.put(draft("a", METADATA))

    simulate(run, tmp_path, START)
