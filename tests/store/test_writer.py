"""Group commit on a real file: what callers get when things go well, and when they do not."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, nullcontext
from pathlib import Path

import pytest

from engine.clock import SystemClock
from engine.core.errors import Unavailable
from engine.store.database import prepare
from engine.store.writer import (
    CHECKPOINT_BYTES,
    CHECKPOINT_FORCED_BYTES,
    JournalFailed,
    Reader,
    Writer,
)

BUSY_SECONDS = 5.0
"""How long Python's sqlite3 lets SQLite wait for others."""

INSERT = "INSERT INTO timetable (spec) VALUES (?)"


@asynccontextmanager
async def open_writer(tmp_path: Path) -> AsyncIterator[Writer]:
    path = tmp_path / "offbeat.db"
    prepare(path)
    writer = Writer(SystemClock(), path)
    await writer.open()
    try:
        yield writer
    finally:
        await writer.close()


def specs(tmp_path: Path) -> list[str]:
    with closing(sqlite3.connect(tmp_path / "offbeat.db")) as db:
        return [spec for (spec,) in db.execute("SELECT spec FROM timetable ORDER BY id")]


def insert(spec: str) -> Callable[[sqlite3.Connection], int]:
    return lambda db: db.execute(INSERT, (spec,)).rowcount


async def committed(writer: Writer, *waiting: Awaitable[object]) -> list[object]:
    """The results of changes that go into one batch."""
    tasks = [asyncio.ensure_future(wait) for wait in waiting]
    await asyncio.sleep(0)  # Each puts its change into the batch.
    await writer.run_once()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_changes_that_wait_together_are_one_commit(tmp_path: Path) -> None:
    commits: list[int] = []
    async with open_writer(tmp_path) as writer:
        writer.on_commit = lambda _, rows: commits.append(rows)
        reading = writer.submit(lambda db: len(db.execute("SELECT 1").fetchall()))
        writing = (writer.submit(insert(f"{n}")) for n in range(50))
        results = await committed(writer, reading, *writing)
    assert results == [1] * 51
    assert commits == [50]  # Rows, and not changes.
    assert specs(tmp_path) == [f"{n}" for n in range(50)]


async def test_a_commit_is_on_the_disk_when_it_returns(tmp_path: Path) -> None:
    """As far as SQLite can be asked: FULL is 2; the writer alone says when to checkpoint."""
    async with open_writer(tmp_path) as writer:
        (settings,) = await committed(writer, writer.submit(durability))
    assert settings == {"journal_mode": "wal", "synchronous": 2, "wal_autocheckpoint": 0}


