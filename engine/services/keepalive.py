"""Connections that rest between two requests: which to take again, and which to let go.

A pool of values: it opens and closes nothing, and the time is an argument. What it hands back the
caller closes. The connection that rested last is taken first: it is the least likely to have been
dropped by the other end, and the surplus of a burst grows old and leaves instead of being kept
alive by turns.

A connection rests at a *place*, an origin and whose requests it has carried. Tenants share none: a
receiver answers what it was asked before, and what one tenant provoked would be the answer to
another's request.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Connection = TypeVar("Connection", bound=Hashable)
Place = tuple[str, str]
"""A tenant and an origin."""


class Resting(Generic[Connection]):
    """Idle connections by place, and over all places by age."""

    __slots__ = ("_by_age", "_by_place", "_limit_seconds")

    def __init__(self, *, limit_seconds: float) -> None:
        """`limit_seconds`: how long a connection may rest and still be taken."""
        self._limit_seconds = limit_seconds
        self._by_place: dict[Place, deque[Connection]] = {}
        self._by_age: OrderedDict[Connection, tuple[Place, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_age)

    def put(self, place: Place, connection: Connection, now: float) -> None:
        """`connection` rests from `now` (seconds, any monotonic clock)."""
        self._by_age[connection] = (place, now)
        stack = self._by_place.get(place)
        if stack is None:
            stack = self._by_place[place] = deque()
        stack.append(connection)

    def take(self, place: Place, now: float) -> Connection | None:
        """The one that rested last at `place`, unless even that has rested too long."""
        stack = self._by_place.get(place)
        if stack is None or self._by_age[stack[-1]][1] < now - self._limit_seconds:
            return None
        connection = stack.pop()
        if not stack:
            del self._by_place[place]
        del self._by_age[connection]
        return connection

    def pop_oldest(self) -> Connection:
        """Forget the one that has rested longest; there must be one."""
        connection, (place, _) = self._by_age.popitem(last=False)
        stack = self._by_place[place]
        assert stack.popleft() is connection, "the oldest of all is the oldest of its place"
        if not stack:
            del self._by_place[place]
        return connection

    def pop_expired(self, now: float) -> list[Connection]:
        """Forget all that have rested too long, oldest first."""
        expired = []
        while self._by_age and next(iter(self._by_age.values()))[1] < now - self._limit_seconds:
            expired.append(self.pop_oldest())
        return expired
