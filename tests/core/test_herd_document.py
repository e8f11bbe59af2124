"""What a forecast or a what-if may be asked for, and how the rest is refused."""

from typing import Any

import pytest

from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.herd_document import Change, Span, read_span, read_what_if

NOON = 1_796_040_000  # 2026-11-30T12:00:00Z
NOW_MS = NOON * 1000 + 500


def span(**members: str) -> Span | list[Fault]:
    faults: list[Fault] = []
    known = frozenset({"from", "to"})
    fields = Fields(
        {name.strip("_"): text for name, text in members.items()},
        pointer="",
        known=known,
        faults=faults,
    )
    found = read_span(fields, NOW_MS)
    return faults or found


def test_a_span_is_the_next_day_from_the_next_whole_second_on():
    assert span() == Span(from_s=NOON + 1, to_s=NOON + 86_401)


def test_instants_within_a_second_begin_with_the_next_and_end_with_the_last_whole_one():
    found = span(from_="2026-11-30T13:00:00.001Z", to="2026-11-30T14:00:00.999Z")
    assert found == Span(from_s=NOON + 3601, to_s=NOON + 7200)


def test_a_from_of_a_moment_ago_is_now():
    assert span(from_="2026-11-30T11:59:30Z") == span()


@pytest.mark.parametrize(
    ("member", "text", "says"),
    [
        ("from_", "2026-11-30T11:00:00Z", "write an instant to come"),
        ("to", "2026-12-01T12:00:02Z", "not after 2026-12-01T12:00:01Z"),
        ("to", "2026-11-30T12:00:01Z", "write an instant after 2026-11-30T12:00:01Z"),
        ("to", "tomorrow", "is not an instant"),
    ],
)
def test_a_span_that_cannot_be_is_refused_with_what_can(member: str, text: str, says: str):
    [fault] = span(**{member: text})
    assert fault.pointer == "/" + member.strip("_")
    assert says in fault.detail


def test_a_day_to_the_second_is_allowed():
    assert span(to="2026-12-01T12:00:01Z") == span()


def test_a_change_is_read_whole():
    document = {"jitter_seconds": 120, "rate": 5, "burst": 2, "add": 9, "timetables": ["x"]}
    change, _, _ = read_what_if(document, NOW_MS)
    assert change == Change(jitter_seconds=120, rate=5, burst=2, add=9, timetables=("x",))


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "write what to change: jitter_seconds, rate, burst or add"),
        ({"add": 0}, "write what to change"),
        ({"rate": 0}, "/rate: write a whole number from 1 to 1,000,000"),
        ({"rate": -5}, "/rate: write a whole number from 1"),
        ({"jitter_seconds": 901}, "/jitter_seconds: write a whole number from 0 to 900"),
        ({"burst": 0}, "/burst: write a whole number from 1"),
        ({"add": -1}, "/add: write a whole number from 0 to 10,000,000"),
        ({"rate": 5, "timetables": []}, "/timetables: write a list of 1 to 1,000 timetables"),
        ({"rate": 5, "timetables": [5]}, "/timetables: write a list"),
        ({"rate": 5, "jiter": 5}, "/jiter: unknown field"),
        ([], "write a JSON object"),
    ],
)
def test_a_change_that_means_nothing_is_refused_with_what_is_allowed(document: Any, says: str):
    with pytest.raises(Invalid) as refusal:
        read_what_if(document, NOW_MS)
    assert says in str(refusal.value)
