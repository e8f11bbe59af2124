"""The data directory and the database file in it: locking, opening, migrating, checking.

A database is made beside its place and renamed into it when it is whole, so a file that is there
but empty, cut or foreign is always a fault to report and never a reason to begin anew.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from engine.core.errors import DataDirectoryLocked, StoreBusy, StoreRefused
from engine.store.statements import migrations, statements

DATABASE_NAME = "offbeat.db"

APPLICATION_ID = 0x0FFB_EA70
"""Marks the file as ours (sqlite.org/pragma.html#pragma_application_id)."""

WAL_RESET_FIXED = (3, 51, 3)
"""The first SQLite in which two connections that commit and checkpoint at once lose no pages."""

QUICK_CHECK_BYTES_MAX = 64 * 2**20
"""Files up to here are checked page by page at each start (0.2 s); `offbeat check` does any."""

WAIT_SECONDS = 5.0
"""For another program that holds the database: an operator's statement is shorter."""

PAGE_CACHE_KIB = 48 * 1024
"""Of the writer: the interior pages of a million schedules and a herd's leaf pages fit in it."""

_MAGIC = b"SQLite format 3\x00"


def take_lock(directory: Path) -> int:
    """Hold the data directory for this process; the descriptor whose closing lets it go.

    The lock is flock(2) on a file of its own: it dies with the process, however that dies, and it
    is taken before anything else in the directory is touched. Raises `DataDirectoryLocked`, and
    `StoreRefused` for a directory that cannot be used.
    """
    with refusing(directory):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise DataDirectoryLocked(
            f"another engine is running on {directory}; stop it, choose another --data-dir, "
            "or wait for it with --lock-timeout SECONDS"
        ) from None
    return descriptor


def inspect(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> bool:
    """Whether there is a database at `path`; it is read, and left as it is.

    Raises `StoreRefused` for what is newer, foreign or damaged, `StoreBusy` for what is held.
    """
    if not path.exists():
        _refuse_orphans(path)
        return False
    with refusing(path):
        _refuse_cut_file(path)
        with closing(look(path, wait_seconds=wait_seconds)) as db:
            _verify(db, path)
    return True


def prepare(path: Path) -> None:
    """Make the database at `path` ready to open: create it, or migrate what `inspect` has seen.

    Raises `StoreBusy` at once while another program holds it.
    """
    with refusing(path):
        if not path.exists():
            _create(path)
            return
        os.chmod(path, 0o600)
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as db:
            _migrate(db)


def check(path: Path) -> list[str]:
    """Everything wrong with the database at `path`, one line each; nothing is written."""
    try:
        with refusing(path):
            _refuse_cut_file(path)
            with closing(look(path)) as db:
                _verify(db, path)
                return [
                    *_page_faults(db, "integrity_check"),
                    *_reference_faults(db),
                    *_rule_faults(db),
                ]
    except StoreRefused as error:
        return [str(error)]


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """What the system or SQLite say of the data directory or a file in it, as `StoreRefused`."""
    try:
        yield
    except OSError as error:
        reason = "Not a directory" if isinstance(error, FileExistsError) else error.strerror
        raise StoreRefused(
            f"{error.filename or path}: {reason}; an engine needs a directory in which it may make "
            "and write files: put that right, or name another --data-dir"
        ) from error
    except sqlite3.OperationalError as error:  # Locked, full or unreadable: not the file's fault.
        kind = StoreBusy if error.sqlite_errorcode == sqlite3.SQLITE_BUSY else StoreRefused
        raise kind(
            f"{path} cannot be opened: {error}; stop whatever holds it, and let this user read and "
            "write all that begins with its name"
        ) from error
    except sqlite3.DatabaseError as error:
        raise StoreRefused(f"{path} is damaged: {error}; restore it from a backup") from error


def sync_directory(path: Path) -> None:
    """Have the names in a directory on disk."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def look(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> sqlite3.Connection:
    """A connection that leaves the files as they are, the log of a killed engine included.

    An ordinary one would copy that log back when it closes. Where there is none, `immutable` keeps
    SQLite from making an empty one.
    """
    uri = _uri(path, "mode=ro" if has_log(path) else "immutable=1")
    return sqlite3.connect(uri, timeout=wait_seconds, uri=True)


def has_log(path: Path) -> bool:
    """Whether an engine has the database open, or was killed with it open."""
    return path.with_name(path.name + "-wal").exists()


def configure_writer(path: Path) -> sqlite3.Connection:
    """The connection that makes every write and every checkpoint."""
    db = _connect(path, "mode=rw")
    db.execute("PRAGMA journal_mode = WAL")
    # FULL: the only setting that kept every acknowledged commit in replayed power losses.
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")
    return db


def configure_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, whatever statement reaches it."""
    db = _connect(path, "mode=ro")
    db.execute("PRAGMA query_only = ON")
    return db


def _connect(path: Path, how: str) -> sqlite3.Connection:
    # Statements are few and hot; each stays compiled. aiosqlite's thread is the only user.
    db = sqlite3.connect(
        _uri(path, how),
        uri=True,
        isolation_level=None,
        cached_statements=256,
        check_same_thread=False,
    )
    db.execute("PRAGMA trusted_schema = OFF")
    return db


def _uri(path: Path, how: str) -> str:
    return f"{path.absolute().as_uri()}?{how}"


def _refuse_orphans(path: Path) -> None:
    for suffix in ("-wal", "-journal"):
        orphan = path.with_name(path.name + suffix)
        if orphan.exists():
            raise StoreRefused(
                f"{path} is missing, but {orphan.name} is there: restore the database from a "
                "backup, or move that file away to begin with an empty one"
            )


def _create(path: Path) -> None:
    fresh = path.with_name(path.name + ".new")
    for suffix in ("", "-wal", "-shm"):
        fresh.with_name(fresh.name + suffix).unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        # From the start, so that no rollback journal is ever beside the database.
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _migrate(db)
    fresh.replace(path)
    sync_directory(path.parent)


def _refuse_cut_file(path: Path) -> None:
    """The header names a size (sqlite.org/fileformat.html §1.3); a shorter file was cut.

    Unless its log is there: a checkpoint writes the header first, and a crash in it leaves pages
    in the log alone.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(100)
    if size == 0:
        raise StoreRefused(f"{path} is empty: restore it from a backup, or move it away")
    if len(header) < 100 or header[:16] != _MAGIC:
        raise StoreRefused(f"{path} is not an SQLite database: name another --data-dir")
    page_bytes = int.from_bytes(header[16:18], "big")
    page_bytes = 65_536 if page_bytes == 1 else page_bytes
    expected = page_bytes * int.from_bytes(header[28:32], "big")
    if size < expected and not has_log(path):
        raise StoreRefused(
            f"{path} is damaged: {size} bytes where its header says {expected}; "
            "restore it from a backup"
        )


def _verify(db: sqlite3.Connection, path: Path) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise StoreRefused(f"{path} belongs to another program: name another --data-dir")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    known = migrations()[-1][0]
    if version > known:
        raise StoreRefused(
            f"{path} has schema {version} and this program knows {known}: "
            "run the newer offbeat, or restore an older backup"
        )
    if _schema(db) != _schema_of(version):
        raise StoreRefused(
            f"{path} says schema {version} and holds another: a development version made it; "
            "name another --data-dir"
        )
    if path.stat().st_size <= QUICK_CHECK_BYTES_MAX:
        faults = _page_faults(db, "quick_check")
        if faults:
            raise StoreRefused(f"{path} is damaged: {faults[0]}; restore it from a backup")


def _schema(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """What the file says of its tables and indexes."""
    rows = db.execute(statements()["list_schema"])
    return {(name, sql) for name, sql in rows if not name.startswith("sqlite_")}


@cache
def _schema_of(version: int) -> set[tuple[str, str]]:
    """What the migrations up to `version` make."""
    with closing(sqlite3.connect(":memory:")) as db:
        for number, script in migrations():
            if number <= version:
                db.executescript(script)
        return _schema(db)


def _migrate(db: sqlite3.Connection) -> None:
    """Bring the schema up to date, each step in one transaction with its version number."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    for number, script in migrations():
        if number > version:
            db.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT;")


def _page_faults(db: sqlite3.Connection, pragma: str) -> list[str]:
    lines = [line for (line,) in db.execute(f"PRAGMA {pragma}(20)")]
    return [] if lines == ["ok"] else lines


def _reference_faults(db: sqlite3.Connection) -> list[str]:
    return [
        f"a row of {table} refers to a row of {parent} that is not there"
        for table, _, parent, _ in db.execute("PRAGMA foreign_key_check").fetchmany(20)
    ]


def _rule_faults(db: sqlite3.Connection) -> list[str]:
    """Invariants of SPEC §5 that a statement can see; each names what it counts."""
    rules = {name: sql for name, sql in statements().items() if name.startswith("fault_")}
    return [
        f"{count} {name.removeprefix('fault_').replace('_', ' ')}"
        for name, sql in rules.items()
        for (count,) in db.execute(sql)
        if count
    ]
