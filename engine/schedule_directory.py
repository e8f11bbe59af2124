"""A directory of schedule files that an engine keeps its schedules like: `offbeat run --schedules`.

The files are looked at once a second, by inode, size and time of what their names lead to, and
applied when two looks agree that they are others than before. So a ConfigMap's swap of one symlink
is a change of all files at once, a file that is still being written is waited for, and network file
systems work, of which inotify tells nothing.

All or nothing: a file that cannot be read, or a schedule that the engine refuses, leaves what is
stored as it is, with a line in the log and `scheduler_schedules_directory_ok` at 0 until the
files are mended. What is gone from the files is deleted if it carries the mark of this mechanism
(`core/schedule_set.py`), and a directory without schedules, which is most often a volume that is
not mounted, deletes nothing. An `at` that is past and has no schedule, any more or on a new volume,
stands in no other's way: it is left out. Between changes of the files the API is free to change
schedules.

Only regular files are read, since nobody may ever write to a pipe. A network mount can hang, too:
then the engine goes on without its files, says so, and can be stopped (`daemon_calls.py`).

A directory that is not there is refused before an engine starts, since without its schedules it
would look well. One that goes away later is a fault like the others.
"""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Protocol, TypeVar

import structlog
from prometheus_client import CollectorRegistry, Gauge

from engine.core.document import read_schedule
from engine.core.errors import ConfigError, Fault, Invalid, Malformed, OffbeatError
from engine.core.fields import FAULTS_MAX
from engine.core.json_text import parse_json
from engine.core.labels import ScheduleFilter, read_selector
from engine.core.model import AtTrigger, Draft, Schedule
from engine.core.schedule_set import SET_LABEL, mark, strays
from engine.daemon_calls import DaemonCalls
from engine.schedule_files import SUFFIXES, find_places, read_files

SET_NAME = "schedules-directory"
"""The mark of what came from the directory."""

LOOK_SECONDS = 1.0
"""Between two looks: a stat per file, microseconds each; a change then holds two seconds later."""

LOOKS_BEFORE_RETRY = 30
"""What the files do not explain (a full quota, another set's schedule) may have gone meanwhile."""

SCHEDULES_MAX = 10_000
"""In all files of `--schedules` together: beside the putting of so many the loop is late by less
than 10 ms, beside 50,000 by some 20. `offbeat apply` takes more."""

BYTES_MAX = 8_388_608
"""All files of `--schedules` together: room for as many schedules of 800 bytes."""

ANSWER_SECONDS = 120.0
"""For a look at the directory of `--schedules`, and for reading its files: `BYTES_MAX` of YAML on a
slow machine. What takes longer hangs, as a mount that is gone; the engine goes on without."""

PUT_AT_ONCE = 50
"""Of one commit, a millisecond of the loop: deliveries keep their time beside ten thousand."""

PAGE_ROWS = 200

log = structlog.get_logger("offbeat")

T = TypeVar("T")
Look = tuple[tuple[str, int, int, int, bool], ...] | str
"""Name, inode, size and time of each file, and whether it is a regular one; or why the directory
cannot be read."""


class Schedules(Protocol):
    """One tenant's schedules (`services.schedules`)."""

    async def put_many(
        self, drafts: Sequence[Draft], *, dry_run: bool = False
    ) -> list[tuple[Schedule, bool] | OffbeatError]: ...

    async def page(
        self, which: ScheduleFilter, *, limit: int, after_name: str | None
    ) -> tuple[list[Schedule], str | None]: ...

    async def delete(self, name: str, *, if_match: int | None = None) -> object: ...


