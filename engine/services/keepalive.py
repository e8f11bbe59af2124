"""Connections that rest between two requests: which to take again, and which to let go.

A pool of values: it opens and closes nothing, and the time is an argument. What it hands back the
caller closes. The connection that rested last is taken first: it is the least likely to have been
dropped by the other end, and the surplus of a burst grows old and leaves instead of being kept
alive by turns.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Connection = TypeVar("Connection", bound=Hashable)


class Resting(Generic[Connection]):
    """Idle connections by origin, and over all origins by age."""

    __slots__ = ("_by_age", "_by_origin", "_limit_seconds")

    def __init__(self, *, limit_seconds: float) -> None:
        """`limit_seconds`: how long a connection may rest and still be taken."""
        self._limit_seconds = limit_seconds
        self._by_origin: dict[str, deque[Connection]] = {}
        self._by_age: OrderedDict[Connection, tuple[str, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_age)

    def put(self, origin: str, connection: Connection, now: float) -> None:
        """`connection` rests from `now` (seconds, any monotonic clock)."""
        self._by_age[connection] = (origin, now)
        stack = self._by_origin.get(origin)
        if stack is None:
            stack = self._by_origin[origin] = deque()
        stack.append(connection)

    def take(self, origin: str, now: float) -> Connection | None:
        """The one that rested last at `origin`, unless even that has rested too long."""
        stack = self._by_origin.get(origin)
        if stack is None or self._by_age[stack[-1]][1] < now - self._limit_seconds:
            return None
        connection = stack.pop()
        if not stack:
            del self._by_origin[origin]
        del self._by_age[connection]
        return connection

    def pop_oldest(self) -> Connection:
        """Forget the one that has rested longest; there must be one."""
        connection, (origin, _) = self._by_age.popitem(last=False)
        stack = self._by_origin[origin]
        assert stack.popleft() is connection, "the oldest of all is the oldest of its origin"
        if not stack:
            del self._by_origin[origin]
        return connection

    def pop_expired(self, now: float) -> list[Connection]:
        """Forget all that have rested too long, oldest first."""
        expired = []
        while self._by_age and next(iter(self._by_age.values()))[1] < now - self._limit_seconds:
            expired.append(self.pop_oldest())
        return expired
