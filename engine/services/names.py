"""Names of receivers into addresses: each asked for once, and no tenant in another's way.

Theory. A name server that never answers holds a lookup for 10 s and more (resolv.conf's `timeout`
times `attempts`, for each server and search domain), and no deadline of an attempt ends it, since
a thread in `getaddrinfo` cannot be interrupted. Anybody can have such a server, and a new name for
it each second. So what must be shared fairly are lookups, before there is a connection to share:
`core/turns.py` says who may begin one, and an attempt waits for its turn inside its own deadline.
However many attempts and tenants want a name, one lookup of it is under way.

What was found is kept for 10 s. That nothing was found is kept as long as it took to learn, at most
10 s: a name that hangs then has a thread for half of the time or little more, and one that was
refused within a millisecond is asked for again at once, as when somebody has just entered it.

Trade-off. An asynchronous resolver (c-ares) would need no thread for a lookup, but it reads neither
nsswitch.conf nor what systems without one use, so that a name in a company's directory, which every
other program finds, would be unknown to deliveries. And it would be one more library to keep.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from engine.core.turns import Turns

NAMES_CACHED = 1_000
NAMES_KEPT_SECONDS = 10
"""Resolved names: a herd asks once, a receiver that moves is found soon."""

LOOKUPS_MAX = 64
"""Names looked up at once. A tenant alone has 32: at 50 ms each, 640 new names a second. Each is a
thread, of which some 50 KiB are in memory while it waits."""

ADDRESSES_TRIED_MAX = 16
"""Of a name's addresses. Each that fails is tried again with those that follow, so that a name with
1,000 addresses, which anybody can have, would be a flood of 500,000 connections at them."""

ASKING: ContextVar[str] = ContextVar("asking", default="")
"""The tenant for whom a task connects: between it and a lookup stands a library's connector."""

Lookup = Callable[[str], Awaitable[list[str]]]
"""A name's addresses as numbers, best first, with `%` and a zone where they have one.

Raises OSError, or ValueError for what is no name."""

_Answer = list[str] | Exception
_Waiters = set[asyncio.Future[_Answer]]


class Names:
    """Answers for names; `look_up` is asked for what is not known."""

    def __init__(self, look_up: Lookup) -> None:
        """Needs the running loop."""
        self._look_up = look_up
        self._loop = asyncio.get_running_loop()
        self._turns = Turns(LOOKUPS_MAX)
        self._kept: OrderedDict[str, tuple[_Answer, float]] = OrderedDict()
        self._waiting: dict[str, dict[str, _Waiters]] = {}  # By name, then tenant.
        self._asked: dict[str, _Waiters] = {}
        self._lookups: set[asyncio.Task[None]] = set()

    async def resolve(self, name: str) -> list[str]:
        """A name's addresses, each time another one first. Raises what `Lookup` does."""
        answer = self._recall(name)
        if answer is None:
            answer = await self._ask(ASKING.get(), name)
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)
        found = answer.copy()
        answer.append(answer.pop(0))
        return found

    def close(self) -> None:
        """Wait for no lookup; who still waits is told so."""
        for lookup in self._lookups:
            lookup.cancel()
        lines = [line for by_tenant in self._waiting.values() for line in by_tenant.values()]
        for waiters in (*self._asked.values(), *lines):
            _tell(waiters, OSError("the engine stops"))

    def _recall(self, name: str) -> _Answer | None:
        answer, until_s = self._kept.get(name, (None, 0.0))
        return answer if self._loop.time() < until_s else None

    async def _ask(self, tenant: str, name: str) -> _Answer:
        waiter: asyncio.Future[_Answer] = self._loop.create_future()
        waiters = self._asked.get(name)
        if waiters is None:
            waiters = self._waiting.setdefault(name, {}).setdefault(tenant, set())
            self._turns.wait(tenant, name)
        waiters.add(waiter)
        self._begin()
        try:
            return await waiter
        finally:
            waiters.discard(waiter)
            if not waiters:
                self._forget(tenant, name, waiters)

    def _forget(self, tenant: str, name: str, waiters: _Waiters) -> None:
        """Nobody waits for this turn any more, unless it has come."""
        by_tenant = self._waiting.get(name, {})
        if by_tenant.get(tenant) is waiters:
            self._turns.leave(tenant, name)
            del by_tenant[tenant]
            if not by_tenant:
                del self._waiting[name]

    def _begin(self) -> None:
        """Begin every lookup that may begin, each for all who wait for its name."""
        while (turn := self._turns.take()) is not None:
            tenant, name = turn
            by_tenant = self._waiting.pop(name)
            waiters = self._asked[name] = by_tenant.pop(tenant)
            for other, also in by_tenant.items():
                self._turns.leave(other, name)
                waiters |= also
            lookup = self._loop.create_task(self._learn(tenant, name))
            self._lookups.add(lookup)
            lookup.add_done_callback(self._lookups.discard)

    async def _learn(self, tenant: str, name: str) -> None:
        began_s = self._loop.time()
        answer: _Answer
        try:
            answer = (await self._look_up(name))[:ADDRESSES_TRIED_MAX]
        except Exception as error:  # Whatever it is, it belongs to those who asked.
            answer = error
        self._keep(name, answer, began_s)
        _tell(self._asked.pop(name), answer)
        self._turns.give_back(tenant)
        self._begin()

    def _keep(self, name: str, answer: _Answer, began_s: float) -> None:
        now_s = self._loop.time()
        took_s = now_s - began_s if isinstance(answer, Exception) else NAMES_KEPT_SECONDS
        self._kept[name] = (answer, now_s + min(took_s, NAMES_KEPT_SECONDS))
        self._kept.move_to_end(name)
        if len(self._kept) > NAMES_CACHED:
            self._kept.popitem(last=False)


def _tell(waiters: _Waiters, answer: _Answer) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(answer)