@pytest.mark.parametrize("log_bytes", [CHECKPOINT_BYTES, CHECKPOINT_FORCED_BYTES])
async def test_a_checkpoint_waits_for_no_reader(tmp_path: Path, log_bytes: int) -> None:
    """SQLite would wait for five seconds, and every commit with it: as long as a backup takes."""
    crossings = asyncio.Event()
    path = tmp_path / "offbeat.db"
    prepare(path)
    writer = Writer(SystemClock(), path, busy=lambda: nullcontext(crossings.set()))
    await writer.open()
    running = asyncio.create_task(writer.run())
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM timetable").fetchone() == (0,)
        await writer.submit(insert("x" * (log_bytes // 2)))  # In its index, too.
        crossings.clear()
        await crossings.wait()
        async with asyncio.timeout(BUSY_SECONDS / 2):
            await writer.submit(insert("while the reader reads"))
    running.cancel()
    await writer.close()
    assert specs(tmp_path)[-1] == "while the reader reads"


async def test_whoever_waits_for_a_commit_when_the_writer_is_stopped_is_told(
    tmp_path: Path,
) -> None:
    async with open_writer(tmp_path) as writer:
        committing = asyncio.Event()
        loop = asyncio.get_running_loop()

        def change(db: sqlite3.Connection) -> int:
            loop.call_soon_threadsafe(committing.set)
            return insert("x")(db)

        running = asyncio.create_task(writer.run())
        waiting = asyncio.create_task(writer.submit(change))
        await committing.wait()
        running.cancel()
        async with asyncio.timeout(BUSY_SECONDS):
            with pytest.raises(JournalFailed, match="stopped during the commit"):
                await waiting


async def test_a_reader_neither_writes_nor_checkpoints(tmp_path: Path) -> None:
    async with open_writer(tmp_path):
        reader = Reader(tmp_path / "offbeat.db")
        await reader.open()
        try:
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                await reader.read(insert("x"))
            assert await reader.read(lambda db: db.execute("PRAGMA query_only").fetchone()) == (1,)
        finally:
            await reader.close()


async def test_a_database_that_is_taken_away_takes_no_change_until_it_is_back(
    tmp_path: Path,
) -> None:
    """SQLite itself would say that each is stored, and all would be gone with the process."""
    path, elsewhere = tmp_path / "offbeat.db", tmp_path / "elsewhere"
    async with open_writer(tmp_path) as writer:
        path.rename(elsewhere)
        (refused,) = await committed(writer, writer.submit(insert("while it was away")))
        assert isinstance(refused, Unavailable)
        assert "taken away" in str(writer.trouble)
        elsewhere.rename(path)
        assert await committed(writer, writer.submit(insert("since it is back"))) == [1]
        assert writer.trouble is None
    assert specs(tmp_path) == ["since it is back"]


def durability(db: sqlite3.Connection) -> dict[str, object]:
    names = ("journal_mode", "synchronous", "wal_autocheckpoint")
    return {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in names}


async def test_a_change_that_fails_takes_nobody_along(tmp_path: Path) -> None:
    def fails(db: sqlite3.Connection) -> None:
        db.execute(INSERT, ("half",))
        raise LookupError("no")

    async with open_writer(tmp_path) as writer:
        results = await committed(
            writer,
            writer.submit(insert("a")),
            writer.submit(fails),
            writer.submit(insert("a")),  # Breaks UNIQUE.
            writer.submit(insert("b")),
        )
    assert results[0] == results[3] == 1
    assert isinstance(results[1], LookupError)
    assert isinstance(results[2], sqlite3.IntegrityError)
    assert specs(tmp_path) == ["a", "b"]


async def test_a_full_disk_undoes_the_batch_and_passes(tmp_path: Path) -> None:
    async with open_writer(tmp_path) as writer:
        (pages,) = await committed(
            writer, writer.submit(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        )
        limit = f"PRAGMA max_page_count = {pages}"
        await committed(writer, writer.submit(lambda db: db.execute(limit).fetchone()))
        results = await committed(
            writer, writer.submit(insert("small")), writer.submit(insert("x" * 100_000))
        )
        assert all(isinstance(result, Unavailable) for result in results)
        assert "full" in str(writer.trouble)
        nothing = writer.submit(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        assert await committed(writer, nothing) == [pages]
        assert "full" in str(writer.trouble), "a commit of nothing proves nothing"
        more = "PRAGMA max_page_count = 1000000"
        await committed(writer, writer.submit(lambda db: db.execute(more).fetchone()))
        assert await committed(writer, writer.submit(insert("small"))) == [1]
        assert writer.trouble is None
    assert specs(tmp_path) == ["small"]


async def test_a_locked_database_refuses_the_batch_and_the_next_one_goes_through(
    tmp_path: Path,
) -> None:
    async with open_writer(tmp_path) as writer:
        with closing(sqlite3.connect(tmp_path / "offbeat.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            (result,) = await committed(writer, writer.submit(insert("a")))
            assert isinstance(result, Unavailable)
            assert "locked" in str(writer.trouble)
        assert await committed(writer, writer.submit(insert("a"))) == [1]


async def test_after_an_error_of_the_disk_nothing_is_taken_any_more(tmp_path: Path) -> None:
    def disk_error(_: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise error

    async with open_writer(tmp_path) as writer:
        doomed = asyncio.ensure_future(writer.submit(disk_error))
        await asyncio.sleep(0)
        with pytest.raises(JournalFailed):
            await writer.run_once()
        with pytest.raises(JournalFailed):
            await doomed
        with pytest.raises(JournalFailed):
            await writer.submit(insert("late"))


async def test_a_reader_cannot_write(tmp_path: Path) -> None:
    async with open_writer(tmp_path):
        reader = Reader(tmp_path / "offbeat.db")
        await reader.open()
        try:
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                await reader.read(insert("a"))
        finally:
            await reader.close()
