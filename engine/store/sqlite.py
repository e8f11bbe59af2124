"""Schedules and history on SQLite: each call one change of the writer, or one query of a reader."""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial

from engine.core.errors import OffbeatError
from engine.core.labels import ScheduleFilter
from engine.core.model import Attempt, Draft, Pause, Run, Schedule, Target
from engine.core.once import Record
from engine.core.revision import Condition
from engine.store import (
    DueRun,
    FlowLimits,
    RunFilter,
    RunKey,
    RunPlace,
    Stored,
    answers,
    flows,
    history,
    interventions,
    pauses,
    schedules,
    selection,
)
from engine.store.turns import Reads
from engine.store.writer import Writer, rehearse


class SqliteSchedules:
    """`services.schedules.ScheduleStore`."""

    def __init__(self, writer: Writer, reader: Reads) -> None:
        self._writer = writer
        self._reader = reader

    async def put(
        self,
        draft: Draft,
        now_ms: int,
        *,
        if_match: Condition,
        record: Record[Schedule] | None,
    ) -> Stored:
        def change(db: sqlite3.Connection) -> Stored:
            stored = schedules.put_draft(db, draft, now_ms, if_match)
            answers.keep(db, record, stored.schedule)
            return stored

        return await self._writer.submit(change)

    async def put_many(
        self, drafts: Sequence[Draft], now_ms: int, *, dry_run: bool
    ) -> list[Stored | OffbeatError]:
        def change(db: sqlite3.Connection) -> list[Stored | OffbeatError]:
            return schedules.put_drafts(db, drafts, now_ms)

        return await self._writer.submit(partial(rehearse, change=change) if dry_run else change)

    async def update(
        self,
        schedule_id: str,
        change: Callable[[Schedule], Draft],
        now_ms: int,
        *,
        if_match: Condition,
    ) -> Stored:
        return await self._writer.submit(
            lambda db: schedules.update(db, schedule_id, change, now_ms, if_match)
        )

    async def get(self, schedule_id: str) -> Schedule:
        return await self._reader.read(lambda db: schedules.get(db, schedule_id))

    async def page(
        self, tenant: str, which: ScheduleFilter, *, limit: int, after_name: str
    ) -> tuple[list[Schedule], str | None]:
        return await self._reader.read(
            lambda db: selection.page(db, tenant, which, limit, after_name)
        )

    async def delete(self, schedule_id: str, now_ms: int, *, if_match: Condition) -> int:
        return await self._writer.submit(
            lambda db: schedules.delete(db, schedule_id, now_ms, if_match)
        )

    async def pause(
        self, schedule_id: str, pause: Pause, now_ms: int, *, if_match: Condition
    ) -> Stored:
        return await self._writer.submit(
            lambda db: pauses.pause(db, schedule_id, pause, now_ms, if_match)
        )

    async def resume(self, schedule_id: str, now_ms: int, *, if_match: Condition) -> Stored:
        return await self._writer.submit(
            lambda db: pauses.resume(db, schedule_id, now_ms, if_match)
        )

    async def trigger(
        self,
        schedule_id: str,
        now_ms: int,
        *,
        if_match: Condition,
        record: Record[Run] | None,
    ) -> tuple[Run, DueRun]:
        def change(db: sqlite3.Connection) -> tuple[Run, DueRun]:
            run, due = schedules.trigger(db, schedule_id, now_ms, if_match)
            answers.keep(db, record, run)
            return run, due

        return await self._writer.submit(change)


class SqliteRuns:
    """`services.runs.RunStore`."""

    def __init__(self, writer: Writer, reader: Reads) -> None:
        self._writer = writer
        self._reader = reader

    async def get(
        self, tenant: str, schedule_id: str, scheduled_for_ms: int
    ) -> tuple[Run, list[Attempt]]:
        def query(db: sqlite3.Connection) -> tuple[Run, list[Attempt]]:
            return history.get_run(db, tenant, schedule_id, scheduled_for_ms)

        return await self._reader.read(query)

    async def target(self, tenant: str, schedule_id: str, scheduled_for_ms: int) -> Target:
        key = (tenant, schedule_id, scheduled_for_ms)
        return await self._reader.read(lambda db: history.get_target(db, *key))

    async def page(
        self, which: RunFilter, *, limit: int, after: RunPlace | None
    ) -> tuple[list[Run], RunPlace | None]:
        """As many turns as it takes: nobody else waits while a filter finds nothing."""
        place: RunKey | None = history.end_of(which)
        if after is not None:
            place = await self._reader.read(lambda db: history.place_of(db, which, after))
        found: list[Run] = []
        while place is not None and len(found) <= limit:
            page = partial(
                history.list_runs, which=which, limit=limit + 1 - len(found), before=place
            )
            runs, place = await self._reader.read(page)
            found += runs
        if len(found) <= limit:
            return found, None
        return found[:limit], (found[limit - 1].scheduled_for_ms, found[limit - 1].schedule_id)

    async def cancel(
        self,
        tenant: str,
        schedule_id: str,
        scheduled_for_ms: int,
        now_ms: int,
        *,
        record: Record[Run] | None,
    ) -> tuple[Run, list[DueRun]]:
        key = (tenant, schedule_id, scheduled_for_ms)
        return await self._move(lambda db: interventions.cancel(db, *key, now_ms), record)

    async def replay(
        self,
        tenant: str,
        schedule_id: str,
        scheduled_for_ms: int,
        now_ms: int,
        *,
        record: Record[Run] | None,
    ) -> tuple[Run, list[DueRun]]:
        key = (tenant, schedule_id, scheduled_for_ms)
        return await self._move(lambda db: interventions.replay(db, *key, now_ms), record)

    async def _move(
        self,
        move: Callable[[sqlite3.Connection], tuple[Run, list[DueRun]]],
        record: Record[Run] | None,
    ) -> tuple[Run, list[DueRun]]:
        def change(db: sqlite3.Connection) -> tuple[Run, list[DueRun]]:
            run, due = move(db)
            answers.keep(db, record, run)
            return run, due

        return await self._writer.submit(change)


class SqliteFlows:
    """`services.flows.FlowStore`."""

    def __init__(self, writer: Writer, reader: Reads) -> None:
        self._writer = writer
        self._reader = reader

    async def put(
        self,
        tenant: str,
        key: str,
        *,
        rate: int | None,
        parallelism: int,
        paused: bool,
        now_ms: int,
        if_match: Condition,
    ) -> FlowLimits:
        limits = {"rate": rate, "parallelism": parallelism, "paused": paused}
        return await self._writer.submit(
            lambda db: flows.put(db, tenant, key, limits, now_ms=now_ms, if_match=if_match)
        )

    async def delete(
        self, tenant: str, key: str, now_ms: int, *, if_match: Condition
    ) -> FlowLimits:
        return await self._writer.submit(lambda db: flows.delete(db, tenant, key, now_ms, if_match))

    async def get(self, tenant: str, key: str) -> FlowLimits:
        return await self._reader.read(lambda db: flows.get_by_key(db, tenant, key))

    async def page(
        self, tenant: str, *, limit: int, after_key: str
    ) -> tuple[list[FlowLimits], str | None]:
        return await self._reader.read(lambda db: flows.page(db, tenant, limit, after_key))