def check_directory(directory: Path) -> None:
    """Raise ConfigError unless its files can be listed."""
    if isinstance(seen := _look(directory), str):
        raise ConfigError(f"--schedules {seen}; make it, or mount it, before the engine starts")


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
        self._calls = DaemonCalls(seconds=ANSWER_SECONDS)
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
        before, self._seen = self._seen, await self._look()
        self._looks_left -= 1
        is_new = self._seen != self._applied and self._looks_left <= 0
        if self._seen == before and is_new:
            await self._apply(self._seen)
        elif self._seen != before:
            self._looks_left = 0  # Whatever was wrong, it may have been mended.

    async def _look(self) -> Look:
        try:
            return await self._ask(partial(_look, self._directory))
        except Invalid as error:
            return _reason(error)

    async def _ask(self, work: Callable[[], T]) -> T:
        """What the files are asked for. Raises what it raises, and Invalid when they hang."""
        try:
            return await self._calls.call(work)
        except TimeoutError:
            said = f"no answer within {ANSWER_SECONDS:.0f} s; is it a mount that is gone?"
            raise Invalid(Fault("", f"{self._directory}: {said}")) from None

    async def _apply(self, seen: Look) -> None:
        try:
            documents = await self._ask(partial(self._read, seen))
            past, deleted = await self._put(documents)
        except OffbeatError as error:
            self._ok.set(0)
            self._applied = None
            self._looks_left = LOOKS_BEFORE_RETRY
            if (reason := _reason(error)) != self._said:
                log.warning("schedules_not_applied", reason=reason)
            self._said = reason
            return
        self._ok.set(1)
        self._applied, self._said = seen, None
        log.info("schedules_applied", declared=len(documents), past=past, deleted=deleted)

    def _read(self, seen: Look) -> dict[str, bytes]:
        """The documents of all files by name, as JSON. Raises Invalid with every fault.

        As text, since ten thousand schedules in pieces would be half a million objects to walk over
        for Python's collector, which stops every thread meanwhile. So it rests, too.
        """
        if isinstance(seen, str):
            raise Invalid(Fault("", seen))
        self._check_room(sum(size for _, _, size, _, _ in seen), BYTES_MAX, "bytes")
        if others := [self._directory / name for name, *_, is_regular in seen if not is_regular]:
            raise Invalid(*(Fault("", f"{path}: only regular files are read") for path in others))
        gc.disable()
        try:
            documents = {
                document["name"]: json.dumps(mark(document, SET_NAME)).encode()
                for document in read_files(self._directory / name for name, *_ in seen)
            }
        finally:
            gc.enable()
        self._check_room(len(documents), SCHEDULES_MAX, "schedules")
        return documents

    def _check_room(self, count: int, most: int, unit: str) -> None:
        if count > most:
            text = f"{self._directory}: {count:,} {unit}; a directory that is followed has {most:,}"
            raise Invalid(Fault("", f"{text} at most, and offbeat apply takes more"))

    async def _put(self, documents: Mapping[str, bytes]) -> tuple[int, int]:
        """Put all or none, and delete what the files do not have any more: how many were left out
        since they are past, and how many deleted."""
        marked = {
            schedule.definition.name: (schedule.definition.labels[SET_LABEL], schedule.revision)
            async for schedule in self._marked()
        }
        sets = ((name, its_set) for name, (its_set, _) in marked.items())
        left = strays(documents, sets, SET_NAME)
        past = await self._put_parts(documents, marked, dry_run=True)
        await self._put_parts(documents, marked, dry_run=False)
        for name in left:
            await self._schedules.delete(name, if_match=marked[name][1])
        return past, len(left)

    async def _put_parts(
        self, documents: Mapping[str, bytes], stored: Container[str], *, dry_run: bool
    ) -> int:
        """Put them a few at a time; how many are past. Raises Invalid with the faults of all."""
        faults: list[Fault] = []
        past = 0
        rest = iter(documents.items())
        while part := dict(islice(rest, PUT_AT_ONCE)):
            drafts, unread = await asyncio.to_thread(self._drafts, part)
            faults += unread
            results = await self._schedules.put_many(drafts, dry_run=dry_run)
            for draft, result in zip(drafts, results, strict=True):
                if _is_past(draft, result) and draft.definition.name not in stored:
                    past += 1
                elif isinstance(result, Invalid):
                    faults += _named(draft.definition.name, result)
                elif isinstance(result, OffbeatError):
                    raise result
        if faults:
            raise Invalid(*await self._ask(partial(self._placed, faults[:FAULTS_MAX])))
        return past

    def _placed(self, faults: Sequence[Fault]) -> list[Fault]:
        """The faults of schedules, each with the place of its schedule before it."""
        assert not isinstance(self._seen, str | None), "its files have been read"
        names = [fault.pointer.split("/")[1] for fault in faults]
        found = find_places(names, [self._directory / name for name, *_ in self._seen])
        places = [f"{found[name]}: " if name in found else "" for name in names]
        return [
            Fault(place + fault.pointer.removeprefix("/"), fault.detail)
            for place, fault in zip(places, faults, strict=True)
        ]

    def _drafts(self, documents: Mapping[str, bytes]) -> tuple[list[Draft], list[Fault]]:
        """What they say; and what is wrong with those that say nothing."""
        drafts, faults = [], []
        for name, document in documents.items():
            try:
                drafts.append(
                    read_schedule(
                        parse_json(document), tenant=self._tenant, subsecond=self._subsecond
                    )
                )
            except Malformed as error:
                faults.append(Fault(f"/{name}", str(error)))
            except Invalid as error:
                faults += _named(name, error)
        return drafts, faults

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
    return tuple(
        (path.name, s.st_ino, s.st_size, s.st_mtime_ns, S_ISREG(s.st_mode)) for path, s in files
    )


def _is_past(draft: Draft, result: object) -> bool:
    # Of a text that could be read, nothing else is refused at its `at`.
    if not isinstance(draft.definition.trigger, AtTrigger) or not isinstance(result, Invalid):
        return False
    return all(fault.pointer == "/at" for fault in result.faults)


def _reason(error: OffbeatError) -> str:
    if not isinstance(error, Invalid):
        return str(error)
    return "; ".join(f"{f.pointer}: {f.detail}".removeprefix(": ") for f in error.faults)


def _named(name: str, error: Invalid) -> Iterator[Fault]:
    return (Fault(f"/{name}{fault.pointer}", fault.detail) for fault in error.faults)
