"""Which runs will expire: those whose deadline goes by before their turn would come.

In a queue that serves in order of arrival, what a run waits is known when it comes: it is what
stands before it and will be served. So it is served if that is no more than its patience (what its
deadline leaves after `fire_after`), and else it takes no token and delays nobody (Baccelli, Boyer
and Hebuterne, "Single-server queues with impatient customers", Advances in Applied Probability
16(4), 1984). Who expires is therefore taken out of what arrives, and what is left is simulated as
ever.

In a second the arrivals of all patiences are mixed evenly, and the queue grows or shrinks in a
straight line until it meets the patience of some of them: from there on those stay away, or as many
of them come as are served meanwhile.

What is found is a lower bound. Patient to the end are here: runs that are due already, one-shots,
schedules that begin or end in the span, runs of a paused flow, and a limited flow's behind the
engine's bucket. Of more than `DEADLINES_MAX` deadlines the most frequent are kept, and the others
taken for the next longer of those.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.core.bucket_simulation import Bucket
from engine.core.flow_limits import SCALE, FlowLimit
from engine.core.limited_passage import LimitedPassage
from engine.core.population import Crowd, Outlook, less, pack, unpack

DEADLINES_MAX = 8
"""Different deadlines that are told apart: a day in which every second is late takes a second for
each few."""

Patience = Mapping[int, Mapping[int, int]]
"""Runs by the second of the span in which they arrive, then by the seconds that they will wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """Schedules with the same deadline among those of a timetable and, where limited, a flow."""

    crowd: Crowd
    deadline_seconds: int


def without_expired(
    outlook: Outlook, bucket: Bucket, limits: Sequence[FlowLimit], cohorts: Iterable[Cohort]
) -> Outlook:
    """What is left of an outlook when those leave that the limits of flows, or else the engine's
    own bucket, would let wait beyond their deadline; demand stays what it is."""
    passage = LimitedPassage(outlook, bucket, limits)
    waits = [backlog > 0 for backlog in passage.backlog]
    at_once = [
        2 * sharp > planned for sharp, planned in zip(outlook.sharp, outlook.planned, strict=True)
    ]
    patience = _patience(cohorts, outlook.start_s, waits)
    flows = dict(outlook.flows)
    for limit in limits:
        if limit.flow_id in patience and limit.millirate:
            scaled = Bucket(
                rate=limit.millirate, burst=SCALE * limit.burst, backlog=SCALE * limit.backlog
            )
            own = flows[limit.flow_id]
            lost = expired(own, scaled, patience[limit.flow_id], at_once, scale=SCALE)
            flows[limit.flow_id] = less(own, lost)
            outlook = _reduce(outlook, lost, flows)
    if None in patience:
        arrivals = LimitedPassage(outlook, bucket, limits).engine.arrivals
        lost = expired(arrivals, bucket, patience[None], at_once)
        outlook = _reduce(outlook, lost, flows)
    return outlook


def expired(
    arrivals: Sequence[int],
    bucket: Bucket,
    patience: Patience,
    at_once: Sequence[bool],
    *,
    scale: int = 1,
) -> list[int]:
    """Of each second's arrivals, the runs that expire; `patience` is that of some of them.

    `at_once`: whether they come when the second begins. `scale`: parts of a run that the bucket
    counts.
    """
    rate, burst, tokens, waiting = bucket.rate, bucket.burst, bucket.tokens, bucket.backlog
    found = [0] * len(arrivals)
    for second, runs in enumerate(arrivals):
        arriving, room = runs * scale, tokens + rate
        if (waiting or arriving > room) and second in patience:
            bounds = sorted(
                (rate * seconds + tokens, count * scale)
                for seconds, count in patience[second].items()
            )
            drain = 0 if at_once[second] else room
            found[second] = min(runs, round(_lost(waiting, drain, arriving, bounds) / scale))
            arriving -= found[second] * scale
        waiting += arriving
        leaving = min(waiting, room)
        waiting -= leaving
        tokens = min(burst, room - leaving)
    return found


def _lost(waiting: float, drain: int, arriving: int, bounds: Sequence[tuple[int, int]]) -> float:
    """What stays away of the arrivals of a second, in which `drain` leave.

    `bounds`: ascending, how many may wait before it for a part of them to come.
    """
    patient = max(0, arriving - sum(runs for _, runs in bounds))
    left, lost = 1.0, 0.0
    while left > 0:
        inflow = patient + sum(runs for bound, runs in bounds if bound > waiting)
        brim = sum(runs for bound, runs in bounds if bound == waiting)
        away = sum(runs for bound, runs in bounds if bound < waiting)
        served = min(brim, max(0, drain - inflow))
        slope = inflow + served - drain
        if slope > 0:
            meets = min((bound for bound, _ in bounds if bound > waiting), default=None)
        else:
            meets = max((bound for bound, _ in bounds if bound < waiting), default=None)
        if slope == 0 or meets is None or (meets - waiting) / slope >= left:
            return lost + (away + brim - served) * left
        part = (meets - waiting) / slope
        lost += (away + brim - served) * part
        left, waiting = left - part, meets
    return lost


def _patience(
    cohorts: Iterable[Cohort], start_s: int, waits: Sequence[bool]
) -> Mapping[int | None, Patience]:
    """By limited flow, None for all others; of the seconds in which anything waits alone."""
    found: defaultdict[int | None, defaultdict[int, Counter[int]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for (flow_id, deadline, instant), lanes in _by_instant(cohorts, start_s, len(waits)).items():
        for offset, runs in enumerate(unpack(lanes)):
            place = instant + offset - start_s
            if runs and 0 <= place < len(waits) and waits[place]:
                found[flow_id][place][max(0, deadline - offset)] += runs
    return found


def _by_instant(
    cohorts: Iterable[Cohort], start_s: int, length: int
) -> Mapping[tuple[int | None, int, int], int]:
    """Histograms of offsets by flow, deadline and occurrence."""
    sums: defaultdict[tuple[int | None, int, int], int] = defaultdict(int)
    for cohort in _told_apart(cohorts):
        crowd, lanes = cohort.crowd, pack(cohort.crowd.counts)
        for instant in crowd.occurrences(start_s, start_s + length):
            sums[crowd.flow_id, cohort.deadline_seconds, instant] += lanes
    return sums


def _told_apart(cohorts: Iterable[Cohort]) -> Iterator[Cohort]:
    """With the most frequent deadlines, and the next longer of these for the others."""
    cohorts = list(cohorts)
    schedules: Counter[int] = Counter()
    for cohort in cohorts:
        schedules[cohort.deadline_seconds] += cohort.crowd.schedules
    kept = sorted(seconds for seconds, _ in schedules.most_common(DEADLINES_MAX))
    for cohort in cohorts:
        place = bisect_left(kept, cohort.deadline_seconds)
        if place < len(kept):
            yield replace(cohort, deadline_seconds=kept[place])


def _reduce(outlook: Outlook, lost: list[int], flows: Mapping[int, list[int]]) -> Outlook:
    planned = less(outlook.planned, lost)
    return replace(
        outlook,
        planned=planned,
        herd=list(map(min, outlook.herd, planned)),
        sharp=list(map(min, outlook.sharp, planned)),
        flows=flows,
    )
