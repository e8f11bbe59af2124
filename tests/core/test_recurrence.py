"""What recurs around a herd, and what only happens to be near it."""

import pytest

from engine.core.recurrence import sustained

HOUR = 3_600


def herds(*instants: int, runs: int = 100, length: int = 2 * HOUR) -> list[int]:
    demand = [0] * length
    for instant in instants:
        demand[instant] += runs
    return demand


def test_a_herd_alone_recurs_nowhere():
    assert sustained(herds(HOUR), HOUR) == 0
    assert sustained(herds(10, length=11), 10) == 0


def test_herds_each_minute_are_their_mean_from_either_end():
    demand = herds(*range(HOUR, 2 * HOUR, 60), runs=120)
    assert {sustained(demand, at) for at in range(HOUR, 2 * HOUR, 60)} == {2}


def test_all_that_comes_in_the_cycles_counts():
    demand = [1 + runs for runs in herds(*range(0, HOUR, 60), runs=120)]
    assert sustained(demand, 600) == pytest.approx(3, abs=0.02)


def test_two_make_a_series_only_while_nobody_knows_what_was_before():
    assert sustained(herds(59, 119), 119) == pytest.approx(100 / 60)
    assert sustained(herds(60, 120), 120) == 0
    assert sustained(herds(60, 120, 180), 120) == pytest.approx(100 / 60)


def test_a_herd_that_is_still_coming_does_not_hide_those_before_it():
    demand = herds(0, 60, 120, runs=120)
    demand[120] = 70
    assert sustained(demand, 120, is_whole=False) == 2
    assert sustained(demand[:61], 60, is_whole=False) == 2
    demand[60] = 70
    assert sustained(demand[:61], 60, is_whole=True) == pytest.approx(70 / 60)


@pytest.mark.parametrize("at", [0, 60, 120])
def test_an_hourly_herd_amid_minutely_ones_is_no_rule(at: int):
    demand = herds(0, 60, 120, runs=1_500)
    demand[0] += 1_500
    assert sustained(demand, at) == 25


def test_what_lies_beyond_the_reach_of_jitter_is_not_near():
    assert sustained(herds(0, 900), 900) > 0
    assert sustained(herds(0, 901), 901) == 0


def test_a_steady_load_counts_once_it_is_known_for_the_reach_of_jitter():
    demand = [5] * 899 + [100]
    assert sustained(demand, 899) == 0
    assert sustained([5, *demand], 900) == 5
