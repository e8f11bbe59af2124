"""What is selected, what changes, and how exactly it is known."""

from dataclasses import replace

import pytest

from engine.core.bucket_simulation import Bucket
from engine.core.errors import Invalid
from engine.core.flow_limits import FlowLimit
from engine.core.herd_document import Change, Span
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd, Standing
from engine.core.what_if import Question, WhatIf, answer, select

NOON = 1_796_040_000  # 2026-11-30T12:00:00Z
SPAN = Span(from_s=NOON, to_s=NOON + 3600)


def crowd(number: int, every: int, phase: int, schedules: int, **bounds: int) -> Crowd:
    trigger = IntervalTrigger(every_seconds=every, phase_seconds=phase)
    return Crowd(timetable_id=number, trigger=trigger, counts={0: schedules}, **bounds)


HERD = crowd(1, 3600, 0, 9_000)
OTHER = crowd(2, 3600, 1800, 50)


def ask(
    change: Change,
    *crowds: Crowd,
    exact: bool = False,
    limits: tuple[FlowLimit, ...] = (),
    **deadlines: dict[int, int],
) -> WhatIf:
    selected = select(crowds, change, NOON, SPAN)
    is_same = change.jitter_seconds is None or exact
    question = Question(
        change=change,
        span=SPAN,
        start_s=NOON,
        standing=Standing(crowds=crowds, limits=limits),
        deadlines={(int(name[1:]), None): counts for name, counts in deadlines.items()},
        selected=selected,
        changed=selected if is_same else None,
        bucket=Bucket(rate=100, burst=10, tokens=5),
    )
    return answer(question)


def test_a_change_is_about_what_falls_on_the_hour_unless_timetables_are_named():
    change = Change(jitter_seconds=1)
    every_minute = crowd(3, 60, 2, 1)
    assert select([HERD, OTHER, every_minute], change, NOON, SPAN) == (HERD, every_minute)
    named = Change(jitter_seconds=1, timetables=("every 3600 s at +1800 s",))
    assert select([HERD, OTHER], named, NOON, SPAN) == (OTHER,)


def test_schedules_that_begin_or_end_in_the_span_stay_as_they_are():
    ending = crowd(1, 3600, 0, 5, until_s=NOON)
    assert select([HERD, ending], Change(jitter_seconds=1), NOON, SPAN) == (HERD,)


def test_to_select_nothing_is_refused_with_what_there_is():
    with pytest.raises(Invalid, match="no schedule falls on :00 in this span"):
        select([OTHER], Change(jitter_seconds=60), NOON, SPAN)
    with pytest.raises(Invalid, match="'x' selects nothing; there are every 3600"):
        select([OTHER], Change(jitter_seconds=60, timetables=("x",)), NOON, SPAN)
    assert select([OTHER], Change(rate=1), NOON, SPAN) == ()


def test_more_jitter_flattens_what_was_selected_and_nothing_else():
    found = ask(Change(jitter_seconds=90), HERD, OTHER)
    assert (found.now.met, found.then.met) == (False, True)
    assert found.then.planned[:90] == [100] * 90
    assert found.then.planned[1800] == 50
    assert (found.exactness, found.selected_schedules) == ("expected", 9_000)


def test_the_least_jitter_and_rate_are_told_beside():
    found = ask(Change(jitter_seconds=60), HERD)
    assert found.least_jitter_seconds == pytest.approx(75, abs=1)
    assert found.least_rate == pytest.approx(120, abs=1)


def test_deadlines_bound_the_jitter():
    found = ask(Change(jitter_seconds=90), HERD, t1={30: 9_000})
    assert found.then.planned[:31] == [300] * 30 + [0]
    assert found.least_jitter_seconds is None


def test_another_rate_takes_its_burst_along_unless_one_is_given():
    assert ask(Change(rate=200), HERD).then.bucket == Bucket(rate=200, burst=20, tokens=5)
    assert ask(Change(burst=2), HERD).then.bucket == Bucket(rate=100, burst=2, tokens=2)
    assert ask(Change(rate=600), HERD).exactness == "exact"


def test_offsets_that_were_computed_are_taken_as_they_are():
    assert ask(Change(jitter_seconds=60), HERD, exact=True).exactness == "exact"


def test_added_schedules_are_hourly_at_the_hour_with_the_default_jitter():
    found = ask(Change(add=600), OTHER)
    assert found.then.planned[:61] == [10] * 60 + [0]
    assert (found.exactness, found.selected_schedules) == ("expected", 0)
    assert found.least_jitter_seconds == 0


def test_added_schedules_are_shared_out_among_the_timetables_named():
    change = Change(add=5, jitter_seconds=1, timetables=("every 3600 s", "every 3600 s at +1800 s"))
    found = ask(change, HERD, OTHER)
    assert (found.then.planned[0], found.then.planned[1800]) == (9_002, 53)


def test_the_runs_of_a_limited_flow_are_spread_and_held_back_in_the_answer_too():
    held = replace(HERD, flow_id=1)
    limit = FlowLimit(
        flow_id=1, tenant="default", key="slow", cause="rate", millirate=5_000, burst=1
    )
    found = ask(Change(jitter_seconds=900), held, limits=(limit,))
    # 9,000 runs at 5 a second; over 900 s 10 a second are planned.
    assert (found.now.planned[0], found.now.served[1]) == (9_000, 5)
    assert (found.then.planned[0], found.then.served[1]) == (10, 5)
    assert found.then.held[0].waiting == 4_500
    # Of the engine's own bucket the flow asks no more than it lets through.
    assert (found.least_jitter_seconds, found.least_rate <= 6) == (75, True)
