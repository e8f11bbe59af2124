"""Runs spread over a jitter that their schedules do not have yet, and the least that would do.

Offsets for another jitter come from each schedule's hash; here the expectation stands in for them:
n runs spread evenly over the jitter. The draw differs from it by the noise of n independent
offsets, sqrt(n / jitter) runs a second, which matters for the busiest second and hardly for a
delay, since delays sum it up.

A schedule's jitter must fit inside its deadline, so `Demand` keeps runs apart by the jitter that
they can have at most.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import accumulate, chain, repeat
from operator import sub

from engine.core.bucket_simulation import Bucket
from engine.core.forecast import MINUTE_SECONDS, excess, rate_min
from engine.core.population import OFFSET_SECONDS_MAX, Crowd, Outlook, is_herd, plus
from engine.core.recurrence import sustained

JITTER_STEPS = (30, 60, 120, 300, 600, 900)
"""Where the search looks first: herds of calendars recur at one of these, or a few times it."""

RATE_GRAIN = 256
"""A rate is found to 0.4 %: closer than any load is known."""

Deadlines = Mapping[tuple[int, int | None], Mapping[int, int]]
"""By `Crowd.kind`: how many schedules have which deadline, in seconds, below the largest jitter."""

Demand = Mapping[int, Mapping[int, int]]
"""Runs by the largest jitter that their deadline allows (seconds), then by `scheduled_for`."""


def demand_of(
    crowds: Iterable[Crowd], deadlines: Deadlines, drawn: Sequence[int], start_s: int
) -> Demand:
    """The runs of these crowds within the deadlines of their kinds; `drawn`: the crowds' demand by
    second from `start_s` on."""
    end_s = start_s + len(drawn)
    free = Counter({start_s + place: runs for place, runs in enumerate(drawn) if runs})
    demand: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for crowd in crowds:
        for most, schedules in deadlines.get(crowd.kind, {}).items():
            runs = dict.fromkeys(crowd.occurrences(start_s, end_s), schedules)
            demand[most].update(runs)
            free.subtract(runs)
    return {**demand, OFFSET_SECONDS_MAX: +free} if +free else demand


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
    parts = [
        _spread_evenly(runs, width, start_s, end_s)
        for width, runs in _by_width(demand, jitter_seconds).items()
    ]
    nothing = [0] * (end_s - start_s)
    return reduce(
        together,
        parts
        or [Outlook(start_s=start_s, demand=nothing, planned=nothing, herd=nothing, sharp=nothing)],
    )


def together(a: Outlook, b: Outlook) -> Outlook:
    """Both at once."""
    return Outlook(
        start_s=a.start_s,
        demand=plus(a.demand, b.demand),
        planned=plus(a.planned, b.planned),
        herd=plus(a.herd, b.herd),
        sharp=plus(a.sharp, b.sharp),
        flows={
            **a.flows,
            **{f: plus(a.flows[f], part) if f in a.flows else part for f, part in b.flows.items()},
        },
    )


def least_jitter(rest: Outlook, demand: Demand, bucket: Bucket, *, from_s: int) -> int | None:
    """The least jitter for `demand`, beside `rest`, that keeps the objective; None: none does.

    Up to the interval at which herds recur more jitter is better. Beyond it a herd moves into the
    next one's way, and only whole intervals are even again. So the first of `JITTER_STEPS` or of
    the shortest interval that does is taken, and the least from the step before searched below it:
    what does between two steps that do not is not seen. Herds that recur faster than they leave
    (`recurrence`) are not spread beyond the interval: it would only move them out of the span.
    """
    end_s = rest.start_s + len(rest.planned)
    total, largest, interval = _recurring(rest, demand)
    most = OFFSET_SECONDS_MAX
    if sustained(total, largest) > bucket.rate:
        most = min(most, interval)

    def keeps(seconds: int) -> bool:
        outlook = together(rest, spread(demand, seconds, rest.start_s, end_s))
        return not excess(outlook, bucket, from_s=from_s, enough=1)

    low = 0
    for step in sorted({*JITTER_STEPS, interval}):
        if low <= step <= most:
            found = _least(keeps, step, low=low, most=step)
            if found is not None:
                return found
            low = step + 1
    return None


def least_rate(outlook: Outlook, bucket_at: Callable[[int], Bucket], *, from_s: int) -> int:
    """A rate that keeps the objective, at most 1 / `RATE_GRAIN` above the least that does.

    `bucket_at` is the bucket for a rate.
    """

    def keeps(rate: int) -> bool:
        return not excess(outlook, bucket_at(rate), from_s=from_s, enough=1)

    guess = rate_min(_busiest_minute(outlook.planned), MINUTE_SECONDS)
    enough = max(1, sum(outlook.planned) + bucket_at(1).backlog)  # All of them in one second.
    found = _least(keeps, guess, low=1, most=max(guess, enough), grain=RATE_GRAIN)
    assert found is not None, "a rate that serves everything at once keeps the objective"
    return found


def _least(
    keeps: Callable[[int], bool], guess: int, *, low: int, most: int, grain: int | None = None
) -> int | None:
    """The least number from `low` to `most` that `keeps`, searched from a guess; None: none does.

    Away from the guess by doubling and halving, then by bisection. `grain`: what is found may be
    one part in so many above the least.
    """
    too_low, enough = low - 1, guess
    while not keeps(enough):
        if enough >= most:
            return None
        too_low, enough = enough, min(most, 2 * enough or 1)
    while too_low < low and enough > low:
        half = max(low, enough // 2)
        if keeps(half):
            enough = half
        else:
            too_low = half
    while enough - too_low > 1 + (enough // grain if grain else 0):
        middle = (too_low + enough) // 2
        if keeps(middle):
            enough = middle
        else:
            too_low = middle
    return enough


def _recurring(rest: Outlook, demand: Demand) -> tuple[list[int], int, int]:
    """All demand by second, the second of the largest herd of `demand`, and the shortest interval
    between two of them."""
    own = [0] * len(rest.demand)
    for runs in demand.values():
        for instant, count in runs.items():
            own[instant - rest.start_s] += count
    seconds = [second for second, count in enumerate(own) if count]
    largest = max(seconds, key=own.__getitem__, default=0)
    interval = min(map(sub, seconds[1:], seconds), default=OFFSET_SECONDS_MAX)
    return plus(rest.demand, own), largest, interval


def _busiest_minute(planned: list[int]) -> int:
    cuts = range(0, len(planned), MINUTE_SECONDS)
    return max(sum(planned[cut : cut + MINUTE_SECONDS]) for cut in cuts)


def _spread_evenly(runs: Mapping[int, int], width: int, start_s: int, end_s: int) -> Outlook:
    at_hour, at_others = [0] * (end_s - start_s), [0] * (end_s - start_s)
    for instant, count in runs.items():
        (at_hour if is_herd(instant) else at_others)[instant - start_s] = count
    demand, herd = plus(at_hour, at_others), _widen(at_hour, width)
    return Outlook(
        start_s=start_s,
        demand=demand,
        planned=plus(herd, _widen(at_others, width)),
        herd=herd,
        sharp=[0] * len(demand) if width else demand,
    )


def _by_width(demand: Demand, jitter_seconds: int) -> Demand:
    """The runs by the jitter that they get, of `jitter_seconds` what their deadline allows."""
    widths: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for most, runs in demand.items():
        merged = widths[min(most, jitter_seconds)]
        for instant, count in runs.items():
            merged[instant] = merged.get(instant, 0) + count
    return widths


def _widen(runs: list[int], width: int) -> list[int]:
    """Each second's runs spread evenly over `width` seconds, of which 0 is none; what is left of a
    run is carried on.

    With the window's sum in parts of a run, 1 / `width` each, whole runs are counted through all
    seconds and differences taken: nothing is lost between two.
    """
    if width <= 1 or not any(runs):
        return runs
    window = accumulate(map(sub, runs, chain(repeat(0, width), runs)))
    whole = [parts // width for parts in accumulate(window, initial=0)]
    return list(map(sub, whole[1:], whole))
