"""Whose turn it is to hold one of a few places, where those who hold one may not let go of it.

Theory. A fixed share for each tenant wastes places while the others are quiet, and none at all lets
one tenant have them all. Dynamic thresholds (Choudhury & Hahne 1998, for the cells of a switch that
share one memory) need no list of who takes part: a tenant may hold as many places as are free. One
alone comes to half of them, the next to a quarter; whoever holds nothing finds a place as long as
there is one, and seven tenants that let go of nothing are needed to fill 64. Of those that may, the
one that holds least goes first.

Pure: no clock, no thread. `engine/services/names.py` gives it threads that look names up.
"""

from collections import Counter


class Turns:
    """`places` of them, and who waits for one with what, in order."""

    __slots__ = ("_free", "_held", "_lines")

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: Counter[str] = Counter()
        self._lines: dict[str, dict[str, None]] = {}

    def wait(self, tenant: str, name: str) -> None:
        """`tenant` wants a place for `name`; it stands in line once for each name."""
        self._lines.setdefault(tenant, {})[name] = None

    def leave(self, tenant: str, name: str) -> None:
        """It does not want it any more, and has not had it."""
        line = self._lines[tenant]
        del line[name]
        if not line:
            del self._lines[tenant]

    def take(self) -> tuple[str, str] | None:
        """Give the next place; whose it is and for what. None: nobody waits who may have one."""
        if not self._lines:
            return None
        tenant = min(self._lines, key=self._held.__getitem__)
        if self._held[tenant] >= self._free:
            return None
        name = next(iter(self._lines[tenant]))
        self.leave(tenant, name)
        self._free -= 1
        self._held[tenant] += 1
        return tenant, name

    def give_back(self, tenant: str) -> None:
        """A place that `tenant` held."""
        self._free += 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
