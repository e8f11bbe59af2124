"""A copy of the database as it is at one moment, made beside an engine that goes on working.

`VACUUM INTO` reads one snapshot and writes a new, compact database (sqlite.org/lang_vacuum.html). A
reader keeps nobody waiting; the engine's log only grows until it is done. The copy is made under
another name beside its place, looked through, synchronised and renamed: what bears the name of a
backup is one. A copy with cp would be none, since what the log holds is missing or half there.

The master key is no part of it: whoever finds a backup can sign nothing.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import mkstemp

from engine.core.errors import Conflict, NotFound, StoreRefused
from engine.store.database import has_log, inspect, look, sync_directory


def back_up(database: Path, place: Path, *, overwrite: bool) -> int:
    """Copy `database` to the file `place`, readable by its owner alone; its size in bytes.

    Raises NotFound without a database, Conflict where there is something already, StoreRefused when
    either cannot be used. Nothing is left behind then.
    """
    if not inspect(database):
        raise NotFound(f"there is no {database}; name the engine's --data-dir")
    if place.exists() and (not overwrite or place.is_dir() or place.samefile(database)):
        raise Conflict(
            f"{place} is there already; write another name, or --force to replace a file"
        )
    try:
        descriptor, name = mkstemp(dir=place.parent, prefix=f".{place.name}.")
    except OSError as error:
        raise StoreRefused(f"{place.parent}: {error.strerror}; no backup was made") from None
    copy = Path(name)
    try:
        _copy(database, copy)
        inspect(copy)
        os.fsync(descriptor)
        copy.replace(place)
        sync_directory(place.parent)
    except (sqlite3.Error, OSError) as error:
        raise StoreRefused(f"no backup was made: {error}") from error
    finally:
        os.close(descriptor)
        copy.unlink(missing_ok=True)
    return place.stat().st_size


def _copy(database: Path, copy: Path) -> None:
    while True:
        had_log = has_log(database)
        with closing(look(database)) as db:
            # An empty file counts as none, and keeps the mode that it was made with.
            db.execute("VACUUM INTO ?", (str(copy),))
        if had_log or not has_log(database):
            return
        # An engine has started meanwhile: what was read without its log may be torn.
        os.truncate(copy, 0)
