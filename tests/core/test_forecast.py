"""Forecasts, held against the closed forms, and the verdicts on them."""

import random
from dataclasses import replace
from functools import reduce

import pytest

from engine.core import forecast
from engine.core.bucket_simulation import Bucket
from engine.core.flow_limits import FlowLimit
from engine.core.forecast import excess, foresee
from engine.core.forecast_words import judge, per_second
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd, Outlook, Singles, draw
from engine.core.spreading import together

NOON = 1_796_040_000  # 2026-11-30T12:00:00Z


def herd(
    runs: int, jitter: int, at: int = NOON, span: int = 7200, flow_id: int | None = None
) -> Outlook:
    """So many runs of one instant, spread evenly over the jitter."""
    trigger = IntervalTrigger(every_seconds=86_400, phase_seconds=at % 86_400)
    width = max(1, jitter)
    counts = {s: runs * (s + 1) // width - runs * s // width for s in range(width)}
    crowd = Crowd(timetable_id=1, trigger=trigger, counts=counts, flow_id=flow_id)
    return draw([crowd], Singles(), NOON - 60, NOON - 60 + span)


@pytest.mark.parametrize(
    ("runs", "jitter", "rate"),
    [
        (60_000, 60, 1_000),
        (90_000, 60, 1_000),
        (75_150, 60, 1_000),
        (9_000, 0, 100),
    ],
)
def test_the_simulation_agrees_with_the_closed_form(runs: int, jitter: int, rate: int):
    [minute] = foresee(herd(runs, jitter), Bucket(rate=rate, burst=1), from_s=NOON - 60).minutes
    expected = forecast.p99_ms(runs, rate, jitter)
    assert minute.delays.p99_ms == pytest.approx(expected, abs=60)


@pytest.mark.parametrize(("rate", "jitter"), [(1_000, 60), (100, 60), (350, 17), (80, 0)])
def test_the_herds_objective_holds_up_to_rate_times_jitter_and_fifteen_seconds(
    rate: int, jitter: int
):
    most = forecast.runs_max(rate, jitter)
    assert most == int(rate * (jitter + 15.1515))
    bucket = Bucket(rate=rate, burst=1)
    assert foresee(herd(most * 995 // 1000, jitter), bucket, from_s=NOON).met
    assert not foresee(herd(most * 1005 // 1000, jitter), bucket, from_s=NOON).met


def test_the_least_jitter_and_rate_in_closed_form_are_the_inverse_of_the_largest_herd():
    assert forecast.jitter_min(75_151, 1_000) == 60
    assert forecast.jitter_min(75_152, 1_000) == 61
    assert forecast.jitter_min(15_000, 1_000) == 0
    assert forecast.rate_min(75_150, 60) == 1_000
    assert forecast.rate_min(0, 60) == 1


def test_other_minutes_have_two_seconds():
    bucket = Bucket(rate=100, burst=1)
    at = NOON + 600
    assert foresee(herd(200, 0, at), bucket, from_s=NOON).met
    missed = foresee(herd(320, 0, at), bucket, from_s=NOON)
    assert (missed.missed, missed.minutes[0].limit_ms) == (1, 2_000)


def test_the_minute_that_inherits_the_herds_backlog_has_the_herds_limit():
    outlook = herd(7_000, 60)
    outlook.planned[125] += 1  # A run of nobody's herd, five seconds into the next minute.
    first, second = foresee(outlook, Bucket(rate=100, burst=1), from_s=NOON).minutes
    assert (first.limit_ms, second.limit_ms) == (15_000, 15_000)
    assert (second.start_s, second.delays.max_ms > 4_000, second.met) == (NOON + 60, True, True)


def test_what_comes_before_the_span_is_simulated_and_not_told():
    foreseen = foresee(herd(9_000, 0), Bucket(rate=100, burst=1), from_s=NOON + 60)
    # One token was saved before the herd.
    assert foreseen.served[:31] == [100] * 29 + [99, 0]
    assert sum(foreseen.planned) == 0
    assert foreseen.minutes == ()


def test_excess_is_zero_exactly_when_the_objective_is_met():
    for runs in (7_000, 7_500, 7_560, 9_000):
        outlook, bucket = herd(runs, 60), Bucket(rate=100, burst=1)
        met = foresee(outlook, bucket, from_s=NOON).met
        assert (excess(outlook, bucket, from_s=NOON) == 0) is met


@pytest.mark.parametrize("runs", [1_000, 2_000, 2_100, 2_200, 3_000, 4_000])
def test_what_is_due_at_the_beginning_of_a_second_waits_longer_than_its_end_shows(runs: int):
    outlook, bucket = herd(runs, 0, at=NOON + 60), Bucket(rate=1_000, burst=100)
    met = foresee(outlook, bucket, from_s=NOON).met
    assert met is (runs <= 2_100)
    assert (excess(outlook, bucket, from_s=NOON) == 0) is met


def test_a_herd_that_spreading_would_cure_is_called_alignment():
    verdict = judge(foresee(herd(9_000, 60), Bucket(rate=100, burst=10), from_s=NOON))
    assert verdict.name == "alignment"
    assert "9,000 runs fall due within 60 s, 100 a second may leave" in verdict.sentence
    assert "Spread these runs over 75 s or more" in verdict.advice


def test_a_herd_that_no_spreading_can_cure_is_called_volume():
    verdict = judge(foresee(herd(100_000, 60), Bucket(rate=100, burst=10), from_s=NOON))
    assert verdict.name == "volume"
    assert "Raise the rate to about 1,331 a second" in verdict.advice


def test_no_figure_is_given_for_runs_that_come_too_unevenly_for_the_closed_form():
    outlook = together(herd(1_500, 60), herd(1_900, 2))
    verdict = judge(foresee(outlook, Bucket(rate=100, burst=10), from_s=NOON))
    assert verdict.name == "alignment"
    # A what-if finds 114; the closed form, which takes the runs as even, would say 101.
    assert "a what-if tells the least jitter and rate" in verdict.advice
    assert "about" not in verdict.advice


@pytest.mark.parametrize(
    ("runs", "jitter_seconds", "name"),
    [(2_800, 6, "volume"), (2_800, 60, "volume"), (2_300, 6, "alignment")],
)
def test_herds_that_recur_faster_than_they_leave_are_volume(
    runs: int, jitter_seconds: int, name: str
):
    minutely = (herd(runs, jitter_seconds, NOON + 60 * minute) for minute in range(10))
    verdict = judge(foresee(reduce(together, minutely), Bucket(rate=40, burst=4), from_s=NOON))
    assert verdict.name == name
    assert ("Raise the rate above 46.7 a second" in verdict.advice) == (name == "volume")


SLOW = FlowLimit(
    flow_id=1, tenant="default", key="slow:443", cause="rate", millirate=10_000, burst=1
)


def test_a_flows_rate_bounds_the_served_curve_and_the_verdict_names_it():
    bucket = Bucket(rate=1_000, burst=100)
    foreseen = foresee(herd(6_000, 0, flow_id=1), bucket, from_s=NOON, limits=[SLOW])
    # One saved token and ten a second: 11 + 598 * 10 + 9.
    assert foreseen.served[:602] == [11, *[10] * 598, 9, 0, 0]
    # The 5,940th of them arrives at 0.99 s and leaves 5,939 tenths of a second after the first.
    assert foreseen.minutes[0].delays.p99_ms == pytest.approx(592_900, abs=100)
    [held] = foreseen.held
    assert (held.planned, held.waiting, held.longest_wait_ms) == (6_000, 5_989, 598_900)
    verdict = judge(foreseen)
    assert verdict.name == "alignment"
    assert "6,000 runs of flow slow:443 fall due within 1 s, 10 a second may leave" in (
        verdict.sentence
    )
    # N <= R * (J + 15.15): J = 600 - 15.15, and R = 6,000 / 16.15.
    assert "Spread these runs over 585 s or more" in verdict.advice
    assert "raise the rate of flow slow:443 to about 372 a second" in verdict.advice


def test_a_flows_limit_delays_nobody_else():
    outlook = together(herd(6_000, 0, flow_id=1), herd(600, 60))
    foreseen = foresee(outlook, Bucket(rate=1_000, burst=100), from_s=NOON, limits=[SLOW])
    assert foreseen.served[1:3] == [20, 20]
    # Of 6,600 the first 600 do not wait, and a tenth of the median's place is before it.
    assert foreseen.minutes[0].delays.p50_ms == pytest.approx((3_300 - 600) * 100, rel=0.01)


def test_what_a_flow_lets_through_waits_for_the_bucket_with_all_others():
    limit = replace(SLOW, millirate=100_000)
    outlook = together(herd(1_000, 0, flow_id=1), herd(3_000, 0))
    foreseen = foresee(outlook, Bucket(rate=500, burst=1), from_s=NOON, limits=[limit])
    assert sum(foreseen.served) == 4_000
    # 101 and then 100 a second join 3,000 at once, of which 501 and then 500 a second leave.
    assert foreseen.served[:12] == [501, *[500] * 6, 300, 100, 99, 0, 0]
    # Half of all are two thirds of the 3,000, of which the last waits 3,000 / 500 s.
    assert foreseen.minutes[0].delays.p50_ms == pytest.approx(6_000 * 2 / 3, abs=20)


def test_runs_of_a_paused_flow_are_not_served_and_do_not_count_as_late():
    outlook = together(herd(6_000, 0, flow_id=1), herd(600, 60))
    paused = replace(SLOW, cause="pause", millirate=0)
    foreseen = foresee(outlook, Bucket(rate=1_000, burst=100), from_s=NOON, limits=[paused])
    assert (sum(foreseen.planned), sum(foreseen.served)) == (6_600, 600)
    assert (foreseen.backlog[-1], foreseen.met) == (6_000, True)


def test_less_than_one_run_a_second_is_counted_in_thousandths():
    slow = replace(SLOW, cause="parallelism", millirate=200)
    foreseen = foresee(
        herd(4, 0, flow_id=1), Bucket(rate=1_000, burst=100), from_s=NOON, limits=[slow]
    )
    assert [second for second, runs in enumerate(foreseen.served) if runs] == [0, 4, 9, 14]


def test_an_empty_span_is_quiet_and_a_good_one_is_met():
    bucket = Bucket(rate=100, burst=10)
    assert judge(foresee(herd(0, 60), bucket, from_s=NOON)).name == "quiet"
    assert judge(foresee(herd(6_000, 60), bucket, from_s=NOON)).name == "met"


@pytest.mark.parametrize("seed", range(100))
def test_the_excess_is_what_all_minutes_miss_their_objective_by(seed: int):
    """Few minutes are looked at: none of those left out may miss anything."""
    chance = random.Random(seed)
    rate, seconds = chance.randrange(1, 60), chance.choice([60, 120, 301])
    sharp = [chance.choice([0] * 20 + [chance.randrange(6 * rate)]) for _ in range(seconds)]
    spread = [chance.choice([0, 0, chance.randrange(2 * rate)]) for _ in range(seconds)]
    planned = [at_once + evenly for at_once, evenly in zip(sharp, spread, strict=True)]
    start_s = NOON + chance.randrange(3_600)
    outlook = Outlook(
        start_s=start_s, demand=planned, planned=planned, herd=[0] * seconds, sharp=sharp
    )
    bucket = Bucket(rate=rate, burst=rate, backlog=chance.choice([0, 3 * rate]))
    minutes = foresee(outlook, bucket, from_s=start_s).minutes
    missed = [m.runs * max(0, m.delays.p99_ms - m.limit_ms) for m in minutes]
    assert excess(outlook, bucket, from_s=start_s) == sum(missed)


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (28.612, "28.6"),
        (2.5, "2.5"),
        (0.04567, "0.0457"),
        (10, "10"),
        (99.96, "100"),
        (100.3, "100.3"),
        (1_234.5, "1,234.5"),
        (61_067, "61,067"),
    ],
)
def test_a_rate_is_said_to_a_tenth_and_a_small_one_by_three_digits(rate: float, said: str):
    assert per_second(rate) == said
