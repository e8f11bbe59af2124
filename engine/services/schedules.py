"""Schedules as a tenant works with them: each write goes to disk, then the loops learn of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from engine.clock import Clock
from engine.core.access import INTERVAL_SECONDS_MIN
from engine.core.document import read_schedule
from engine.core.egress import Refusal, literal_of
from engine.core.errors import Fault, Invalid, OffbeatError
from engine.core.labels import ScheduleFilter
from engine.core.model import CronTrigger, Draft, Pause, Run, Schedule
from engine.core.notice import identify
from engine.core.once import Record
from engine.core.revision import Condition
from engine.core.timetable import interval_seconds
from engine.services.credentials import Credentials
from engine.services.figures import Figures
from engine.store import DueRun, KnownTimetable, Stored


class ScheduleStore(Protocol):
    """Schedules by their text id. Raises the errors of `core.errors`; a write is durable."""

    async def put(
        self,
        draft: Draft,
        now_ms: int,
        *,
        if_match: Condition,
        record: Record[Schedule] | None,
    ) -> Stored: ...

    async def put_many(
        self, drafts: Sequence[Draft], now_ms: int, *, dry_run: bool
    ) -> list[Stored | OffbeatError]: ...

    async def update(
        self,
        schedule_id: str,
        change: Callable[[Schedule], Draft],
        now_ms: int,
        *,
        if_match: Condition,
    ) -> Stored: ...

    async def get(self, schedule_id: str) -> Schedule: ...

    async def page(
        self, tenant: str, which: ScheduleFilter, *, limit: int, after_name: str
    ) -> tuple[list[Schedule], str | None]: ...

    async def delete(self, schedule_id: str, now_ms: int, *, if_match: Condition) -> int:
        """How many runs were cancelled with it."""
        ...

    async def pause(
        self, schedule_id: str, pause: Pause, now_ms: int, *, if_match: Condition
    ) -> Stored: ...

    async def resume(self, schedule_id: str, now_ms: int, *, if_match: Condition) -> Stored: ...

    async def trigger(
        self,
        schedule_id: str,
        now_ms: int,
        *,
        if_match: Condition,
        record: Record[Run] | None,
    ) -> tuple[Run, DueRun]: ...


class Agenda(Protocol):
    """Where new timetables are made known."""

    def know(self, timetables: Iterable[KnownTimetable]) -> None: ...


class Held(Protocol):
    """Where runs that are due anew are offered."""

    def offer(self, runs: Iterable[DueRun]) -> None: ...


class Schedules:
    """One tenant's schedules. Errors are those of `core.errors`; what returns is durable."""

    def __init__(
        self,
        clock: Clock,
        store: ScheduleStore,
        agenda: Agenda,
        held: Held,
        figures: Figures,
        *,
        tenant: str,
        subsecond: bool,
        interval_seconds_min: Callable[[str], int],
        egress: Refusal,
        credentials: Credentials,
    ) -> None:
        """`subsecond`: the setting `jitter.subsecond`; `interval_seconds_min`: the least interval
        that a tenant's schedules may have; `egress`: judges the address of a target that has one
        for a host; `credentials`: seals its headers."""
        self._clock = clock
        self._store = store
        self._agenda = agenda
        self._held = held
        self._figures = figures
        self._tenant = tenant
        self._subsecond = subsecond
        self._interval_seconds_min = interval_seconds_min
        self._egress = egress
        self._credentials = credentials

    async def put(
        self,
        draft: Draft | Mapping[str, Any],
        *,
        if_match: Condition = None,
        record: Record[Schedule] | None = None,
    ) -> tuple[Schedule, bool]:
        """Create or replace; the schedule, and whether it was created.

        A mapping is a document as `PUT /v1/schedules/NAME` takes it, with its `name`, and is this
        program's own: its target may be `inproc:NAME`.
        """
        if not isinstance(draft, Draft):
            draft = read_schedule(
                draft, tenant=self._tenant, subsecond=self._subsecond, inproc=True
            )
        self._check(draft)
        stored = await self._store.put(
            self._sealed(draft), self._clock.now_ms(), if_match=if_match, record=record
        )
        return self._learn(stored)

    async def put_many(
        self, drafts: Sequence[Draft], *, dry_run: bool = False
    ) -> list[tuple[Schedule, bool] | OffbeatError]:
        """Create or replace each in one commit; in the place of one that is refused, why.

        A dry run says what would come of it, and nothing does.
        """
        refusals = [self._refusal(draft) for draft in drafts]
        pairs = zip(drafts, refusals, strict=True)
        rest = [self._sealed(draft) for draft, refusal in pairs if not refusal]
        now_ms = self._clock.now_ms()
        stored = iter(await self._store.put_many(rest, now_ms, dry_run=dry_run))
        results = [refusal or next(stored) for refusal in refusals]
        if dry_run:
            return [r if isinstance(r, OffbeatError) else (r.schedule, r.created) for r in results]
        return [r if isinstance(r, OffbeatError) else self._learn(r) for r in results]

    async def update(
        self, name: str, change: Callable[[Schedule], Draft], *, if_match: Condition = None
    ) -> Schedule:
        """Read, change and store in one transaction."""

        def checked(schedule: Schedule) -> Draft:
            draft = change(schedule)
            self._check(draft)
            return self._sealed(draft)

        stored = await self._store.update(
            self._identify(name), checked, self._clock.now_ms(), if_match=if_match
        )
        return self._learn(stored)[0]

    async def get(self, name: str) -> Schedule:
        """The schedule. Raises `NotFound`."""
        return await self._store.get(self._identify(name))

    async def page(
        self, which: ScheduleFilter, *, limit: int, after_name: str | None
    ) -> tuple[list[Schedule], str | None]:
        """Up to `limit` schedules by name, and the name after which to go on; None at the end."""
        return await self._store.page(self._tenant, which, limit=limit, after_name=after_name or "")

    async def delete(self, name: str, *, if_match: Condition = None) -> None:
        """Delete, and cancel what waits."""
        self._figures.cancel(
            await self._store.delete(self._identify(name), self._clock.now_ms(), if_match=if_match)
        )

    async def pause(self, name: str, pause: Pause, *, if_match: Condition = None) -> Schedule:
        """Pause, or renew a pause's reason and end."""
        stored = await self._store.pause(
            self._identify(name), pause, self._clock.now_ms(), if_match=if_match
        )
        return self._learn(stored)[0]

    async def resume(self, name: str, *, if_match: Condition = None) -> Schedule:
        """End a pause; nothing that fell into it is run."""
        stored = await self._store.resume(
            self._identify(name), self._clock.now_ms(), if_match=if_match
        )
        return self._learn(stored)[0]

    async def trigger(
        self, name: str, *, if_match: Condition = None, record: Record[Run] | None = None
    ) -> Run:
        """Run once, now."""
        run, due = await self._store.trigger(
            self._identify(name), self._clock.now_ms(), if_match=if_match, record=record
        )
        self._held.offer((due,))
        return run

    def _check(self, draft: Draft) -> None:
        if refusal := self._refusal(draft):
            raise refusal

    def _refusal(self, draft: Draft) -> Invalid | None:
        """Why the tenant may not have this schedule."""
        faults = [
            *self._interval_faults(draft),
            *self._address_faults(draft),
            *self._credentials.faults(draft.definition.target),
        ]
        return Invalid(*faults) if faults else None

    def _interval_faults(self, draft: Draft) -> Iterator[Fault]:
        least = self._interval_seconds_min(self._tenant)
        if least <= INTERVAL_SECONDS_MIN:
            return
        trigger = draft.definition.trigger
        interval = interval_seconds(trigger)
        if interval is None or interval >= least:
            return
        member = "/cron" if isinstance(trigger, CronTrigger) else "/every"
        yield Fault(
            member,
            f"occurs every {interval} s; this tenant's interval_seconds_min is {least}: "
            "write what occurs less often",
        )

    def _address_faults(self, draft: Draft) -> Iterator[Fault]:
        # A name is judged when it is called: what it stands for then is all that counts.
        literal = literal_of(draft.definition.target.url)
        if literal is not None and (refusal := self._egress(*literal)):
            yield Fault("/target/url", refusal)

    def _sealed(self, draft: Draft) -> Draft:
        target = draft.definition.target
        sealed = self._credentials.seal(self._tenant, target)
        if sealed is target:
            return draft
        return replace(draft, definition=replace(draft.definition, target=sealed))

    def _identify(self, name: str) -> str:
        """A name's id. Only this tenant's ids can be made this way: another's are not to be had."""
        return identify(self._tenant, name)

    def _learn(self, stored: Stored) -> tuple[Schedule, bool]:
        if stored.timetable is not None:
            self._agenda.know((stored.timetable,))
        self._held.offer(stored.due)
        self._figures.cancel(stored.cancelled)
        return stored.schedule, stored.created
