"""Runs spread over a jitter that their schedules do not have yet, and the least that would do.

Offsets for another jitter come from each schedule's hash; here the expectation stands in for them:
n runs spread evenly over the jitter. The draw differs from it by the noise of n independent
offsets, sqrt(n / jitter) runs a second, which matters for the busiest second and hardly for a
delay, since delays sum it up.

A schedule's jitter must fit inside its deadline, so `Demand` keeps runs apart by the jitter that
they can have at most.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from engine.core.bucket_simulation import Bucket
from engine.core.forecast import excess
from engine.core.population import OFFSET_SECONDS_MAX, Crowd, Outlook, is_herd, plus

Deadlines = Mapping[int, Mapping[int, int]]
"""By timetable: how many schedules have which deadline, in seconds, below the largest jitter."""

Demand = Mapping[int, Mapping[int, int]]
"""Runs by the largest jitter that their deadline allows (seconds), then by `scheduled_for`."""


def demand_of(
    crowds: Iterable[Crowd],
    deadlines: Deadlines,
    start_s: int,
    end_s: int,
) -> Demand:
    """The runs of these crowds; `deadlines` counts each timetable's schedules by deadline."""
    demand: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for crowd in crowds:
        capped = deadlines.get(crowd.timetable_id, {})
        classes = {**capped, OFFSET_SECONDS_MAX: crowd.schedules - sum(capped.values())}
        instants = crowd.occurrences(start_s, end_s)
        for most, schedules in classes.items():
            if schedules > 0:
                runs = demand[most]
                for instant in instants:
                    runs[instant] += schedules
    return demand


def merge(*demands: Demand) -> Demand:
    """All of them together."""
    merged: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for demand in demands:
        for most, runs in demand.items():
            for instant, count in runs.items():
                merged[most][instant] += count
    return merged


def spread(demand: Demand, jitter_seconds: int, start_s: int, end_s: int) -> Outlook:
    """The curves to be expected of `demand` with this jitter, each run's deadline respected."""
    length = end_s - start_s
    asked = [0] * length
    herd, other = [0] * (length + 1), [0] * (length + 1)
    for most, runs in demand.items():
        width = max(1, min(most, jitter_seconds))
        for instant, count in runs.items():
            place = instant - start_s
            asked[place] += count
            level, rest = divmod(count * _SCALE, width)
            changes = herd if is_herd(instant) else other
            changes[place] += level + rest
            changes[min(length, place + 1)] -= rest
            changes[min(length, place + width)] -= level
    herd, other = _settle(herd), _settle(other)
    return Outlook(start_s=start_s, demand=asked, planned=plus(herd, other), herd=herd)


def together(a: Outlook, b: Outlook) -> Outlook:
    """Both at once."""
    return Outlook(
        start_s=a.start_s,
        demand=plus(a.demand, b.demand),
        planned=plus(a.planned, b.planned),
        herd=plus(a.herd, b.herd),
    )


def least_jitter(rest: Outlook, demand: Demand, bucket: Bucket, *, from_s: int) -> int | None:
    """The least jitter for `demand`, beside `rest`, that keeps the objective; None: 900 does not.

    Taken to grow better with jitter, which it does but for runs moved into another herd's way.
    """
    end_s = rest.start_s + len(rest.planned)

    def keeps(seconds: int) -> bool:
        outlook = together(rest, spread(demand, seconds, rest.start_s, end_s))
        return not excess(outlook, bucket, from_s=from_s, enough=1)

    if not keeps(OFFSET_SECONDS_MAX):
        return None
    return bisect_left(range(OFFSET_SECONDS_MAX), True, key=keeps)


def least_rate(outlook: Outlook, bucket_at: Callable[[int], Bucket], *, from_s: int) -> int:
    """The least rate that keeps the objective; `bucket_at` is the bucket for a rate."""

    def keeps(rate: int) -> bool:
        return not excess(outlook, bucket_at(rate), from_s=from_s, enough=1)

    enough = 1
    while not keeps(enough):
        enough *= 4
    low = enough // 4 + 1
    return low + bisect_left(range(low, enough), True, key=keeps)


def _settle(changes: list[int]) -> list[int]:
    """Runs by second from changes of their level; parts of a run are carried on to the next."""
    curve: list[int] = []
    level = carried = 0
    for change in changes[:-1]:
        level += change
        whole, carried = divmod(carried + level, _SCALE)
        curve.append(whole)
    return curve


_SCALE = 2**20
