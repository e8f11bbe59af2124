"""How many connections there may be: in all, from one address, and a few more for health checks.

A server without a bound is one that anybody can fill; one with a bound alone tells its supervisor
that it is dead as soon as somebody does. So a connection beyond the bound is still accepted, on
the *reserve*: it gets one answer, about the engine's health, and refusals for all else
(`connection.keep_reserve`). Of a full reserve the oldest has to go. A health check is answered
within milliseconds of connecting; whoever holds a connection open is pushed out by the next.
"""

from collections import Counter
from typing import Protocol

CONNECTIONS_MAX = 400
"""Connections in all: with 512 deliveries under way and the files of the journal they stay below
the 1,024 descriptors that a process has by default."""

CONNECTIONS_PER_ADDRESS_MAX = 300
"""Connections from one address: a proxy is one, and so is a machine with many clients."""

RESERVE = 16
"""Connections beyond those, for health checks alone: more supervisors than anybody has, asking at
the same moment."""


class Abortable(Protocol):
    """A connection that can be given up at once."""

    def abort(self) -> None: ...


class Places:
    """The connections of one server."""

    __slots__ = ("_addresses", "_held", "_reserved")

    def __init__(self) -> None:
        self._held: dict[Abortable, str] = {}
        self._addresses: Counter[str] = Counter()
        self._reserved: dict[Abortable, None] = {}

    def enter(self, connection: Abortable, address: str) -> bool:
        """Take a connection in; False: on the reserve."""
        if (
            len(self._held) < CONNECTIONS_MAX
            and self._addresses[address] < CONNECTIONS_PER_ADDRESS_MAX
        ):
            self._held[connection] = address
            self._addresses[address] += 1
            return True
        if len(self._reserved) >= RESERVE:
            oldest = next(iter(self._reserved))
            del self._reserved[oldest]
            oldest.abort()
        self._reserved[connection] = None
        return False

    def leave(self, connection: Abortable) -> None:
        """A connection is closed."""
        self._reserved.pop(connection, None)
        address = self._held.pop(connection, None)
        if address is not None:
            self._addresses[address] -= 1
            self._addresses += Counter()  # Without those that nobody is left of.
