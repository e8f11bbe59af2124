"""Tenants ask one reader by turns: the order in which they were answered."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Event

import pytest

from engine.core.errors import Crowded
from engine.store.database import prepare
from engine.store.turns import READS_WAITING_MAX, Turns
from engine.store.writer import Reader


class Asked:
    """A reader that is held until it is let go, and whose turns came in which order."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._hold = Event()
        self.order: list[str] = []
        self.when_let_go: Callable[[], object] = lambda: None
        """Called as soon as the next one has been given its turn, before it knows."""
        self.held = asyncio.create_task(self._read_first())

    def ask(self, tenant: str, mark: str = "") -> "asyncio.Task[None]":
        return asyncio.create_task(self._turns.of(tenant).read(self._noting(mark or tenant)))

    async def let_go(self) -> None:
        await asyncio.sleep(0)
        self._hold.set()
        await self.held

    async def _read_first(self) -> None:
        await self._turns.read("first", lambda _: self._hold.wait(10))
        self.when_let_go()

    def _noting(self, mark: str) -> Callable[[sqlite3.Connection], None]:
        return lambda _: self.order.append(mark)


@asynccontextmanager
async def held_reader(directory: Path) -> AsyncIterator[Asked]:
    path = directory / "offbeat.db"
    prepare(path)
    reader = Reader(path)
    await reader.open()
    asked = Asked(Turns(reader))
    await asyncio.sleep(0)
    try:
        yield asked
    finally:
        await asked.let_go()
        await reader.close()


async def test_who_asks_once_waits_for_one_turn_of_each_other(tmp_path: Path) -> None:
    async with held_reader(tmp_path) as asked:
        loud = [asked.ask("loud") for _ in range(50)]
        others = [asked.ask("other") for _ in range(3)]
        await asyncio.sleep(0)
        quiet = asked.ask("quiet")
        await asked.let_go()
        await asyncio.gather(*loud, *others, quiet)
        assert asked.order[:8] == [
            *("loud", "other", "quiet"),
            *("loud", "other", "loud", "other", "loud"),
        ]
        assert asked.order[8:] == ["loud"] * 46


async def test_a_tenants_own_questions_are_answered_in_order(tmp_path: Path) -> None:
    async with held_reader(tmp_path) as asked:
        tasks = [asked.ask("a", str(number)) for number in range(5)]
        await asked.let_go()
        await asyncio.gather(*tasks)
        assert asked.order == ["0", "1", "2", "3", "4"]


async def test_one_line_is_bounded_and_the_others_are_not_touched(tmp_path: Path) -> None:
    async with held_reader(tmp_path) as asked:
        waiting = [asked.ask("loud") for _ in range(READS_WAITING_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(Crowded, match="128 reads of this tenant wait already") as refused:
            await asked.ask("loud")
        assert (refused.value.name, refused.value.value) == ("reads_waiting_max", 128)
        quiet = asked.ask("quiet")
        await asked.let_go()
        await asyncio.gather(*waiting, quiet)
        assert asked.order.index("quiet") == 1


async def test_who_goes_away_holds_nobody_up(tmp_path: Path) -> None:
    """Before its turn, and in the moment in which it is called."""
    async with held_reader(tmp_path) as asked:
        gone, called, left = asked.ask("a", "gone"), asked.ask("b", "called"), asked.ask("c")
        await asyncio.sleep(0)
        gone.cancel()
        asked.when_let_go = called.cancel
        await asked.let_go()
        for task in (gone, called):
            with suppress(asyncio.CancelledError):
                await task
        async with asyncio.timeout(5):
            await left
            await asked.ask("d")
        assert asked.order[-2:] == ["c", "d"]
        assert {"gone", "called"}.isdisjoint(asked.order)


async def test_a_question_that_fails_gives_its_turn_away(tmp_path: Path) -> None:
    async with held_reader(tmp_path) as asked:
        await asked.let_go()
        with pytest.raises(sqlite3.OperationalError):
            await asked._turns.read("a", lambda db: db.execute("SELECT nothing"))
        async with asyncio.timeout(5):
            await asked.ask("b")
