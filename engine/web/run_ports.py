"""What the web layer needs of the journal of runs."""

from collections.abc import Sequence
from typing import Protocol

from engine.core.model import Attempt, Run, State, Target
from engine.core.once import Record
from engine.core.replay import Selection
from engine.services.dead_letters import Grouped, Settled


class Runs(Protocol):
    """The journal of runs."""

    async def get(
        self, schedule_id: str, scheduled_for_ms: int
    ) -> tuple[Run, Sequence[Attempt]]: ...

    async def target(self, schedule_id: str, scheduled_for_ms: int) -> Target:
        """What each attempt of it sends."""
        ...

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
        """Newest `scheduled_for` first; and the key to go on after, None at the end.

        `schedule` is an id; `from_ms` is included and `to_ms` is not, judged on `scheduled_for`.
        """
        ...

    async def cancel(
        self, schedule_id: str, scheduled_for_ms: int, *, record: Record[Run] | None = None
    ) -> Run:
        """At once, or when its attempt ends: then it is still attempting. WrongState at its end."""
        ...

    async def replay(
        self, schedule_id: str, scheduled_for_ms: int, *, record: Record[Run] | None = None
    ) -> Run:
        """WrongState unless it has succeeded or failed, and may be sent again."""
        ...


class DeadLetters(Protocol):
    """Failed runs, many at once. A change: Conflict while an earlier one is under way."""

    async def grouped(self) -> Grouped: ...

    async def replay(
        self, which: Selection, *, dry_run: bool, record: Record[Settled] | None = None
    ) -> Settled: ...

    async def delete(
        self, which: Selection, *, dry_run: bool, record: Record[Settled] | None = None
    ) -> Settled: ...
