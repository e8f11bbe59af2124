"""The wheel against a sorted list, and the corners by name."""

from hypothesis import given
from hypothesis import strategies as st

from engine.core.wheel import Handle, Wheel

NOON = 1_796_040_000_000
HOUR = 3_600_000
LEVELS_MAX = 9  # More than any instant in these tests needs.

SPANS = st.one_of(
    st.integers(-3, 2_000),
    st.sampled_from([1_023, 1_024, 1_025, 2**20 - 1, 2**20, 2**20 + 1, HOUR, 24 * HOUR, 10**12]),
    st.integers(0, 30 * HOUR),
)
INSERT = st.tuples(st.just("insert"), SPANS, st.sampled_from([1, 1, 2, 100]))
CANCEL = st.tuples(st.just("cancel"), st.integers(0, 10**6), st.just(0))
ADVANCE = st.tuples(st.just("advance"), SPANS, st.just(0))
REWIND = st.tuples(st.just("advance"), st.integers(-2 * HOUR, -1), st.just(0))
FOLLOW = st.tuples(st.just("follow"), st.just(0), st.just(0))


class SortedList:
    """What a wheel does, done the plain way."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int]] = []

    def first_due(self) -> int | None:
        return min(self.entries)[0] if self.entries else None

    def advance(self, now_ms: int) -> list[int]:
        expired = sorted(entry for entry in self.entries if entry[0] <= now_ms)
        self.entries = [entry for entry in self.entries if entry[0] > now_ms]
        return [item for _, item in expired]


@given(
    st.sampled_from([0, NOON, NOON - 1, 2**40 - 1]),
    # Long lists: what goes wrong in a wheel goes wrong after it has moved on several times.
    st.lists(st.one_of(INSERT, INSERT, CANCEL, ADVANCE, FOLLOW, REWIND), min_size=20, max_size=60),
)
def test_it_does_what_a_sorted_list_does(
    start_ms: int, operations: list[tuple[str, int, int]]
) -> None:
    now_ms, wheel, plain = start_ms, Wheel[int](start_ms), SortedList()
    handles: list[tuple[Handle, tuple[int, int]]] = []
    for operation, number, count in operations:
        match operation:
            case "insert":
                for spread in range(count):
                    entry = (now_ms + number + 3 * spread % 200, len(handles))
                    handles.append((wheel.insert(*entry), entry))
                    plain.entries.append(entry)
            case "cancel" if handles:
                handle, entry = handles[number % len(handles)]
                assert wheel.cancel(handle) is (entry in plain.entries)
                plain.entries = [kept for kept in plain.entries if kept != entry]
            case "advance":
                now_ms = max(0, now_ms + number)
                assert wheel.advance(now_ms) == plain.advance(now_ms)
            case "follow":
                now_ms = follow(wheel, plain, now_ms)
        assert len(wheel) == len(plain.entries)
    assert wheel.advance(2**50) == plain.advance(2**50)
    assert wheel.next_due() is None


def follow(wheel: Wheel[int], plain: SortedList, now_ms: int) -> int:
    """Advance to where the wheel asks for it until something is due; the instant reached."""
    first_due = plain.first_due()
    if first_due is None:
        assert wheel.next_due() is None
        return now_ms
    for _ in range(LEVELS_MAX):
        due_ms = wheel.next_due()
        assert due_ms is not None
        assert due_ms <= first_due
        now_ms = max(now_ms, due_ms)
        expired = wheel.advance(now_ms)
        assert expired == plain.advance(now_ms)
        if expired:
            return now_ms
    raise AssertionError("the wheel asks for attention again and again, and nothing is due")


def test_nothing_is_early_by_a_millisecond() -> None:
    for due_ms in (NOON + 1, NOON + 1_024, NOON + 5_000, NOON + HOUR):
        wheel = Wheel[str](NOON)
        wheel.insert(due_ms, "run")
        assert wheel.advance(due_ms - 1) == []
        assert wheel.advance(due_ms) == ["run"]


def test_items_of_one_instant_keep_their_order_however_far_away_they_began() -> None:
    wheel, due_ms = Wheel[str](NOON), NOON + 5 * HOUR
    wheel.insert(due_ms, "from afar")
    wheel.advance(due_ms - 60_000)
    wheel.insert(due_ms, "from a minute")
    wheel.advance(due_ms - 10)
    wheel.insert(due_ms, "from close by")
    wheel.insert(due_ms - 1, "just before")
    expired = wheel.advance(due_ms)
    assert expired == ["just before", "from afar", "from a minute", "from close by"]


def test_what_is_overdue_comes_first_and_at_once() -> None:
    wheel = Wheel[str](NOON)
    wheel.insert(NOON + 1, "next")
    wheel.insert(NOON, "now")
    wheel.insert(NOON - HOUR, "long ago")
    assert wheel.next_due() == NOON - HOUR
    assert wheel.advance(NOON) == ["long ago", "now"]
    assert wheel.advance(NOON + 1) == ["next"]


def test_an_empty_span_of_eight_thousand_years_is_crossed_at_once() -> None:
    wheel, last_ms = Wheel[str](0), 253_402_300_799_999
    wheel.insert(last_ms, "last")
    assert wheel.next_due() == last_ms
    assert wheel.advance(last_ms - 1) == []
    assert wheel.advance(last_ms) == ["last"]


def test_no_instant_is_too_far() -> None:
    wheel = Wheel[str](NOON)
    wheel.insert(2**80, "far")
    assert wheel.advance(2**80 - 1) == []
    assert wheel.next_due() == 2**80


def test_the_next_instant_is_exact_when_few_wait() -> None:
    wheel = Wheel[int](NOON)
    for minute in (9, 7, 8):
        wheel.insert(NOON + minute * 60_000 + 123, minute)
    assert wheel.next_due() == NOON + 7 * 60_000 + 123


def test_a_crowd_far_away_asks_for_attention_before_it_is_due_and_not_twice() -> None:
    wheel, due_ms = Wheel[int](NOON), NOON + 20 * 60_000
    for item in range(1_000):
        wheel.insert(due_ms, item)
    early = wheel.next_due()
    assert early is not None
    assert NOON < early < due_ms
    assert wheel.advance(early) == []
    again = wheel.next_due()
    assert again is not None
    assert early < again <= due_ms


def test_a_cancelled_item_is_gone_from_everywhere() -> None:
    wheel = Wheel[None](NOON)
    near, far = wheel.insert(NOON + 10, None), wheel.insert(NOON + HOUR, None)
    overdue = wheel.insert(NOON, None)
    assert len(wheel) == 3
    assert wheel.cancel(overdue)
    assert wheel.cancel(near)
    assert not wheel.cancel(near)
    assert wheel.next_due() == NOON + HOUR
    assert wheel.advance(NOON + HOUR) == [None]
    assert not wheel.cancel(far)
    assert len(wheel) == 0


def test_a_clock_set_back_makes_nothing_early() -> None:
    wheel = Wheel[str](NOON)
    wheel.insert(NOON + 5_000, "planned before")
    wheel.advance(NOON + 1_000)
    wheel.insert(NOON - HOUR + 2_000, "planned after")
    assert wheel.advance(NOON - HOUR) == []
    assert wheel.next_due() == NOON - HOUR + 2_000
    assert wheel.advance(NOON - HOUR + 1_999) == []
    assert wheel.advance(NOON - HOUR + 2_000) == ["planned after"]
    assert wheel.advance(NOON + 4_999) == []
    assert wheel.advance(NOON + 5_000) == ["planned before"]
