"""Occurrence audit: how revisions and covers divide time, and what is missing."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.core.audit import Cover, Finding, Piece, Revision, Tally, missing, pieces, stretches
from engine.core.model import IntervalTrigger
from engine.core.owed import Owing
from engine.core.timetable import compile_trigger

END_MS = 60_000


def rules(after_ms: int, every_seconds: int = 1) -> Owing:
    timetable = compile_trigger(IntervalTrigger(every_seconds=every_seconds))
    return Owing(timetable=timetable, offset_ms=0, owed_after_ms=after_ms)


def revision(after_ms: int, until_ms: int | None) -> Revision:
    return Revision(owing=rules(after_ms), until_ms=until_ms)


def bounds(found: list[Piece]) -> list[tuple[int, int]]:
    return [(piece.after_ms, piece.until_ms) for piece in found]


def test_each_revision_owes_from_its_edit_to_the_next():
    history = [revision(5_000, 20_000), revision(20_000, None)]
    assert bounds(list(pieces(history, (), 0, END_MS))) == [(5_000, 20_000), (20_000, 60_000)]
    assert bounds(list(pieces(history, (), 10_000, 20_000))) == [(10_000, 20_000)]


def test_between_deletion_and_creation_nothing_is_owed():
    history = [revision(5_000, 20_000), revision(30_000, 40_000)]
    assert bounds(list(pieces(history, (), 0, END_MS))) == [(5_000, 20_000), (30_000, 40_000)]


def test_a_later_revision_takes_over_where_the_clock_was_set_back():
    history = [revision(0, 30_000), revision(30_000, 50_000), revision(10_000, None)]
    assert bounds(list(pieces(history, (), 0, END_MS))) == [(0, 10_000), (10_000, 60_000)]


def test_covers_divide_what_they_touch_and_overlap_nobody():
    first = Cover(after_ms=10_000, until_ms=30_000, count=7)
    second = Cover(after_ms=25_000, until_ms=40_000, count=None)
    found = list(pieces([revision(0, None)], (second, first), 0, END_MS))
    assert bounds(found) == [
        (0, 10_000),
        (10_000, 30_000),
        (30_000, 40_000),
        (40_000, 60_000),
    ]
    assert [piece.cover for piece in found] == [None, first, second, None]
    assert [piece.count() for piece in found] == [10, 20, 10, 20]


span = st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted)


@given(
    edits=st.lists(st.integers(0, 60), max_size=5), covers=st.lists(span, max_size=5), whole=span
)
def test_pieces_are_in_order_and_lose_nothing(edits, covers, whole):
    edits = sorted(set(edits))
    ends = [*edits[1:], None]
    history = [revision(a, u) for a, u in zip(edits, ends, strict=False)]
    cuts = [Cover(after_ms=a, until_ms=u, count=1) for a, u in covers]
    found = bounds(list(pieces(history, cuts, *whole)))
    assert all(after < until for after, until in found)
    assert all(a[1] <= b[0] for a, b in pairwise(found))
    begin = max(whole[0], edits[0]) if edits else whole[1]
    assert sum(until - after for after, until in found) == max(0, whole[1] - begin)


def test_a_run_that_nobody_owes_hides_no_loss():
    assert missing([10, 20, 30], [10, 25, 30]) == [20]
    assert missing([10, 20, 30], [10, 20, 30]) == []
    assert missing([], [10]) == []


def test_neighbours_in_the_timetable_are_one_stretch():
    owed = [10, 20, 30, 41, 50]
    assert stretches(owed, [20, 30, 50]) == [(20, 30, 2), (50, 50, 1)]
    assert stretches(owed, []) == []


def test_a_hundred_findings_are_named_and_all_are_counted():
    one = Finding(schedule_id="sch_x", schedule_name="x", first_ms=1, last_ms=1, count=1)
    tally = Tally()
    for _ in range(150):
        tally += Tally(owed=3, runs=1, pending=1, findings=(one,))
    assert (len(tally.findings), tally.unaccounted) == (100, 150)
