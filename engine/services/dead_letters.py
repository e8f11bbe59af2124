"""Dead letters: the failed runs of a tenant, replayed or deleted many at a time.

What a call does it does in parts, so that claims and outcomes of everybody wait for a part and not
for the call. A call that was cut short has done its oldest runs; the same call again does the rest,
since what was replayed or deleted has not failed any more. Temporal and BullMQ hand such work to a
job that is asked about later; here a call has a bound, and its answer is the result.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.clock import Clock
from engine.core.errors import Conflict, Fault, Invalid
from engine.core.failures import Cause, Failures
from engine.core.missed import spread_ms
from engine.core.once import Record
from engine.core.replay import DeadLetter, Selection, replay_due_ms
from engine.store import DueRun, RunKey

RUNS_MAX = 100_000
"""Failed runs that one call takes, as many as a backfill: some ten seconds on a busy machine."""

RUNS_AT_ONCE = 250
"""Runs changed in one transaction: replayed in 3 ms, deleted in 10, so claims and outcomes wait no
longer; and the loop computes the due times of a part in 1 ms."""

RUNS_GROUPED_MAX = 100_000
"""Failed runs of a tenant that are grouped, the newest ones: some 0.7 s beside the loop."""

_BEGINNING: RunKey = (-(2**62), 0)
"""Before any run."""

_END: RunKey = (2**62, 0)
"""Behind any run."""


class DeadLetterStore(Protocol):
    """Failed runs on disk. A write is durable, and passes over what has not failed any more."""

    async def find(self, which: Selection, after: RunKey) -> tuple[list[DeadLetter], RunKey | None]:
        """Those among some runs behind `after`, oldest first, and after which to go on.

        Raises `NotFound` for a schedule that is not there.
        """
        ...

    async def count(
        self, tenant: str, before: RunKey, groups: dict[Cause, Failures]
    ) -> tuple[int, RunKey | None]:
        """Count a page of those before `before`, newest first, into groups.

        How many they were, and before which to go on.
        """
        ...

    async def replay(self, runs: Sequence[tuple[int, int, int]]) -> list[DueRun]:
        """Make runs, (scheduled_for, schedule row, due), due again; those that were."""
        ...

    async def delete(self, letters: Sequence[DeadLetter], now_ms: int) -> list[DeadLetter]:
        """Turn runs into counted ranges; those that were."""
        ...

    async def keep(self, record: Record["Settled"], settled: "Settled") -> None:
        """Keep the answer to what was done."""
        ...


class Held(Protocol):
    """Where runs that are due anew are offered."""

    def offer(self, runs: Iterable[DueRun]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """Failed runs in groups, in no order; not `complete`: only the newest were counted."""

    groups: Collection[Failures]
    runs: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What was done, or would be; `first` and `last` by `scheduled_for`, None for nothing.

    `passed_over`: failed runs that are meant and cannot be sent again, since their deadline has
    passed or their schedule is deleted. The last replay becomes due before `spread_until`.
    """

    count: int = 0
    passed_over: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    spread_until_ms: int | None = None


class DeadLetters:
    """One tenant's failed runs. One call at a time: a second one would spread into the first.

    A record is kept behind the last of many transactions: until then, the same call again does the
    rest.
    """

    def __init__(
        self, clock: Clock, store: DeadLetterStore, held: Held, *, tenant: str, rate: int
    ) -> None:
        """`rate`: of the token bucket, of which replays are given half."""
        self._clock = clock
        self._store = store
        self._held = held
        self._tenant = tenant
        self._rate = rate
        self._busy = asyncio.Lock()
        self._counting = asyncio.Lock()

    async def grouped(self) -> Grouped:
        """All of them, by target and error. One at a time: others wait, and count what is new."""
        groups: dict[Cause, Failures] = {}
        runs = 0
        async with self._counting:
            end: RunKey | None = _END
            while end is not None and runs < RUNS_GROUPED_MAX:
                counted, end = await self._store.count(self._tenant, end, groups)
                runs += counted
        return Grouped(groups=groups.values(), runs=runs, complete=end is None)

    async def replay(
        self, which: Selection, *, dry_run: bool, record: Record[Settled] | None = None
    ) -> Settled:
        """Send them again, spread. Raises `NotFound`, `Invalid` for too many, `Conflict`."""
        async with self._alone():
            now_ms = self._clock.now_ms()
            found, letters = await self._find(which, lambda letter: letter.is_replayable(now_ms))
            done = _settled(letters) if dry_run else await self._replay(letters, now_ms)
            until_ms = now_ms + spread_ms(len(letters), self._rate) if done.count else None
            passed_over = found - len(letters)
            done = replace(done, passed_over=passed_over, spread_until_ms=until_ms)
            return await self._kept(done, record)

    async def delete(
        self, which: Selection, *, dry_run: bool, record: Record[Settled] | None = None
    ) -> Settled:
        """Delete them and their attempts. Raises `NotFound`, `Invalid` for too many, `Conflict`."""
        async with self._alone():
            _, letters = await self._find(which, lambda _: True)
            done = _settled(letters) if dry_run else await self._delete(letters)
            return await self._kept(done, record)

    def _alone(self) -> asyncio.Lock:
        if self._busy.locked():
            raise Conflict("failed runs are being replayed or deleted already: ask again then")
        return self._busy

    async def _find(
        self, which: Selection, fits: Callable[[DeadLetter], bool]
    ) -> tuple[int, list[DeadLetter]]:
        """How many are meant, and those of them that fit, oldest first."""
        assert which.tenant == self._tenant, "a selection of another tenant's"
        count, fitting = 0, list[DeadLetter]()
        after: RunKey | None = _BEGINNING
        while after is not None:
            page, after = await self._store.find(which, after)
            count += len(page)
            fitting += filter(fits, page)  # A page at a time: the loop has no time for all of them.
            if count > RUNS_MAX:
                raise Invalid(Fault("/to", _TOO_MANY.format(limit=RUNS_MAX)))
        return count, fitting

    async def _kept(self, done: Settled, record: Record[Settled] | None) -> Settled:
        if record is not None:
            await self._store.keep(record, done)
        return done

    async def _replay(self, letters: Sequence[DeadLetter], now_ms: int) -> Settled:
        replayed: list[DeadLetter] = []
        for start in range(0, len(letters), RUNS_AT_ONCE):
            part = letters[start : start + RUNS_AT_ONCE]
            due = [
                replay_due_ms(letter, place, len(letters), now_ms=now_ms, rate=self._rate)
                for place, letter in enumerate(part, start)
            ]
            done = await self._store.replay(
                [(*letter[:2], at) for letter, at in zip(part, due, strict=True)]
            )
            self._held.offer(done)
            keys = {run[1:] for run in done}
            replayed += [letter for letter in part if letter[:2] in keys]
        return _settled(replayed)

    async def _delete(self, letters: Sequence[DeadLetter]) -> Settled:
        deleted: list[DeadLetter] = []
        for start in range(0, len(letters), RUNS_AT_ONCE):
            part = letters[start : start + RUNS_AT_ONCE]
            deleted += await self._store.delete(part, self._clock.now_ms())
        return _settled(deleted)


def _settled(letters: Sequence[DeadLetter]) -> Settled:
    if not letters:
        return Settled()
    first, last = letters[0], letters[-1]
    return Settled(
        count=len(letters), first_ms=first.scheduled_for_ms, last_ms=last.scheduled_for_ms
    )


_TOO_MANY = (
    "more than {limit:,} failed runs are meant and one call takes that many: write an earlier"
    " end, and ask for the rest afterwards"
)
