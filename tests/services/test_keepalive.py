"""Which resting connection is taken again, and which is let go."""

from engine.services.keepalive import Resting


def test_the_one_that_rested_last_is_taken_first():
    resting = Resting(limit_seconds=4)
    resting.put("a", "older", 1.0)
    resting.put("a", "newer", 2.0)
    assert [resting.take("a", 3.0) for _ in range(3)] == ["newer", "older", None]


def test_origins_are_kept_apart():
    resting = Resting(limit_seconds=4)
    resting.put("a", "to a", 1.0)
    assert resting.take("b", 1.0) is None
    assert resting.take("a", 1.0) == "to a"


def test_none_is_taken_after_the_limit():
    resting = Resting(limit_seconds=4)
    resting.put("a", "old", 1.0)
    assert resting.take("a", 5.1) is None
    assert resting.take("a", 5.0) == "old"


def test_expired_ones_leave_oldest_first():
    resting = Resting(limit_seconds=4)
    resting.put("a", "first", 1.0)
    resting.put("b", "second", 2.0)
    resting.put("a", "third", 3.0)
    assert resting.pop_expired(6.5) == ["first", "second"]
    assert len(resting) == 1
    assert resting.take("b", 6.5) is None
    assert resting.take("a", 6.5) == "third"


def test_oldest_of_all_is_popped_whatever_its_origin():
    resting = Resting(limit_seconds=4)
    for name, origin in (("first", "a"), ("second", "b"), ("third", "a")):
        resting.put(origin, name, 1.0)
    assert resting.take("a", 1.0) == "third"
    assert [resting.pop_oldest(), resting.pop_oldest()] == ["first", "second"]
    assert len(resting) == 0
