"""Group commit: many changes, one fsync.

A commit on a disk that keeps its word costs milliseconds, a row in it microseconds. So callers do
not commit: they put a *change* (a function of the connection) into the current batch and await
it. A batch closes when the previous commit has returned; the busier the disk, the larger the
batch, and no timer is needed (DeWitt et al., "Implementation techniques for main memory database
systems", SIGMOD 1984, is where group commit comes from; PostgreSQL's commit_delay is the variant
with a timer that this one does without).

A batch crosses to the database's thread once, as one function: each crossing waits for the
interpreter's lock beside a busy event loop, 6 to 8 ms at the default switch interval.

What can go wrong, and what it means:

* A change raises: the batch is undone and made once more, now with a savepoint for each change.
  Its caller gets the exception, the others go on. Without that second try every change would pay:
  behind a savepoint SQLite copies each page before it first writes to it.
* BUSY or FULL: nothing of the batch happened. Every caller gets `Unavailable` and decides anew,
  since what it asked for may no longer be right.
* Anything else from the disk: the outcome is unknown (a failed fsync may have written or not).
  The writer refuses everything from then on; the engine stops, and the next start reads the truth.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from shutil import disk_usage
from typing import Any, Generic, TypeVar

import aiosqlite
import structlog

from engine.clock import Clock
from engine.core.errors import OffbeatError, Unavailable
from engine.store.database import configure_reader, configure_writer

log = structlog.get_logger("offbeat.writer")

T = TypeVar("T")
Change = Callable[[sqlite3.Connection], T]
"""Works on the connection and on nothing else, since it may be undone and called again."""

BATCH_CHANGES_MAX = 256
"""Changes in one transaction: bounds what a failed commit throws back at its callers."""

QUEUE_CHANGES_MAX = 4_096
"""Changes that wait; more means that the disk stands still, and callers are told so."""

BUSY_TIMEOUT_MS = 5_000
"""How long one try waits for another process that holds the database: a shell's transaction or a
backup's, and nobody notices; beyond it the engine says that it is not ready."""

CHANGE_DEADLINE_SECONDS = 10.0
"""How long a caller waits for its commit before it is told `Unavailable`."""

CHECKPOINT_BYTES = 4 * 2**20
"""A log of this size is copied back as soon as the writer has a quiet moment,"""

CHECKPOINT_FORCED_BYTES = 128 * 2**20
"""and one of this size, or larger than what the disk has left, even beside a herd: on a disk that
the log has filled there is no room to copy it back."""

CHECKPOINT_QUIET_MS = 1_000
"""Quiet: no commit for this long. A checkpoint in the second after a herd would delay its tail."""

_TRANSIENT = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL}

_CHANGES_OWN = {
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_MISUSE,
    sqlite3.SQLITE_RANGE,
    sqlite3.SQLITE_TOOBIG,
}
"""Errors of a statement and not of the disk: the change that made one is alone to blame."""


class JournalFailed(OffbeatError):
    """What came of a commit is unknown, by an error of the disk or since the engine stopped.

    Only a restart reads the truth.
    """


