"""Planned runs on their way out: through the limits of their flows, then the engine's bucket.

What a limited flow lets through joins the runs of all other flows before the bucket. Delays count
from `fire_after` on, wherever a run is held: a receiver that is asked late is asked late.

The bucket is one line here, where the engine serves tenants and flows in turn. Its curve is the
same, but a limited flow that has more than its turn of a herd falls behind its limit until the
others have left: at most by as long as they keep the bucket busy.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.core.bucket_simulation import Bucket, Delays, Passage, Wait, delays
from engine.core.flow_limits import SCALE, FlowLimit, FlowPassage
from engine.core.population import Outlook, less, plus


class LimitedPassage:
    """All planned runs, through the limits of their flows and then through the engine's bucket."""

    __slots__ = ("_rest", "engine", "flows")

    def __init__(self, outlook: Outlook, bucket: Bucket, limits: Iterable[FlowLimit] = ()) -> None:
        self.flows = _through_limits(outlook, limits)
        self._rest = outlook.planned
        for flow in self.flows:
            self._rest = less(self._rest, flow.planned)
        sharp = _sharp(outlook, self._rest)
        self.engine = Passage(_released(self._rest, self.flows), bucket, sharp)

    @property
    def backlog(self) -> list[int]:
        """Runs that wait at the end of each second, for whatever it is."""
        backlog = self.engine.backlog
        for flow in self.flows:
            backlog = plus(backlog, (-(-waiting // SCALE) for waiting in flow.waiting))
        return backlog

    def delays(self, first: int, last: int) -> Delays:
        """Of the runs planned for the seconds first <= second < last.

        Without those of paused flows: they wait until somebody resumes them.
        """
        first, last = max(0, first), min(last, len(self._rest))
        held = [flow for flow in self.flows if any(flow.waiting[max(0, first - 1) : last])]
        if not held:
            return self.engine.delays(first, last)
        waits = [wait for second in range(first, last) for wait in self._waits(second, held)]
        going = [flow.planned for flow in self.flows if flow.limit.millirate]
        runs = sum(sum(planned[first:last]) for planned in (self._rest, *going))
        return delays(waits, SCALE * runs)

    def _waits(self, second: int, held: Sequence[FlowPassage]) -> Iterator[Wait]:
        """In thousandths of a run: a second's waits are shared out by where its runs come from."""
        through = [flow.planned[second] for flow in self.flows if flow not in held]
        at_once = self._rest[second] + sum(through)
        sharp = left = self.engine.sharp[second]
        spread = self.engine.arrivals[second] - sharp
        for low, high, runs in self.engine.waits(second):
            yield low, high, SCALE * runs if left else SCALE * runs * (at_once - sharp) // spread
            left = max(0, left - runs)
        for flow in held:
            if flow.planned[second] and flow.limit.millirate:
                first, last = (ms + self._later(second, ms) for ms in flow.wait_ms(second))
                yield min(first, last), max(first, last), SCALE * flow.planned[second]

    def _later(self, second: int, held_ms: int) -> int:
        """How long a run that its flow holds for `held_ms` waits for the engine's bucket then."""
        then = second + held_ms // 1_000
        backlog, bucket = self.engine.backlog, self.engine.bucket
        return 1_000 * backlog[then] // bucket.rate if then < len(backlog) else 0


def release(outlook: Outlook, limits: Iterable[FlowLimit]) -> Outlook:
    """What the flows' limits let through, for questions about the engine's own bucket."""
    flows = _through_limits(outlook, limits)
    rest = outlook.planned
    for flow in flows:
        rest = less(rest, flow.planned)
    return replace(outlook, planned=_released(rest, flows), sharp=_sharp(outlook, rest), flows={})


def _through_limits(outlook: Outlook, limits: Iterable[FlowLimit]) -> tuple[FlowPassage, ...]:
    return tuple(
        FlowPassage(limit, outlook.flows.get(limit.flow_id) or [0] * len(outlook.planned))
        for limit in limits
    )


def _released(rest: list[int], flows: Iterable[FlowPassage]) -> list[int]:
    for flow in flows:
        rest = plus(rest, flow.released)
    return rest


def _sharp(outlook: Outlook, rest: list[int]) -> list[int]:
    """Those that come when their second begins: what a flow's limit lets through, it spreads."""
    return outlook.sharp if rest is outlook.planned else list(map(min, outlook.sharp, rest))
