"""A data directory as one engine holds it: locked, looked through, its database ready."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.core.errors import ConfigError, DataDirectoryLocked
from engine.core.identity import format_instant
from engine.store.access import refuse_strangers
from engine.store.database import DATABASE_NAME, inspect, prepare, take_lock
from engine.store.master_key import master_key, remember_key

LOCK_RETRY_SECONDS = 0.1
"""How often a waiting engine looks again: short beside a container's replacement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataDirectory:
    """A directory that is ours until it is released."""

    path: Path
    """Of the database."""
    master: bytes
    lock: int
    """The descriptor of its lock file."""

    def release(self) -> None:
        os.close(self.lock)


async def hold(
    directory: Path,
    *,
    timeout_seconds: float,
    on_locked: Callable[[], None],
    sole_tenant: str | None,
    key_file: Path | None,
) -> DataDirectory:
    """Lock `directory`, wait for it if another engine holds it, and make its database ready.

    `on_locked` is called before anything is touched; what it raises ends it. A keyless engine names
    its `sole_tenant` and is refused where others' schedules are. Raises the errors of the store.
    """
    lock = await _lock(directory, timeout_seconds)
    try:
        on_locked()
        path = directory / DATABASE_NAME
        is_new = not inspect(path)
        if sole_tenant is not None and not is_new:
            refuse_strangers(path, sole_tenant)
        # The key comes first: killed before the journal is there, the directory is still new.
        master = master_key(path, key_file, is_new=is_new)
        prepare(path)
        remember_key(path, master)
    except BaseException:  # Whatever it was: the directory is free again.
        os.close(lock)
        raise
    return DataDirectory(path=path, master=master, lock=lock)


def refuse_earlier_clock(start_ms: int | None, last_ms: int) -> None:
    """Raise ConfigError when a clock would start before the last instant of the journal."""
    if start_ms is not None and start_ms < last_ms:
        raise ConfigError(
            f"--clock-start {format_instant(start_ms)} is before {format_instant(last_ms)}, "
            "this data directory's last instant: name another --data-dir or a later instant"
        )


async def _lock(directory: Path, timeout_seconds: float) -> int:
    waited = 0.0
    while True:
        try:
            return take_lock(directory)
        except DataDirectoryLocked:
            if waited >= timeout_seconds:
                raise
        await asyncio.sleep(LOCK_RETRY_SECONDS)
        waited += LOCK_RETRY_SECONDS
