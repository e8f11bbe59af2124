"""One connection that reads, and the tenants that ask on it by turns.

A query holds the reader's thread, so whoever asks much would have everybody wait behind it. Each
tenant therefore stands in a line of its own; one query at a time goes to the thread, and the lines
take turns: a plain rotation, as the fair queue's (`core.fairness`). A question waits for one turn
of each other tenant that asks, however many questions that one has.

A rotation is as fair as its turns are short. No query looks at more than a page of rows: one that
may go through a million (`history.list_runs`, `audit`, `dead_letters`) comes back for each page,
and stands in line again. Interrupting a long query instead would throw its work away, and tell a
tenant with much history that it cannot be read.
"""

import asyncio
from collections import deque
from typing import Protocol, TypeVar

from engine.core.errors import Crowded
from engine.store.writer import Change, Reader

T = TypeVar("T")

READS_WAITING_MAX = 128
"""Questions of one tenant that wait for the reader: what it asks in a second by its key's rate, and
less than half of the connections, which all hold one at most."""


class Reads(Protocol):
    """Who answers queries."""

    async def read(self, query: Change[T]) -> T:
        """The result of `query`, run outside the event loop."""
        ...


class Turns:
    """A reader that tenants share."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._is_taken = False
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    def of(self, tenant: str) -> "TenantReads":
        """The reader as one tenant asks it."""
        return TenantReads(self, tenant)

    async def read(self, tenant: str, query: Change[T]) -> T:
        """The result of `query`, when it is the tenant's turn. Raises `Crowded`."""
        await self._stand_in_line(tenant)
        try:
            return await self._reader.read(query)
        finally:
            self._call_next()

    async def _stand_in_line(self, tenant: str) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        line = self._lines.setdefault(tenant, deque())
        if len(line) >= READS_WAITING_MAX:
            raise Crowded("reads_waiting_max", READS_WAITING_MAX, _TOO_MANY)
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # It was called, and nobody is there to take its turn.
                self._call_next()
            raise

    def _call_next(self) -> None:
        """Give the reader to the first of the next line, which then is the last one."""
        while self._lines:
            tenant = next(iter(self._lines))
            line = self._lines.pop(tenant)
            turn = line.popleft()
            if line:
                self._lines[tenant] = line
            if not turn.done():  # Else it went away.
                turn.set_result(None)
                return
        self._is_taken = False


class TenantReads:
    """`Reads` for one tenant."""

    __slots__ = ("_tenant", "_turns")

    def __init__(self, turns: Turns, tenant: str) -> None:
        self._turns = turns
        self._tenant = tenant

    async def read(self, query: Change[T]) -> T:
        """As `Turns.read`."""
        return await self._turns.read(self._tenant, query)


_TOO_MANY = (
    f"{READS_WAITING_MAX} reads of this tenant wait already: wait for their answers, and ask fewer "
    "at once"
)
