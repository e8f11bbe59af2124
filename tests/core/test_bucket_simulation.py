"""One curve through one bucket: what is served when, and who waits how long."""

from hypothesis import given
from hypothesis import strategies as st

from engine.core.bucket import TokenBucket
from engine.core.bucket_simulation import PUNCTUAL, Bucket, Delays, Passage

counts = st.lists(st.integers(0, 60), min_size=1, max_size=60)


def test_what_fits_is_served_in_its_second_and_nobody_waits():
    passage = Passage([5, 0, 10], Bucket(rate=10, burst=1))
    assert (passage.served, passage.backlog) == ([5, 0, 10], [0, 0, 0])
    assert passage.delays(0, 3) == PUNCTUAL


def test_what_does_not_fit_waits_its_turn():
    passage = Passage([25, 0, 0, 3], Bucket(rate=10, burst=1))
    assert passage.served == [10, 10, 5, 3]
    assert passage.backlog == [15, 5, 0, 0]


def test_saved_tokens_are_given_away_once_and_kept_up_to_the_burst():
    passage = Passage([0, 0, 20, 20], Bucket(rate=10, burst=4))
    assert passage.served == [0, 0, 14, 10]
    assert Passage([20], Bucket(rate=10, burst=4, tokens=3)).served == [13]


def test_a_backlog_found_at_the_start_goes_first_and_has_no_delay_of_its_own():
    passage = Passage([10, 0, 0], Bucket(rate=10, burst=1, backlog=10))
    assert passage.served == [10, 10, 0]
    assert passage.delays(0, 3) == Delays(p50_ms=1000, p99_ms=1000, max_ms=1000)


def test_a_herd_of_one_second_is_delayed_in_proportion_to_its_place():
    # 100 runs arrive evenly over a second and leave over ten: the k-th waits k times 90 ms.
    passage = Passage([100] + [0] * 20, Bucket(rate=10, burst=1))
    assert passage.delays(0, 1) == Delays(p50_ms=4500, p99_ms=8910, max_ms=9000)


def test_those_without_jitter_come_when_their_second_begins_and_wait_for_all_of_it():
    # The k-th of a hundred waits k times 100 ms; the same with twenty that have jitter behind them.
    sharp = Passage([100] + [0] * 20, Bucket(rate=10, burst=1), [100] + [0] * 20)
    assert sharp.delays(0, 1) == Delays(p50_ms=5000, p99_ms=9900, max_ms=10_000)
    mixed = Passage([100] + [0] * 20, Bucket(rate=10, burst=1), [80] + [0] * 20)
    assert mixed.delays(0, 1) == Delays(p50_ms=5000, p99_ms=8950, max_ms=9000)


def test_those_without_a_wait_count_among_the_runs_of_a_percentile():
    # 900 punctual runs, then 100 of which the last waits 900 ms: p99 is the 990th of a thousand.
    passage = Passage([90] * 10 + [100], Bucket(rate=90, burst=1))
    assert passage.delays(0, 11).p50_ms == 0
    assert passage.delays(0, 11).p99_ms == 100


def test_saved_tokens_let_runs_leave_faster():
    # Twenty of thirty leave in the first second: the 15th arrives at 500 ms and leaves at 750.
    passage = Passage([30, 0], Bucket(rate=10, burst=10, tokens=10))
    assert passage.delays(0, 1).p50_ms == 250


def test_those_that_wait_at_the_end_wait_on_at_the_rate():
    assert Passage([100], Bucket(rate=10, burst=1)).delays(0, 1).max_ms == 9000


@given(counts, st.integers(1, 40), st.integers(1, 40), st.integers(0, 100))
def test_nothing_is_lost_and_no_window_gets_more_than_burst_and_rate(
    planned: list[int], rate: int, burst: int, backlog: int
):
    passage = Passage(planned, Bucket(rate=rate, burst=burst, backlog=backlog))
    assert sum(passage.served) + passage.backlog[-1] == sum(planned) + backlog
    for first in range(len(planned)):
        for last in range(first + 1, len(planned) + 1):
            assert sum(passage.served[first:last]) <= burst + rate * (last - first)


@given(counts, st.integers(1, 40), st.integers(1, 40))
def test_it_keeps_up_with_the_engines_own_bucket(planned: list[int], rate: int, burst: int):
    """That one, asked every millisecond, has served as many at each second's end, or up to one
    second's burst less: what arrives in its last millisecond finds a bucket that was full."""
    bucket = TokenBucket(rate, burst, 0)
    waiting = served = expected = 0
    passage = Passage(planned, Bucket(rate=rate, burst=burst))
    for second, arriving in enumerate(planned):
        for ms in range(1000):
            waiting += arriving * (ms + 1) // 1000 - arriving * ms // 1000
            granted = bucket.reserve(second * 1000 + ms + 1, waiting)
            waiting -= granted
            served += granted
        expected += passage.served[second]
        assert expected - rate - 1 <= served <= expected
