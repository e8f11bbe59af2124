"""What the web layer needs of a tenant's schedules, that of its notices among them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.core.backfill import Backfill
from engine.core.errors import OffbeatError
from engine.core.labels import ScheduleFilter
from engine.core.model import Draft, Pause, Run, Schedule
from engine.core.once import Record
from engine.core.revision import Condition


class Schedules(Protocol):
    """The tenant's schedules. What returns has been written to disk.

    `if_match` is what is asked of the current revision (`core.revision`), or PreconditionFailed is
    raised; likewise below. A name that does not exist is NotFound. `put` says whether the schedule
    was created.
    """

    async def put(
        self,
        draft: Draft,
        *,
        if_match: Condition = None,
        record: Record[Schedule] | None = None,
    ) -> tuple[Schedule, bool]: ...

    async def put_many(
        self, drafts: Sequence[Draft], *, dry_run: bool = False
    ) -> Sequence[tuple[Schedule, bool] | OffbeatError]:
        """As `put`, one answer each, in order and in one commit; a dry run stores nothing."""
        ...

    async def update(
        self, name: str, change: Callable[[Schedule], Draft], *, if_match: Condition = None
    ) -> Schedule:
        """Store what `change` makes of the current schedule; what it raises is raised here."""
        ...

    async def get(self, name: str) -> Schedule: ...

    async def page(
        self, which: ScheduleFilter, *, limit: int, after_name: str | None
    ) -> tuple[Sequence[Schedule], str | None]:
        """By name; and the name to go on after, None at the end. A page may be short of `limit`."""
        ...

    async def delete(self, name: str, *, if_match: Condition = None) -> None: ...

    async def pause(self, name: str, pause: Pause, *, if_match: Condition = None) -> Schedule: ...

    async def resume(self, name: str, *, if_match: Condition = None) -> Schedule: ...

    async def trigger(
        self, name: str, *, if_match: Condition = None, record: Record[Run] | None = None
    ) -> Run: ...


class Notices(Protocol):
    """Who is told of failures; NotFound when nobody is. `put` says whether nobody was."""

    async def put(self, draft: Draft, *, if_match: Condition = None) -> tuple[Schedule, bool]: ...

    async def get(self) -> Schedule: ...

    async def delete(self, *, if_match: Condition = None) -> None: ...


class Backfills(Protocol):
    """Runs for the past of the tenant's schedules."""

    async def run(
        self,
        name: str,
        *,
        from_ms: int,
        to_ms: int,
        dry_run: bool,
        if_match: Condition = None,
        record: Record[Backfill] | None = None,
    ) -> Backfill:
        """Plan what was due with `from <= scheduled_for < to` and has no run, unless dry.

        Conflict while the schedule is paused or downtime is being judged.
        """
        ...
