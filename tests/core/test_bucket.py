"""The bucket's bound over every window, and that it grants all that the bound allows."""

from itertools import accumulate, combinations

from hypothesis import given
from hypothesis import strategies as st

from engine.core.bucket import TokenBucket

# A second and more passes between calls, or nothing; the clock is set back now and then.
MOVES = st.lists(
    st.tuples(
        st.integers(0, 3_000), st.sampled_from([0, 0, 0, 1, 500, 3_600_000]), st.integers(0, 40)
    ),
    min_size=1,
    max_size=40,
)


@given(rate=st.integers(1, 50), burst=st.integers(1, 20), moves=MOVES)
def test_over_every_window_grants_stay_within_burst_and_rate(
    rate: int, burst: int, moves: list[tuple[int, int, int]]
) -> None:
    true_ms = shown_ms = 1_000_000
    bucket = TokenBucket(rate, burst, shown_ms)
    instants, granted = [true_ms], [0]
    for passed_ms, set_back_ms, wanted in moves:
        true_ms += passed_ms
        shown_ms += passed_ms - set_back_ms
        instants.append(true_ms)
        granted.append(bucket.reserve(shown_ms, wanted))
    total = list(accumulate(granted))
    for first, last in combinations(range(len(instants)), 2):
        span_ms = instants[last] - instants[first]
        # From just after `first` was granted, and from just before it; the start is empty.
        assert 1000 * (total[last] - total[first]) <= 1000 * burst + rate * span_ms
        allowance = 1000 * burst if first else 0
        taken = total[last] - total[first] + granted[first]
        assert 1000 * taken <= allowance + rate * span_ms


@given(st.integers(1, 5_000), st.lists(st.integers(0, 40), min_size=1, max_size=50))
def test_nothing_is_lost_to_rounding(rate: int, steps_ms: list[int]) -> None:
    bucket = TokenBucket(rate, burst=1_000, now_ms=0)
    instants = list(accumulate(steps_ms))
    total = sum(bucket.reserve(now_ms, 1_000) for now_ms in instants)
    assert total == rate * instants[-1] // 1000


@given(MOVES, st.data())
def test_a_token_that_is_given_back_is_as_if_it_had_not_been_granted(
    moves: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    bucket, other = TokenBucket(7, 5, now_ms=0), TokenBucket(7, 5, now_ms=0)
    now_ms = 0
    for passed_ms, _, wanted in moves:
        granted = bucket.reserve(now_ms, wanted)
        used = data.draw(st.integers(0, granted))
        assert other.reserve(now_ms, used) == used
        now_ms += passed_ms
        bucket.peek(now_ms)  # Tokens come in before the unused ones are given back.
        for _ in range(granted - used):
            bucket.give_back()
        assert bucket.wait_ms(now_ms, 5) == other.wait_ms(now_ms, 5)


def test_it_starts_empty() -> None:
    bucket = TokenBucket(1_000, 100, now_ms=7)
    assert bucket.peek(7) == 0
    assert bucket.reserve(7, 1) == 0
    assert bucket.peek(57) == 50


def test_it_keeps_a_burst_and_no_more() -> None:
    bucket = TokenBucket(1_000, 100, now_ms=0)
    assert bucket.peek(3_600_000) == 100
    assert bucket.reserve(3_600_000, 256) == 100
    assert bucket.reserve(3_600_000, 1) == 0


def test_a_clock_set_back_mints_nothing_and_starves_nobody() -> None:
    bucket = TokenBucket(10, 100, now_ms=3_600_000)
    assert bucket.peek(3_601_000) == 10
    assert bucket.peek(1_000) == 10
    assert bucket.peek(2_000) == 20


@given(st.integers(1, 3_000), st.integers(1, 100), st.integers(0, 200), st.integers(1, 100))
def test_the_wait_ends_with_the_tokens_there_and_not_before(
    rate: int, burst: int, passed_ms: int, wanted: int
) -> None:
    wanted = min(wanted, burst)
    bucket = TokenBucket(rate, burst, now_ms=0)
    wait_ms = bucket.wait_ms(passed_ms, wanted)
    assert wait_ms == 0 or bucket.peek(passed_ms + wait_ms - 1) < wanted
    assert bucket.reserve(passed_ms + wait_ms, wanted) == wanted
