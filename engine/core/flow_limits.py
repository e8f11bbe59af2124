"""What a flow's own limits make of its runs: which limits can bind, and what they let through.

A flow has a rate, if somebody set one, and a parallelism. That is a rate, too, once it is known how
long the receiver takes for a request: p at once, each for L seconds, are p / L a second (Little's
law, 1961). The lower of the two counts, and a paused flow lets nothing through.

A flow is simulated apart only when its limit can bind. A schedule fires once a second at most, so a
flow with no more schedules than its limit lets through in a second is never held back, nor is one
whose limit is above the engine's own. All others cost nothing.

Rates are counted in runs a thousand seconds, and so are runs here in thousandths: one request at a
time to a receiver that takes five seconds is 200, where whole runs a second would know 0 or 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from engine.core.bucket_simulation import Bucket, Passage

SCALE = 1_000
"""Thousandths in a run."""

Cause = Literal["rate", "parallelism", "pause"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowLimit:
    """What a flow lets through: `millirate` runs in a thousand seconds, 0 while it is paused, after
    `burst` saved ones. `backlog` runs of it wait already."""

    flow_id: int
    tenant: str
    key: str
    cause: Cause
    millirate: int
    burst: int
    backlog: int = 0

    def can_bind(self, schedules: int) -> bool:
        """Whether so many schedules can ask for more in a second than it lets through."""
        return schedules * SCALE > self.millirate


def limit_of(
    *,
    flow_id: int,
    tenant: str,
    key: str,
    rate: int | None,
    parallelism: int,
    paused: bool,
    latency_ms: int | None,
) -> FlowLimit | None:
    """The limit in force; None when there is none that is known."""

    def limit(cause: Cause, millirate: int, burst: int) -> FlowLimit:
        return FlowLimit(
            flow_id=flow_id, tenant=tenant, key=key, cause=cause, millirate=millirate, burst=burst
        )

    if paused:
        return limit("pause", 0, 1)
    limits = []
    if rate is not None:
        limits.append(limit("rate", SCALE * rate, max(1, rate // 10)))
    if latency_ms is not None:
        at_once = parallelism * SCALE * SCALE // max(1, latency_ms)
        limits.append(limit("parallelism", max(1, at_once), parallelism))
    return min(limits, key=lambda each: each.millirate, default=None)


class FlowPassage:
    """The planned curve of one flow through its limit.

    `released` has the runs that it lets through in each second, `waiting` those that it holds back
    at its end, in thousandths.
    """

    __slots__ = ("_first", "limit", "planned", "released", "waiting")

    def __init__(self, limit: FlowLimit, planned: Sequence[int]) -> None:
        self.limit = limit
        self.planned = planned
        self._first = limit.backlog * SCALE
        if not self._first and SCALE * max(planned) <= limit.millirate:
            self.released, self.waiting = list(planned), [0] * len(planned)
            return
        thousandths = [SCALE * runs for runs in planned]
        if not limit.millirate:
            self.released = [0] * len(thousandths)
            self.waiting = list(accumulate(thousandths, initial=self._first))[1:]
            return
        bucket = Bucket(rate=limit.millirate, burst=SCALE * limit.burst, backlog=self._first)
        passage = Passage(thousandths, bucket)
        gone = (total // SCALE for total in accumulate(passage.served, initial=0))
        self.released = [after - before for before, after in pairwise(gone)]
        self.waiting = passage.backlog

    def wait_ms(self, second: int) -> tuple[int, int]:
        """How long the first and the last of the runs planned for a second are held back.

        Between them it is a straight line: a flow that holds runs back lets them through evenly.
        """
        before = self.waiting[second - 1] if second else self._first
        return self._ms(before), self._ms(self.waiting[second])

    @property
    def longest_wait_ms(self) -> int:
        return self._ms(max(self.waiting, default=0))

    def _ms(self, thousandths: int) -> int:
        return 1_000 * thousandths // self.limit.millirate if self.limit.millirate else 0