@dataclass(slots=True, eq=False)
class _Pending(Generic[T]):
    change: Change[T]
    result: asyncio.Future[T] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Writer:
    """The one connection that writes. `run()` must be running for `submit()` to return."""

    def __init__(
        self,
        clock: Clock,
        path: Path,
        *,
        busy: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`busy`: entered while the database's thread works (virtual time stands still then)."""
        self._clock = clock
        self._path = path
        self._busy = busy
        self._db: aiosqlite.Connection | None = None
        self._pending: list[_Pending[Any]] = []
        self._wake = asyncio.Event()
        self._failure: JournalFailed | None = None
        self._last_commit_ms = 0
        self.is_full = False
        self.trouble: str | None = None
        self.on_commit: Callable[[float, int], None] = lambda _seconds, _rows: None

    async def open(self) -> None:
        """Connect; the file must have been made ready by `database.prepare`."""
        self._db = await _open(lambda: _busy_aware(configure_writer(self._path)))

    async def submit(self, change: Change[T]) -> T:
        """Commit `change` with its batch and give its result, durable by then.

        Raises what `change` raises; `Unavailable` when the database cannot be written now (nothing
        happened); `JournalFailed` when nobody knows.
        """
        if self._failure:
            raise self._failure
        if len(self._pending) >= QUEUE_CHANGES_MAX:
            raise Unavailable(f"{QUEUE_CHANGES_MAX} changes wait for the disk; try again later")
        pending = _Pending(change)
        self._pending.append(pending)
        self._wake.set()
        await asyncio.wait((pending.result,), timeout=CHANGE_DEADLINE_SECONDS)
        if pending in self._pending:
            self._pending.remove(pending)
            raise Unavailable(
                f"the database took no change for {CHANGE_DEADLINE_SECONDS:.0f} s; try again later"
            )
        # What a batch has taken is awaited to its end: giving up on a commit that then happens
        # would leave its caller with a false idea of the journal.
        return await pending.result

    async def run(self) -> None:
        """Commit batches until cancelled; raises `JournalFailed` when the disk fails."""
        while True:
            await self._next_work()
            await self.run_once()
            await self._checkpoint_if_due()

    async def run_once(self) -> None:
        """Commit the changes that wait, at most `BATCH_CHANGES_MAX` of them, in one transaction."""
        batch = self._pending[:BATCH_CHANGES_MAX]
        del self._pending[:BATCH_CHANGES_MAX]
        if not batch:
            return
        if not self._path.exists():
            # SQLite would go on in what no path leads to, and all of it would end with the process.
            self._refuse(batch, "its file was taken away; put it back while the engine runs")
            return
        began_ms = self._clock.monotonic_ms()
        try:
            outcomes, rows = await self._cross(lambda db: _commit(db, [p.change for p in batch]))
        except sqlite3.Error as error:
            self._throw_back(batch, error)
            return
        except asyncio.CancelledError:
            # The thread goes on with the batch, and nobody will be here to learn what came of it.
            for pending in batch:
                _settle(pending.result, JournalFailed("the engine stopped during the commit"))
            raise
        if self.trouble and rows:  # A commit of nothing succeeds on a full disk, too.
            log.info("journal_writable_again")
            self.trouble = None
            self.is_full = False
        self._last_commit_ms = self._clock.monotonic_ms()
        self.on_commit((self._last_commit_ms - began_ms) / 1_000, rows)
        for pending, outcome in zip(batch, outcomes, strict=True):
            _settle(pending.result, outcome)

    async def close(self) -> None:
        """Copy the log back and close: aiosqlite's thread would keep the process alive."""
        if self._db is None:
            return
        try:
            if not self._failure:
                await self._cross(_checkpoint)
        except sqlite3.Error:
            pass  # The log stays and is read at the next start; closing must go on.
        finally:
            await self._db.close()
            self._db = None

    async def _next_work(self) -> None:
        """Wait for a change, or for the quiet in which a checkpoint may be made."""
        if self._pending:
            return
        self._wake.clear()
        try:
            async with asyncio.timeout(CHECKPOINT_QUIET_MS / 1_000):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _checkpoint_if_due(self) -> None:
        if self._checkpoint_is_due():
            try:
                await self._cross(_checkpoint)
            except sqlite3.Error as error:
                if not _is_transient(error):
                    raise self._fail(error) from error

    def _checkpoint_is_due(self) -> bool:
        wal = self._path.with_name(self._path.name + "-wal")
        size = wal.stat().st_size if wal.exists() else 0
        if self.is_full:
            return size > 0  # It may be all that can make room.
        if size < CHECKPOINT_BYTES:
            return False
        if size >= min(CHECKPOINT_FORCED_BYTES, disk_usage(self._path.parent).free):
            return True
        quiet_ms = self._clock.monotonic_ms() - self._last_commit_ms
        return quiet_ms >= CHECKPOINT_QUIET_MS and not self._pending

    async def _cross(self, function: Change[T]) -> T:
        assert self._db is not None, "open() comes first"
        with self._busy():
            # `_execute` is how aiosqlite runs each of its own methods on the connection's thread.
            result: T = await self._db._execute(  # type: ignore[no-untyped-call]  # aiosqlite leaves it bare
                function, self._db._conn
            )
        return result

    def _throw_back(self, batch: list[_Pending[Any]], error: sqlite3.Error) -> None:
        if _is_transient(error):
            self.is_full = _code(error) == sqlite3.SQLITE_FULL
            self._refuse(batch, str(error))
            return
        failure = self._fail(error)
        for pending in batch:
            _settle(pending.result, failure)
        raise failure

    def _refuse(self, batch: list[_Pending[Any]], reason: str) -> None:
        if self.trouble is None:  # Once, not for each of the tries that follow.
            log.error("journal_not_writable", reason=reason)
        self.trouble = f"the database cannot be written: {reason}"
        for pending in batch:
            _settle(pending.result, Unavailable(f"{self.trouble}; try again later"))

    def _fail(self, error: sqlite3.Error) -> JournalFailed:
        self.trouble = f"the database failed: {error}"
        self._failure = JournalFailed(
            f"the database failed and the last commit is unknown ({error}); "
            "see to the disk and start again: the journal is read anew then"
        )
        for pending in self._pending:
            _settle(pending.result, self._failure)
        self._pending.clear()
        return self._failure


class Reader:
    """A connection that only reads, on a thread of its own."""

    def __init__(
        self, path: Path, *, busy: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self._path = path
        self._busy = busy
        self._db: aiosqlite.Connection | None = None

    async def open(self) -> None:
        self._db = await _open(lambda: _busy_aware(configure_reader(self._path)))

    async def read(self, query: Change[T]) -> T:
        """The result of `query`, run outside the event loop."""
        assert self._db is not None, "open() comes first"
        with self._busy():
            result: T = await self._db._execute(  # type: ignore[no-untyped-call]  # as above
                query, self._db._conn
            )
        return result

    async def close(self) -> None:
        if self._db is not None:
            await self._db.close()
            self._db = None


async def _open(connector: Callable[[], sqlite3.Connection]) -> aiosqlite.Connection:
    return await aiosqlite.Connection(connector, iter_chunk_size=64)


def _busy_aware(db: sqlite3.Connection) -> sqlite3.Connection:
    db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    return db


def rehearse(db: sqlite3.Connection, change: Change[T]) -> T:
    """The result of a change that is undone at once."""
    db.execute("SAVEPOINT rehearsal")
    try:
        return change(db)
    finally:
        db.execute("ROLLBACK TO rehearsal")
        db.execute("RELEASE rehearsal")


def _commit(db: sqlite3.Connection, changes: list[Change[Any]]) -> tuple[list[Any], int]:
    """The results, an exception in the place of a change that failed, and the rows written.

    On the database's thread.
    """
    try:
        return _transact(db, lambda: [change(db) for change in changes])
    except Exception as error:  # Whatever a change raises belongs to its caller alone,
        if not _is_changes_own(error):
            raise  # but the disk's errors are everybody's.
    return _transact(db, lambda: [_attempt(db, change) for change in changes])


def _transact(db: sqlite3.Connection, work: Callable[[], list[Any]]) -> tuple[list[Any], int]:
    before = db.total_changes
    try:
        # IMMEDIATE: a transaction that reads first and writes later fails at once with
        # BUSY_SNAPSHOT, in spite of any timeout (sqlite.org/isolation.html).
        db.execute("BEGIN IMMEDIATE")
        outcomes = work()
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLITE_FULL and its like have ended it already.
            db.execute("ROLLBACK")
        raise
    return outcomes, db.total_changes - before


def _attempt(db: sqlite3.Connection, change: Change[Any]) -> Any:
    db.execute("SAVEPOINT change")
    try:
        result = change(db)
    except Exception as error:  # As above.
        if not _is_changes_own(error):
            raise
        result = error
        db.execute("ROLLBACK TO change")
    db.execute("RELEASE change")
    return result


def _is_changes_own(error: Exception) -> bool:
    return not isinstance(error, sqlite3.Error) or _code(error) in _CHANGES_OWN


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
        future.exception()  # A caller that went away meanwhile is no error to be logged.
    else:
        future.set_result(outcome)


def _checkpoint(db: sqlite3.Connection) -> None:
    """As far as it goes beside whoever reads an old state: commits would wait for them, too.

    A backup or a forgotten shell reads for minutes. The log grows until it has read, and no longer.
    """
    (waits_ms,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute("PRAGMA busy_timeout = 0")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.execute(f"PRAGMA busy_timeout = {waits_ms}")


def _is_transient(error: sqlite3.Error) -> bool:
    return _code(error) in _TRANSIENT


def _code(error: sqlite3.Error) -> int:
    """The primary result code, the low byte (sqlite.org/rescode.html); Python's own have none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
