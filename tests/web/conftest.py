"""The web layer on a real loopback socket, over an engine that keeps everything in memory."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from engine.about import about
from engine.config import Config
from engine.core.access import Tenant
from engine.core.backfill import Backfill
from engine.core.errors import Conflict, Fault, Invalid, NotFound, OffbeatError, WrongState
from engine.core.identity import schedule_id
from engine.core.labels import ScheduleFilter
from engine.core.lifecycle import Event, next_state
from engine.core.model import (
    Attempt,
    AtTrigger,
    Draft,
    Pause,
    Run,
    RunTrigger,
    Schedule,
    State,
    Target,
)
from engine.core.owed import last_owed_ms
from engine.core.revision import NOTHING, Condition, check_revision
from tests.web.api_client import Api

NOW_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
NEWER = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.ms = NOW_MS

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms


class MemorySchedules:
    """What services/schedules.py promises, without a journal."""

    def __init__(self, clock: HandClock, runs: "MemoryRuns") -> None:
        self.by_name: dict[str, Schedule] = {}
        self.refusal: Exception | None = None
        self._clock = clock
        self._runs = runs

    async def put(
        self, draft: Draft, *, if_match: Condition = None, record: None = None
    ) -> tuple[Schedule, bool]:
        if self.refusal is not None:
            raise self.refusal
        name, now_ms = draft.definition.name, self._clock.ms
        old = self.by_name.get(name)
        check_revision(if_match, old.revision if old else NOTHING)
        trigger = draft.definition.trigger
        if old is None and isinstance(trigger, AtTrigger) and trigger.at_ms < now_ms - 10_000:
            raise Invalid(Fault("/at", "write an instant to come"))
        pause = draft.pause if draft.paused else None
        if draft.paused is None and old is not None:
            pause = old.pause
        if old is not None and (old.definition, old.pause) == (draft.definition, pause):
            return old, False
        schedule = Schedule(
            definition=draft.definition,
            pause=pause,
            counted_after_ms=old.counted_after_ms if old else now_ms,
            owed_after_ms=now_ms,
            last_owed_ms=last_owed_ms(draft.definition, old.counted_after_ms if old else now_ms),
            revision=old.revision + 1 if old else 1,
            created_at_ms=old.created_at_ms if old else now_ms,
            updated_at_ms=now_ms,
        )
        self.by_name[name] = schedule
        return schedule, old is None

    async def put_many(
        self, drafts: Sequence[Draft], *, dry_run: bool = False
    ) -> Sequence[tuple[Schedule, bool] | OffbeatError]:
        results: list[tuple[Schedule, bool] | OffbeatError] = []
        stored = dict(self.by_name)
        for draft in drafts:
            try:
                results.append(await self.put(draft))
            except Invalid as error:
                results.append(error)
        if dry_run:
            self.by_name = stored
        return results

    async def update(
        self, name: str, change: Callable[[Schedule], Draft], *, if_match: Condition = None
    ) -> Schedule:
        schedule, _ = await self.put(change(await self.get(name)), if_match=if_match)
        return schedule

    async def get(self, name: str) -> Schedule:
        if name not in self.by_name:
            raise NotFound("there is no such schedule")
        return self.by_name[name]

    async def page(
        self, which: ScheduleFilter, *, limit: int, after_name: str | None
    ) -> tuple[Sequence[Schedule], str | None]:
        names = sorted(name for name in self.by_name if name > (after_name or ""))
        page = [self.by_name[name] for name in names[:limit]]
        return page, names[limit - 1] if len(names) > limit else None

    async def delete(self, name: str, *, if_match: Condition = None) -> None:
        schedule = await self.get(name)
        check_revision(if_match, schedule.revision)
        del self.by_name[name]

    async def pause(self, name: str, pause: Pause, *, if_match: Condition = None) -> Schedule:
        draft = Draft(definition=(await self.get(name)).definition, paused=True, pause=pause)
        return (await self.put(draft, if_match=if_match))[0]

    async def resume(self, name: str, *, if_match: Condition = None) -> Schedule:
        draft = Draft(definition=(await self.get(name)).definition, paused=False)
        return (await self.put(draft, if_match=if_match))[0]

    async def trigger(self, name: str, *, if_match: Condition = None, record: None = None) -> Run:
        check_revision(if_match, (await self.get(name)).revision)
        run = planned(name, self._clock.ms + 1, trigger=RunTrigger.MANUAL)
        self._runs.rows.append((run, []))
        return run


class MemoryBackfills:
    """What services/backfill.py promises: three runs, whatever the span."""

    def __init__(self, schedules: MemorySchedules) -> None:
        self.asked: list[tuple[str, int, int, bool]] = []
        self._schedules = schedules

    async def run(
        self,
        name: str,
        *,
        from_ms: int,
        to_ms: int,
        dry_run: bool,
        if_match: Condition = None,
        record: None = None,
    ) -> Backfill:
        check_revision(if_match, (await self._schedules.get(name)).revision)
        self.asked.append((name, from_ms, to_ms, dry_run))
        return Backfill(
            count=3, first_ms=from_ms, last_ms=to_ms - 1_000, spread_until_ms=NOW_MS + 10_000
        )


@dataclass
class MemoryRuns:
    """What services/runs.py promises; the key of a page is (scheduled_for, schedule_id)."""

    rows: list[tuple[Run, Sequence[Attempt]]] = field(default_factory=list)
    refusal: NotFound = field(default_factory=lambda: NotFound("there is no such run"))

    async def get(self, schedule_id: str, scheduled_for_ms: int) -> tuple[Run, Sequence[Attempt]]:
        for run, attempts in self.rows:
            if (run.schedule_id, run.scheduled_for_ms) == (schedule_id, scheduled_for_ms):
                return run, attempts
        raise self.refusal

    async def target(self, schedule_id: str, scheduled_for_ms: int) -> Target:
        await self.get(schedule_id, scheduled_for_ms)
        return Target(url="http://h/then", method="PUT", body=b"{}", body_kind="json")

    async def page(
        self,
        *,
        schedule: str | None,
        state: State | None,
        from_ms: int | None,
        to_ms: int | None,
        limit: int,
        after: tuple[int, str] | None,
    ) -> tuple[Sequence[Run], tuple[int, str] | None]:
        found = sorted(
            ((run.scheduled_for_ms, run.schedule_id), run)
            for run, _ in self.rows
            if schedule in (None, run.schedule_id)
            and state in (None, run.state)
            and (from_ms is None or from_ms <= run.scheduled_for_ms)
            and (to_ms is None or run.scheduled_for_ms < to_ms)
            and (after is None or (run.scheduled_for_ms, run.schedule_id) < after)
        )[::-1]
        page = [run for _, run in found[:limit]]
        return page, found[limit - 1][0] if len(found) > limit else None

    async def cancel(self, schedule_id: str, scheduled_for_ms: int, *, record: None = None) -> Run:
        return await self._move(schedule_id, scheduled_for_ms, Event.CANCEL)

    async def replay(self, schedule_id: str, scheduled_for_ms: int, *, record: None = None) -> Run:
        return await self._move(schedule_id, scheduled_for_ms, Event.REPLAY)

    async def _move(self, schedule_id: str, scheduled_for_ms: int, event: Event) -> Run:
        run, _ = await self.get(schedule_id, scheduled_for_ms)
        state = next_state(run.state, event)
        if state is None:
            raise WrongState(f"run_{run.state}", f"the run is {run.state}")
        # What is attempting is cancelled when its attempt ends.
        return run if run.state is State.ATTEMPTING else replace(run, state=state)


class MemorySecrets:
    """What services/signing_secrets.py promises: one secret, or two."""

    def __init__(self) -> None:
        self.active = [SECRET]

    async def rotate(self) -> None:
        if len(self.active) == 2:
            raise Conflict("retire the older one, then rotate")
        self.active = [NEWER, SECRET]

    async def retire(self) -> None:
        if len(self.active) == 1:
            raise Conflict("rotate first")
        self.active = [NEWER]


class NoKeys:
    """An engine that only its own machine can reach."""

    required = False


class MemoryTenants:
    """The one tenant of an engine without keys."""

    def __init__(self, schedules: MemorySchedules) -> None:
        self._schedules = schedules

    async def get(self, name: str) -> Tenant:
        return Tenant(name=name, schedules=len(self._schedules.by_name))


class MemoryEngine:
    """`ports.EngineFace` in memory, and its one tenant's `ports.TenantFace`."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.runs = MemoryRuns()
        self.schedules = MemorySchedules(self.clock, self.runs)
        self.backfills = MemoryBackfills(self.schedules)
        self.tenant = "default"
        self.subsecond = True
        self.secrets = MemorySecrets()
        self.registry = CollectorRegistry()
        self.listen = "127.0.0.1:8420"
        self.reasons: dict[str, str | None] = {"clock": None, "disk": None}
        self.keys = NoKeys()
        self.tenants = MemoryTenants(self.schedules)
        self.about = about(Config(), sqlite="3.53.0")

    def of(self, tenant: str) -> "MemoryEngine":
        assert tenant == self.tenant, "there is one"
        return self

    def end_streams(self) -> None:
        """There are none."""

    def checks(self) -> Mapping[str, str | None]:
        return self.reasons


def planned(name: str, scheduled_for_ms: int, **changes: Any) -> Run:
    """A run that waits for its instant."""
    run = Run(
        schedule_id=schedule_id("default", name),
        schedule_name=name,
        scheduled_for_ms=scheduled_for_ms,
        fire_after_ms=scheduled_for_ms,
        next_attempt_at_ms=scheduled_for_ms,
        state=State.PLANNED,
        reason=None,
        trigger=RunTrigger.SCHEDULE,
        attempt_count=0,
        first_attempt_at_ms=None,
        ended_at_ms=None,
    )
    return replace(run, **changes)


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture
def api(engine: MemoryEngine) -> Iterator[Api]:
    with asyncio.Runner() as runner:
        api = Api(engine, runner)
        yield api
        api.close()
