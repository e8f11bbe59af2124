"""The same request while it is under way: a moment's patience, then 409's reason."""

import asyncio

import pytest

from engine.core.errors import InProgress
from engine.core.once import Once, Reply
from engine.services.answers import Answers
from engine.testing import VirtualClock, run_virtual

REQUEST = Once(tenant="acme", key="a-1", fingerprint=bytes(32))


class Memory:
    """What a journal keeps."""

    def __init__(self) -> None:
        self.kept: tuple[bytes, Reply] | None = None

    async def find(self, once: Once, after_ms: int) -> tuple[bytes, Reply] | None:
        return self.kept


def test_a_request_waits_a_second_for_the_same_one_and_is_told_to_come_back():
    async def run(clock: VirtualClock) -> None:
        store, end = Memory(), asyncio.Event()
        answers = Answers(clock, store, master=bytes(32))
        done: list[str] = []

        async def work(record) -> None:
            await end.wait()
            store.kept = (record.once.fingerprint, record.answer("made"))
            done.append("made")

        def ask() -> asyncio.Task[Reply | None]:
            answer = lambda result: Reply(status=201, document=result)  # noqa: E731 - a value.
            return asyncio.create_task(answers.once(REQUEST, work, answer))

        first, impatient = ask(), ask()
        await clock.run_for(999)
        assert not impatient.done()
        await clock.run_for(1)
        with pytest.raises(InProgress):
            await impatient
        patient = ask()
        await clock.run_for(500)
        end.set()
        assert await first is None
        assert await patient == Reply(status=201, document="made", is_repeated=True)
        assert done == ["made"]

    run_virtual(run, 0)


def test_a_request_that_failed_leaves_its_place_to_the_next():
    async def run(clock: VirtualClock) -> None:
        store, end = Memory(), asyncio.Event()
        answers = Answers(clock, store, master=bytes(32))
        tries = 0

        async def work(record) -> None:
            nonlocal tries
            tries += 1
            await end.wait()
            if tries == 1:
                raise OSError("the first one fails")

        asked = [
            asyncio.create_task(answers.once(REQUEST, work, lambda _: Reply(status=1, document=0)))
            for _ in range(2)
        ]
        await clock.run_for(10)
        end.set()
        with pytest.raises(OSError, match="the first"):
            await asked[0]
        assert await asked[1] is None
        assert tries == 2

    run_virtual(run, 0)
