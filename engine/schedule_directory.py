"""A directory of schedule files that an engine keeps its schedules like: `offbeat run --schedules`.

The files are looked at once a second, by inode, size and time of what their names lead to, and
applied when two looks agree that they are others than before. So a ConfigMap's swap of one symlink
is a change of all files at once, a file that is still being written is waited for, and network file
systems work, of which inotify tells nothing.

All or nothing: a file that cannot be read, or a schedule that the engine refuses, leaves what is
stored as it is, with a line in the log and `scheduler_schedules_directory_ok` at 0 until the
files are mended. What is gone from the files is deleted if it carries the mark of this mechanism
(`core/schedule_set.py`), and a directory without schedules, which is most often a volume that is
not mounted, deletes nothing. Between changes of the files the API is free to change schedules.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import structlog
from prometheus_client import CollectorRegistry, Gauge

from engine.core.document import read_schedule
from engine.core.errors import Fault, Invalid, OffbeatError
from engine.core.labels import ScheduleFilter, read_selector
from engine.core.model import Draft, Schedule
from engine.core.schedule_set import SET_LABEL, mark, strays
from engine.schedule_files import SUFFIXES, read_files

SET_NAME = "schedules-directory"
"""The mark of what came from the directory."""

LOOK_SECONDS = 1.0
"""Between two looks: a stat per file, microseconds each; a change then holds two seconds later."""

LOOKS_BEFORE_RETRY = 30
"""What the files do not explain (a full quota, another set's schedule) may have gone meanwhile."""

BYTES_MAX = 1_048_576
"""All files of `--schedules` together: what a ConfigMap holds, some 4,000 schedules. Deliveries go
on beside the reading of so many; of more, Python's collector stops them for half a second. `offbeat
apply` takes more."""

PUT_AT_ONCE = 200
"""Of one commit, so that deliveries keep their time beside ten thousand schedules."""

PAGE_ROWS = 1_000

log = structlog.get_logger("offbeat")

Look = tuple[tuple[str, int, int, int], ...] | str
"""Name, inode, size and time of each file; or why the directory cannot be read."""


class Schedules(Protocol):
    """One tenant's schedules (`services.schedules`)."""

    async def put_many(
        self, drafts: Sequence[Draft], *, dry_run: bool = False
    ) -> list[tuple[Schedule, bool] | OffbeatError]: ...

    async def page(
        self, which: ScheduleFilter, *, limit: int, after_name: str | None
    ) -> tuple[list[Schedule], str | None]: ...

    async def delete(self, name: str, *, if_match: int | None = None) -> object: ...


class SchedulesDirectory:
    """Keeps the schedules of a tenant like the files of `directory`."""

    def __init__(
        self,
        directory: Path,
        schedules: Schedules,
        *,
        tenant: str,
        subsecond: bool,
        registry: CollectorRegistry,
    ) -> None:
        self._directory = directory
        self._schedules = schedules
        self._tenant = tenant
        self._subsecond = subsecond
        self._seen: Look | None = None
        self._applied: Look | None = None
        self._said: str | None = None
        self._looks_left = 0
        self._ok = Gauge(
            "scheduler_schedules_directory_ok",
            "1 while the schedules of the files are stored; 0 while a fault prevents it",
            registry=registry,
        )

    async def run(self) -> None:
        """Look, and apply what has changed, until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def start(self) -> None:
        """Apply what is there now."""
        await self.look()
        await self.look()

    async def look(self) -> None:
        """Apply the files if they are others than before, and the same as at the last look."""
        before, self._seen = self._seen, await asyncio.to_thread(_look, self._directory)
        self._looks_left -= 1
        is_new = self._seen != self._applied and self._looks_left <= 0
        if self._seen == before and is_new:
            await self._apply(self._seen)
        elif self._seen != before:
            self._looks_left = 0  # Whatever was wrong, it may have been mended.

    async def _apply(self, seen: Look) -> None:
        try:
            drafts = await asyncio.to_thread(self._read, seen)
            deleted = await self._put(drafts)
        except OffbeatError as error:
            self._ok.set(0)
            self._applied = None
            self._looks_left = LOOKS_BEFORE_RETRY
            if str(error) != self._said:
                log.warning("schedules_not_applied", reason=str(error))
            self._said = str(error)
            return
        self._ok.set(1)
        self._applied, self._said = seen, None
        log.info("schedules_applied", declared=len(drafts), deleted=deleted)

    def _read(self, seen: Look) -> list[Draft]:
        """The drafts of all files. Raises Invalid with every fault."""
        if isinstance(seen, str):
            raise Invalid(Fault("", seen))
        if (size := sum(size for _, _, size, _ in seen)) > BYTES_MAX:
            text = (
                f"{self._directory}: {size:,} bytes; a directory that is followed has {BYTES_MAX:,}"
            )
            raise Invalid(Fault("", f"{text} at most, and offbeat apply takes more"))
        faults: list[Fault] = []
        drafts = []
        for document in read_files(self._directory / name for name, *_ in seen):
            try:
                drafts.append(self._draft(document))
            except Invalid as error:
                faults += _named(document["name"], error)
        if faults:
            raise Invalid(*faults)
        return drafts

    def _draft(self, document: dict[str, Any]) -> Draft:
        marked = mark(document, SET_NAME)
        return read_schedule(marked, tenant=self._tenant, subsecond=self._subsecond)

    async def _put(self, drafts: Sequence[Draft]) -> int:
        """Put all or none; then delete what the files do not have any more: how many."""
        marked = {schedule.definition.name: schedule async for schedule in self._marked()}
        names = {draft.definition.name for draft in drafts}
        sets = ((name, each.definition.labels[SET_LABEL]) for name, each in marked.items())
        left = strays(names, sets, SET_NAME)
        for dry_run in (True, False):
            for first in range(0, len(drafts), PUT_AT_ONCE):
                part = drafts[first : first + PUT_AT_ONCE]
                _raise_first(part, await self._schedules.put_many(part, dry_run=dry_run))
        for name in left:
            await self._schedules.delete(name, if_match=marked[name].revision)
        return len(left)

    async def _marked(self) -> AsyncIterator[Schedule]:
        which = ScheduleFilter(requirements=read_selector(SET_LABEL))
        after_name = None
        while True:
            page, after_name = await self._schedules.page(
                which, limit=PAGE_ROWS, after_name=after_name
            )
            for schedule in page:
                yield schedule
            if after_name is None:
                return


def _look(directory: Path) -> Look:
    try:
        files = [
            (path, path.stat())
            for path in sorted(directory.iterdir())
            if path.suffix in SUFFIXES and not path.name.startswith(".")
        ]
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return tuple((path.name, s.st_ino, s.st_size, s.st_mtime_ns) for path, s in files)


def _raise_first(
    drafts: Sequence[Draft], results: Sequence[tuple[Schedule, bool] | OffbeatError]
) -> None:
    for draft, result in zip(drafts, results, strict=True):
        if isinstance(result, Invalid):
            raise Invalid(*_named(draft.definition.name, result))
        if isinstance(result, OffbeatError):
            raise result


def _named(name: str, error: Invalid) -> Iterator[Fault]:
    return (Fault(f"/{name}{fault.pointer}", fault.detail) for fault in error.faults)
