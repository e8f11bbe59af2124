"""A data directory as one engine holds it: locked, looked through, its database ready."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from engine.core.errors import ConfigError, DataDirectoryLocked, OffbeatError, StoreBusy
from engine.core.identity import format_instant
from engine.store.access import refuse_strangers
from engine.store.database import DATABASE_NAME, WAIT_SECONDS, inspect, prepare, take_lock
from engine.store.master_key import master_key, remember_key

RETRY_SECONDS = 0.1
"""How often a waiting engine looks again: short beside a container's replacement."""

T = TypeVar("T")


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
    lock = await _patiently(timeout_seconds, DataDirectoryLocked, partial(take_lock, directory))
    try:
        on_locked()
        path = directory / DATABASE_NAME
        ready = partial(_make_ready, path, sole_tenant=sole_tenant, key_file=key_file)
        master = await _patiently(WAIT_SECONDS, StoreBusy, ready)
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


def _make_ready(path: Path, *, sole_tenant: str | None, key_file: Path | None) -> bytes:
    """The database, as far as it is not there yet; the master key. To be done again if cut off."""
    is_new = not inspect(path, wait_seconds=0)
    if sole_tenant is not None and not is_new:
        refuse_strangers(path, sole_tenant)
    # The key comes first: killed before the journal is there, the directory is still new.
    master = master_key(path, key_file, is_new=is_new)
    prepare(path)
    remember_key(path, master)
    return master


async def _patiently(seconds: float, obstacle: type[OffbeatError], work: Callable[[], T]) -> T:
    """What it returns once nobody is in the way; in pauses, so that a signal is heard meanwhile."""
    waited = 0.0
    while True:
        try:
            return work()
        except obstacle:
            if waited >= seconds:
                raise
        await asyncio.sleep(RETRY_SECONDS)
        waited += RETRY_SECONDS
