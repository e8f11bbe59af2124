"""Which resting connection is taken again, and which is let go."""

from engine.services.keepalive import Resting

A = ("tenant", "http://a.example")
B = ("tenant", "http://b.example")


def test_the_one_that_rested_last_is_taken_first():
    resting = Resting(limit_seconds=4)
    resting.put(A, "older", 1.0)
    resting.put(A, "newer", 2.0)
    assert [resting.take(A, 3.0) for _ in range(3)] == ["newer", "older", None]


def test_places_are_kept_apart():
    resting = Resting(limit_seconds=4)
    resting.put(A, "to a", 1.0)
    assert resting.take(B, 1.0) is None
    assert resting.take(A, 1.0) == "to a"


def test_tenants_share_none():
    resting = Resting(limit_seconds=4)
    resting.put(A, "to a", 1.0)
    assert resting.take(("other", A[1]), 1.0) is None


def test_none_is_taken_after_the_limit():
    resting = Resting(limit_seconds=4)
    resting.put(A, "old", 1.0)
    assert resting.take(A, 5.1) is None
    assert resting.take(A, 5.0) == "old"


def test_expired_ones_leave_oldest_first():
    resting = Resting(limit_seconds=4)
    resting.put(A, "first", 1.0)
    resting.put(B, "second", 2.0)
    resting.put(A, "third", 3.0)
    assert resting.pop_expired(6.5) == ["first", "second"]
    assert len(resting) == 1
    assert resting.take(B, 6.5) is None
    assert resting.take(A, 6.5) == "third"


def test_oldest_of_all_is_popped_whatever_its_place():
    resting = Resting(limit_seconds=4)
    for name, place in (("first", A), ("second", B), ("third", A)):
        resting.put(place, name, 1.0)
    assert resting.take(A, 1.0) == "third"
    assert [resting.pop_oldest(), resting.pop_oldest()] == ["first", "second"]
    assert len(resting) == 0
