"""What the token bucket makes of a planned curve: the served curve, and how long runs wait.

One simulator for forecast, what-if and tests. It is `bucket.TokenBucket` at a step of one second:
a second may serve what the bucket holds and what comes in during it. Counts are whole numbers, and
nothing is lost or made up.

**Delays.** Runs leave in the order in which they are due (FIFO), so the first attempt of the k-th
run is when the served curve reaches k. Inside a second both curves are taken as straight: a busy
bucket serves evenly, and arrivals are spread evenly over it (that is what the millisecond phase of
SPEC §2 does), but for those without jitter, which all come when the second begins. The delay is
then a straight line over every stretch of runs that arrive in one second and are served in one, and
percentiles are read from these stretches, not from single runs. It is the fluid limit of a D/D/1
queue (Kleinrock, *Queueing Systems* II, chapter 2).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A token bucket as a simulation finds it: runs a second, depth, tokens in it, runs waiting."""

    rate: int
    burst: int
    tokens: int = 0
    backlog: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Waits of some runs, in ms."""

    p50_ms: int
    p99_ms: int
    max_ms: int


PUNCTUAL = Delays(p50_ms=0, p99_ms=0, max_ms=0)


Wait = tuple[int, int, int]
"""Runs that wait between so many and so many ms, evenly: (least ms, most ms, runs)."""


def delays(waits: Iterable[Wait], runs: int) -> Delays:
    """Of so many runs, those that wait being in `waits`."""
    in_order = sorted(waits)
    if not in_order:
        return PUNCTUAL
    return Delays(
        p50_ms=_percentile(in_order, runs, 50),
        p99_ms=_percentile(in_order, runs, 99),
        max_ms=max(high for _, high, _ in in_order),
    )


class Passage:
    """One curve through one bucket, in order of arrival.

    `served` has the runs of each second and `backlog` those that wait at its end.
    """

    __slots__ = ("_gone", "arrivals", "backlog", "bucket", "served", "sharp")

    def __init__(
        self, arrivals: Sequence[int], bucket: Bucket, sharp: Sequence[int] | None = None
    ) -> None:
        """`sharp`: so many of a second's arrivals come when it begins; by default none."""
        assert bucket.rate >= 1, "a bucket without a rate serves nothing"
        assert bucket.burst >= 1, "a bucket that holds no token serves nothing"
        self.arrivals = arrivals
        self.bucket = bucket
        self.sharp = sharp or [0] * len(arrivals)
        self._gone: list[int] = []  # Runs that have left by each second's end, once asked for.
        self.served = list(arrivals)
        self.backlog = [0] * len(self.served)
        rate, burst, tokens, waiting = bucket.rate, bucket.burst, bucket.tokens, bucket.backlog
        for second, arriving in enumerate(arrivals):
            room = tokens + rate
            if waiting or arriving > room:
                waiting += arriving
                leaving = min(waiting, room)
                waiting -= leaving
                self.served[second], self.backlog[second] = leaving, waiting
                tokens = room - leaving
            else:
                tokens = room - arriving
            tokens = burst if tokens > burst else tokens  # A call of min costs as much as the rest.

    def delays(self, first: int, last: int) -> Delays:
        """Of the runs that arrive in the seconds first <= second < last."""
        first, last = max(0, first), min(last, len(self.served))
        found = first == 0 and self.bucket.backlog
        if not found and not any(self.backlog[max(0, first - 1) : last]):
            return PUNCTUAL
        waits = [wait for second in range(first, last) for wait in self.waits(second)]
        return delays(waits, sum(self.arrivals[first:last]))

    def waits(self, second: int) -> Iterator[Wait]:
        """One for each stretch of the runs that arrive in a second and leave in one."""
        came = self.arrivals[second]
        earlier = self.backlog[second - 1] if second else self.bucket.backlog
        if not came or not (earlier or self.backlog[second]):
            return
        self._gone = self._gone or list(accumulate(self.served))
        until = self._gone[second] + self.backlog[second]
        begin = until - came
        spread = begin + self.sharp[second]
        yield from self._stretches(second, begin, spread, over_ms=0)
        yield from self._stretches(second, spread, until, over_ms=1000)

    def _stretches(self, second: int, begin: int, until: int, *, over_ms: int) -> Iterator[Wait]:
        """Of the runs begin <= place < until, which arrive evenly over so much of a second."""
        place, leaving = begin, bisect_right(self._gone, begin, lo=second)
        while place < until:
            ahead, end, speed = self._leaving(leaving)
            end = min(end, until)
            waits = [
                max(
                    0,
                    1000 * (leaving - second)
                    + 1000 * (at - ahead) // speed
                    - over_ms * (at - begin) // (until - begin),
                )
                for at in (place, end)
            ]
            yield min(waits), max(waits), end - place
            place, leaving = end, leaving + 1

    def _leaving(self, second: int) -> tuple[int, int, int]:
        """Runs that have left before a second and by its end, and how many leave a second in it."""
        ahead = self._gone[second - 1] if second else 0
        if second >= len(self.served):  # Those that wait at the end wait on, at the bucket's rate.
            return ahead, ahead + self.backlog[-1], self.bucket.rate
        return ahead, self._gone[second], max(self.bucket.rate, self.served[second])


def _percentile(spans: Sequence[Wait], runs: int, percent: int) -> int:
    """The delay that `percent` of the runs do not exceed; those without a span do not wait."""
    # In hundredths of a run, so that all stays whole.
    missing = runs * percent - 100 * (runs - sum(part for _, _, part in spans))
    if missing <= 0:
        return 0
    for low, high, part in spans:
        if missing <= 100 * part:
            return low + (high - low) * missing // (100 * part)
        missing -= 100 * part
    return spans[-1][1]
