"""Who may hold how many of the runs in memory.

A flow may hold an equal part of the room and no more, so that one backlog cannot fill the room of
another. Among strangers that is not enough: a tenant may have hundreds of flows and let them wait.
There it may hold at most `FREE_TIMES` what it leaves free, as it may of slots (dynamic thresholds,
see `fairness`), so that fresh runs of others always find a place.
"""

from collections import Counter
from collections.abc import Collection

from engine.core.fairness import FREE_TIMES
from engine.core.flow import Flow

RUNS_HELD_MAX = 50_000
"""Runs in memory: some 20 MB, and seconds of work at any rate that one node has."""

FLOW_RUNS_MIN = 100
"""Runs that every flow may hold in memory, however many flows there are."""


class Room:
    """Counts the runs that are held, by flow and, among strangers, by tenant."""

    __slots__ = ("_capacity", "_held", "_of_flow", "_of_tenant", "_strangers")

    def __init__(self, capacity: int, *, strangers: bool) -> None:
        """`capacity`: runs in all; `strangers`: tenants may be hostile."""
        self._capacity = capacity
        self._strangers = strangers
        self._held = 0
        self._of_flow: dict[int, int] = {}
        self._of_tenant: Counter[str] = Counter()

    @property
    def free(self) -> int:
        """How many more runs may be held."""
        return max(0, self._capacity - self._held)

    @property
    def flows(self) -> Collection[int]:
        """The flows that hold any."""
        return self._of_flow.keys()

    @property
    def flow_share(self) -> int:
        """How many runs one flow may hold: an equal part, and a tenth is always left for others."""
        equal = self._capacity // max(1, len(self._of_flow))
        return max(FLOW_RUNS_MIN, min(equal, self._capacity * 9 // 10))

    def held_by(self, flow_id: int) -> int:
        """How many runs a flow holds."""
        return self._of_flow.get(flow_id, 0)

    def free_for(self, flow: Flow) -> int:
        """How many more runs a flow's tenant may hold: so many that a part of the rest stays free.

        Of x more it holds h + x, at most `FREE_TIMES` the r - x that are left.
        """
        if not self._strangers:
            return self.free
        held = self._of_tenant[flow.tenant]
        return max(0, (FREE_TIMES * self.free - held) // (FREE_TIMES + 1))

    def admits(self, flow: Flow, share: int) -> bool:
        """Whether one more run of a flow may be held; `share`: the `flow_share` to go by."""
        if self.held_by(flow.flow_id) >= share:
            return False
        return not self._strangers or self.free_for(flow) > 0

    def enter(self, flow: Flow) -> None:
        """A run of a flow is held."""
        self._held += 1
        self._of_flow[flow.flow_id] = self.held_by(flow.flow_id) + 1
        if self._strangers:
            self._of_tenant[flow.tenant] += 1

    def leave(self, flow: Flow) -> None:
        """A run of a flow is held no longer."""
        self._held -= 1
        if self._strangers:
            self._of_tenant[flow.tenant] -= 1
        left = self._of_flow[flow.flow_id] - 1
        if left:
            self._of_flow[flow.flow_id] = left
        else:
            del self._of_flow[flow.flow_id]

    def clear(self) -> None:
        """Nothing is held."""
        self._held = 0
        self._of_flow.clear()
        self._of_tenant.clear()
