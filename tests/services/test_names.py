"""Names, where some are never answered (SPEC §5, invariant 9)."""

import asyncio

import pytest

from engine.services.names import ADDRESSES_TRIED_MAX, ASKING, LOOKUPS_MAX, Names
from engine.testing import VirtualClock, VirtualLoop


@pytest.fixture
def run():
    """Run a coroutine in virtual time: the seconds are those of the loop's clock."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        yield runner.run


async def seconds(number):
    """Let so many pass of the loop's clock."""
    await VirtualClock(0).run_for(int(number * 1_000))


class Servers:
    """A `Lookup`: what has `hole` in its name is not answered until `over`; `missing` is not there,
    after `seconds`; the rest has the addresses of `found` at once."""

    def __init__(self, *found, seconds=0.0):
        self.asked = []
        self.open = 0
        self.over = asyncio.Event()
        self._found = found or ("192.0.2.1",)
        self._seconds = seconds

    async def __call__(self, name):
        self.asked.append(name)
        if "hole" in name:
            self.open += 1
            await self.over.wait()
        await seconds(self._seconds)
        if "missing" in name:
            raise OSError("no such name")
        return list(self._found)


def ask(names, tenant, name):
    """An attempt of `tenant` to reach `name`."""

    async def attempt():
        ASKING.set(tenant)
        return await names.resolve(name)

    return asyncio.create_task(attempt())


def test_names_without_an_answer_leave_every_other_tenant_its_names(run):
    async def scenario():
        servers = Servers()
        names = Names(servers)
        holes = [ask(names, "mallory", f"{i}.hole.example") for i in range(300)]
        await seconds(1)
        assert servers.open == LOOKUPS_MAX // 2
        for i in range(1_000):
            assert await ask(names, f"victim{i % 3}", f"{i}.example") == ["192.0.2.1"]
        assert asyncio.get_running_loop().time() < 2
        assert not any(hole.done() for hole in holes)

    run(scenario())


def test_attempts_that_ended_take_their_names_out_of_the_line(run):
    async def scenario():
        servers = Servers()
        names = Names(servers)
        for wave in range(10):
            attempts = [ask(names, "mallory", f"{wave}-{i}.hole.example") for i in range(100)]
            await seconds(1)
            for attempt in attempts:
                attempt.cancel()
            await asyncio.gather(*attempts, return_exceptions=True)
        # Those of the first wave go on, since a thread cannot be had back; the rest never begin.
        servers.over.set()
        await seconds(1)
        assert servers.asked == [f"0-{i}.hole.example" for i in range(LOOKUPS_MAX // 2)]

    run(scenario())


def test_however_many_want_a_name_it_is_asked_for_once(run):
    async def scenario():
        servers = Servers(seconds=1)
        names = Names(servers)
        attempts = [ask(names, f"tenant{i % 7}", "a.example") for i in range(100)]
        assert await asyncio.gather(*attempts) == [["192.0.2.1"]] * 100
        holes = [ask(names, f"tenant{i}", "hole.example") for i in range(100)]
        assert await ask(names, "tenant0", "b.example") == ["192.0.2.1"]
        assert servers.asked == ["a.example", "hole.example", "b.example"]
        assert not any(hole.done() for hole in holes)

    run(scenario())


def test_a_name_that_waits_in_ones_line_comes_with_anothers_turn(run):
    async def scenario():
        servers = Servers()
        names = Names(servers)
        for i in range(100):
            ask(names, "mallory", f"{i}.hole.example")
        late = ask(names, "mallory", "both.example")
        await seconds(1)
        assert not late.done()
        assert await ask(names, "victim", "both.example") == ["192.0.2.1"]
        assert await late == ["192.0.2.1"]

    run(scenario())


def test_an_answer_is_kept_for_ten_seconds(run):
    async def scenario():
        servers = Servers()
        names = Names(servers)
        for _ in range(21):
            await names.resolve("a.example")
            await seconds(1)
        assert servers.asked == ["a.example"] * 3

    run(scenario())


@pytest.mark.parametrize(("took_s", "kept_s"), [(0, 0), (4, 4), (40, 10)])
def test_that_there_is_no_answer_is_kept_as_long_as_it_took_to_learn(run, took_s, kept_s):
    async def scenario():
        loop, servers = asyncio.get_running_loop(), Servers(seconds=took_s)
        names = Names(servers)
        with pytest.raises(OSError, match="no such name"):
            await names.resolve("missing.example")
        until_s = loop.time() + kept_s
        while loop.time() < until_s:
            with pytest.raises(OSError, match="no such name"):
                await names.resolve("missing.example")
            assert len(servers.asked) == 1
            await seconds(1)
        with pytest.raises(OSError, match="no such name"):
            await names.resolve("missing.example")
        assert len(servers.asked) == 2

    run(scenario())


def test_addresses_come_in_turn_and_not_too_many(run):
    async def scenario():
        names = Names(Servers(*(f"192.0.2.{i}" for i in range(100))))
        firsts = []
        for _ in range(ADDRESSES_TRIED_MAX + 1):
            addresses = await names.resolve("crowd.example")
            assert len(addresses) == ADDRESSES_TRIED_MAX
            firsts.append(addresses[0])
        assert firsts == [f"192.0.2.{i % ADDRESSES_TRIED_MAX}" for i in range(17)]

    run(scenario())


def test_who_waits_when_it_closes_is_told_so(run):
    async def scenario():
        names = Names(Servers())
        holes = [ask(names, "a", f"{i}.hole.example") for i in range(100)]
        await seconds(1)
        names.close()
        for hole in holes:
            with pytest.raises(OSError, match="the engine stops"):
                await hole

    run(scenario())
