"""Who expires in a queue, held against arithmetic and against runs that queue one by one."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

import pytest

from engine.core.bucket_simulation import Bucket
from engine.core.expiry import DEADLINES_MAX, Cohort, expired
from engine.core.flow_limits import FlowLimit
from engine.core.forecast import Forecast, foresee
from engine.core.forecast_words import judge
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd, Singles, draw

NOON = 1_796_040_000  # 2026-11-30T12:00:00Z
BUCKET = Bucket(rate=100, burst=1)
SPREAD = [False] * 100


def crowd(counts: Mapping[int, int], flow_id: int | None = None) -> Crowd:
    trigger = IntervalTrigger(every_seconds=86_400, phase_seconds=NOON % 86_400)
    return Crowd(timetable_id=1, trigger=trigger, counts=counts, flow_id=flow_id)


def forecast(crowds: list[Crowd], *cohorts: Cohort, limits: tuple[FlowLimit, ...] = ()) -> Forecast:
    outlook = draw(crowds, Singles(), NOON, NOON + 600)
    return foresee(outlook, BUCKET, from_s=NOON, limits=limits, cohorts=cohorts)


def test_of_a_herd_those_are_served_whose_turn_comes_within_their_deadline():
    at_once = crowd({0: 1_000})
    found = forecast([at_once], Cohort(crowd=at_once, deadline_seconds=5))
    # A hundred a second for five seconds; the others would have waited longer.
    assert (found.expiring, sum(found.served), sum(found.planned)) == (500, 500, 1_000)
    assert found.served[:6] == [100] * 5 + [0]
    [minute] = found.minutes
    assert (minute.runs, minute.delays.max_ms) == (500, 5_000)
    assert "500 runs expire before their turn, and are not counted here." in judge(found).sentence


def test_who_has_no_deadline_waits_on_and_is_served_sooner_for_it():
    impatient, patient = crowd({0: 500}), crowd({0: 500})
    found = forecast([impatient, patient], Cohort(crowd=impatient, deadline_seconds=5))
    # Up to the 500th place both come in turn, then half of what comes stays away.
    assert (found.expiring, sum(found.served)) == (250, 750)
    assert found.served[:9] == [100] * 7 + [50, 0]


def test_jitter_uses_patience_up():
    spread = crowd({0: 1_000, 4: 1_000})
    found = forecast([spread], Cohort(crowd=spread, deadline_seconds=5))
    # The queue is five seconds long until 4; those of then have one second left, and none is free.
    assert (found.expiring, sum(found.served)) == (500 + 900, 500 + 100)


def test_a_queue_that_is_too_long_takes_in_as_many_as_leave_it():
    lasting = [150] * 60
    patience = {second: {10: 150} for second in range(60)}
    lost = expired(lasting, BUCKET, patience, SPREAD)
    # It grows by 50 a second until it is ten seconds long, at second 20.
    assert lost == [0] * 20 + [50] * 40


def test_nobody_expires_where_nobody_waits_so_long():
    at_once = crowd({0: 1_000})
    found = forecast([at_once], Cohort(crowd=at_once, deadline_seconds=10))
    assert (found.expiring, sum(found.served)) == (0, 1_000)
    assert "expire" not in judge(found).sentence


def test_runs_expire_behind_the_limit_of_their_flow_and_cost_it_nothing():
    slow = FlowLimit(
        flow_id=1, tenant="default", key="slow", cause="rate", millirate=10_000, burst=1
    )
    own, other = crowd({0: 100}, flow_id=1), crowd({0: 50})
    found = forecast([own, other], Cohort(crowd=own, deadline_seconds=5), limits=(slow,))
    assert (found.expiring, sum(found.served)) == (50, 50 + 50)
    paused = replace(slow, cause="pause", millirate=0)
    resting = forecast([own, other], Cohort(crowd=own, deadline_seconds=5), limits=(paused,))
    assert (resting.expiring, sum(resting.served)) == (0, 50)


def test_of_many_deadlines_the_rare_ones_are_taken_for_the_next_longer():
    common = [crowd({0: 100}) for _ in range(DEADLINES_MAX)]
    rare = crowd({0: 10})
    cohorts = [Cohort(crowd=c, deadline_seconds=100 + 10 * n) for n, c in enumerate(common)]
    found = forecast([*common, rare], *cohorts, Cohort(crowd=rare, deadline_seconds=1))
    assert found.expiring == 0


CASES = {
    "one deadline": ([400] * 10 + [0] * 60, {second: {7: 400} for second in range(10)}),
    "two and none": (
        [300] * 20 + [0] * 60,
        {second: {3: 100, 12: 80} for second in range(20)},
    ),
    "less and less patient": (
        [250] * 30 + [0] * 60,
        {second: {max(1, 15 - second): 200} for second in range(30)},
    ),
    "a queue that shrinks": (
        [2_000] + [60] * 40 + [0] * 20,
        {second: {8: 50} for second in range(1, 41)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_as_many_expire_as_when_runs_queue_one_by_one(name: str):
    arrivals, patience = CASES[name]
    lost = sum(expired(arrivals, BUCKET, patience, SPREAD))
    counted = _one_by_one(arrivals, patience)
    assert lost == pytest.approx(counted, abs=BUCKET.rate // 10)


def _one_by_one(arrivals: list[int], patience: Mapping[int, Mapping[int, int]]) -> int:
    """Each run at its own instant; the server is free again 1 / rate after it took the last."""
    lost, free_at = 0, 0.0
    for second, runs in enumerate(arrivals):
        for place, will_wait in enumerate(_mixed(runs, patience.get(second, {}))):
            at = second + place / runs
            start = max(at, free_at)
            if start - at > will_wait:
                lost += 1
            else:
                free_at = start + 1 / BUCKET.rate
    return lost


def _mixed(runs: int, kinds: Mapping[int, int]) -> list[float]:
    """The patience of each of a second's runs, those of a kind evenly among the others."""
    counts = {**kinds, inf: runs - sum(kinds.values())}
    places = sorted((turn / n, kind) for kind, n in counts.items() for turn in range(n))
    return [kind for _, kind in places]
