"""Who ate the objective: sums, quantiles and the sentence, by hand."""

import pytest

from engine.core.attribution import Attribution
from engine.core.delay_shares import Delays, Shares, Tally

NOTHING = Attribution(*[0] * len(Attribution._fields))


def shares(*attributions: Attribution, complete: bool = True) -> Shares:
    tally = Tally()
    for attribution in attributions:
        tally.add(attribution)
    return tally.shares(complete=complete)


def test_sums_and_quantiles_are_those_of_all_runs_also_of_the_undelayed() -> None:
    late = [NOTHING._replace(jitter=50, bucket=ms) for ms in range(1, 11)]
    found = shares(*late, *[NOTHING._replace(jitter=50)] * 90)
    assert found.runs == 100
    assert found.components["jitter"] == Delays(sum_ms=5_000, p50_ms=50, p99_ms=50)
    assert found.components["bucket"] == Delays(sum_ms=55, p50_ms=0, p99_ms=9)
    assert found.components["body"] == Delays(sum_ms=0, p50_ms=0, p99_ms=0)
    assert found.total_ms == 5_055


def test_lateness_is_the_sum_of_what_the_objective_is_about() -> None:
    found = shares(Attribution(*[10**place for place in range(11)]))
    # planning, held, queue, bucket, flow and journal.
    assert found.lateness == Delays(sum_ms=1_111_110, p50_ms=1_110_016, p99_ms=1_110_016)
    assert found.total_ms == 11_111_111_111


def test_quantiles_are_exact_below_a_second_and_to_a_fifth_of_a_percent_above() -> None:
    for ms in (1, 999, 1_023, 1_025, 77_777, 3_600_001):
        p50_ms = shares(NOTHING._replace(queue=ms)).components["queue"].p50_ms
        assert p50_ms == ms if ms < 1_024 else 0.998 * ms <= p50_ms <= ms


def test_the_eater_has_the_largest_part_of_the_lateness_however_large_the_rest_is() -> None:
    found = shares(NOTHING._replace(jitter=59_000, flow=200, bucket=800, retry=99_000))
    assert found.eater == "bucket"
    assert found.sentence == (
        "99 % of 1 scheduled runs started within 1 s of their fire_after; the objective for "
        "herds is 15 s. The largest eater is bucket: 80 % of all lateness, p99 0.8 s."
    )


@pytest.mark.parametrize(
    ("attributions", "says"),
    [
        ((), "nothing to attribute"),
        ((NOTHING._replace(jitter=5),), "within 0 s of their fire_after"),
        ((NOTHING._replace(jitter=5),), "Nothing ate any of it."),
    ],
)
def test_where_nobody_was_late_nobody_is_named(
    attributions: tuple[Attribution, ...], says: str
) -> None:
    found = shares(*attributions)
    assert found.eater is None
    assert says in found.sentence
