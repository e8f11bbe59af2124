"""Which schedules of a set may go."""

import pytest

from engine.core.errors import Conflict, Invalid
from engine.core.schedule_set import keep_marks, mark, strays

MARKED = [("a", "web"), ("b", "web"), ("c", "ops")]


def test_only_members_that_are_not_declared_any_more_go():
    assert strays({"a", "new"}, MARKED, "web") == ["b"]
    assert strays({"new"}, MARKED, "other") == []


def test_what_belongs_to_another_set_is_not_taken_over():
    with pytest.raises(Conflict, match="c belongs to the set ops"):
        strays({"a", "b", "c"}, MARKED, "web")


def test_declaring_nothing_deletes_nothing():
    with pytest.raises(Invalid, match="the set web would lose all of its 2: is the path right"):
        strays(set(), MARKED, "web")
    assert strays(set(), MARKED, "empty") == []


def test_the_mark_joins_the_labels_and_leaves_what_is_no_object_to_its_judge():
    assert mark({"labels": {"a": "b"}}, "web") == {"labels": {"a": "b", "offbeat/set": "web"}}
    assert mark({"labels": None}, "web") == {"labels": {"offbeat/set": "web"}}
    assert mark({"labels": "x"}, "web") == {"labels": "x"}


def test_what_is_put_without_a_set_stays_in_its_own():
    ours = {"name": "a", "labels": {"x": "y"}}
    whole, kept = keep_marks([ours, {"name": "new"}, {"name": "c"}], dict(MARKED))
    assert whole == [
        {"name": "a", "labels": {"x": "y", "offbeat/set": "web"}},
        {"name": "new"},
        {"name": "c", "labels": {"offbeat/set": "ops"}},
    ]
    assert kept == ["a", "c"]
    assert keep_marks(whole, dict(MARKED)) == (whole, [])
    with pytest.raises(Conflict, match="a belongs to the set web"):
        keep_marks([{"name": "a", "labels": {"offbeat/set": "ops"}}], dict(MARKED))
    odd = {"name": "a", "labels": "x"}
    assert keep_marks([odd], dict(MARKED))[0] == [odd]
