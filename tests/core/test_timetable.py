"""Triggers as timetables: the collected cases, the published vectors, intervals and instants."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.errors import Invalid
from engine.core.identity import MAX_INSTANT_MS, format_instant, parse_instant
from engine.core.model import AtTrigger, CronTrigger, IntervalTrigger, Trigger
from engine.core.timetable import (
    Timetable,
    check_timezone,
    compile_trigger,
    default_jitter,
    read_cron,
    read_local_instant,
)

TESTS = Path(__file__).parents[1]
VECTORS = json.loads((TESTS / "vectors" / "offbeat-v1.json").read_text())
CASES = {
    case["id"]: case
    for case in map(json.loads, (TESTS / "cases" / "cases.jsonl").read_text().splitlines())
}


def cron_questions() -> list[Any]:
    """(expression, zone, after, the next instants or "never") of the cases that ask about cron."""
    questions = []
    for name in ("C02", "C04", "C07", "C08", "C09", "C11", "C20", "C22", "C26", "C27"):
        case = CASES[name]
        answers = case["expected"].get("next_utc") or case["expected"]["cron_next_utc"]
        for asked, answer in zip(case["input"]["cron"], answers, strict=True):
            values = asked["expr"], asked["tz"], asked["after"], answer
            questions.append(pytest.param(*values, id=f"{name} {asked['expr']}"))
    return questions


def following(table: Timetable, after: str, count: int) -> list[str]:
    instants = [parse_instant(after)]
    for _ in range(count):
        following = table.after(instants[-1])
        assert following is not None
        instants.append(following)
    return [format_instant(instant) for instant in instants[1:]]


@pytest.mark.parametrize(("cron", "zone", "after", "expected"), cron_questions())
def test_a_case_is_answered_with_its_instants(cron, zone, after, expected):
    if expected == "never":
        with pytest.raises(Invalid, match="/cron: never occurs"):
            read_cron(cron, schedule_id=None, timezone=zone)
        return
    table = compile_trigger(read_cron(cron, schedule_id=None, timezone=zone))
    assert following(table, after, len(expected)) == expected


def test_case_c27_intervals_are_elapsed_time():
    case = CASES["C27"]
    for asked, expected in zip(
        case["input"]["interval"], case["expected"]["interval_next_utc"], strict=True
    ):
        anchor, every = asked["anchor"].split()[0], asked["every_s"]
        phase = parse_instant(anchor) // 1000 % every
        table = compile_trigger(IntervalTrigger(every_seconds=every, phase_seconds=phase))
        assert following(table, anchor, len(expected)) == expected


@pytest.mark.parametrize(
    "text",
    ["1," * 499_999 + "1 * * * *", "0-59," * 9_999 + "0-59 * * * *", "0" * 5_000 + "5 * * * *"],
)
def test_case_c14_a_very_long_expression_is_refused_for_its_length_alone(text):
    with pytest.raises(Invalid, match=f"/cron: has {len(text)} characters; write at most 256"):
        read_cron(text, schedule_id="sch_tq9s2dobvk1gq0sevfcr4j94no")


def test_case_c60_local_times_are_instants():
    local, _, _, _, _, gap, fold = CASES["C60"]["input"]["one_shots"]
    answers = CASES["C60"]["expected"]

    def instant(text: str) -> str:
        return format_instant(read_local_instant(text.split(maxsplit=1)[0], "America/New_York"))

    assert instant(local) == answers[0] == "2026-11-30T17:05:00Z"
    assert instant(gap) == "2027-03-14T07:00:00Z"
    assert instant(gap)[11:] in answers[5]
    assert instant(fold) == "2027-11-07T05:30:00Z"
    assert answers[6].startswith(instant(fold))


def trigger_of(document: dict[str, Any]) -> Trigger:
    if "cron" in document:
        zone = document.get("timezone", "UTC")
        return read_cron(document["cron"], schedule_id=None, timezone=zone)
    if "every" in document:
        return IntervalTrigger(
            every_seconds=document["every"], phase_seconds=document.get("phase", 0)
        )
    return AtTrigger(at_ms=parse_instant(document["at"]))


@pytest.mark.parametrize("vector", VECTORS["default_jitter"])
def test_the_default_jitter_is_the_vectors(vector):
    trigger, deadline = trigger_of(vector["trigger"]), vector["trigger"].get("deadline_seconds")
    assert default_jitter(trigger, deadline) == vector["jitter_seconds"]


def test_reading_a_cron_keeps_the_text_and_the_policies():
    schedule_id = VECTORS["schedule_id"][0]["schedule_id"]
    trigger = read_cron(
        "H  9 * * mon",
        schedule_id=schedule_id,
        timezone="Europe/Kiev",
        dst_gap="skip",
        dst_fold="both",
    )
    assert trigger == CronTrigger(
        cron="H  9 * * mon",
        resolved="39 9 * * mon",
        timezone="Europe/Kiev",
        dst_gap="skip",
        dst_fold="both",
    )
    assert compile_trigger(trigger) is compile_trigger(trigger)


def test_every_fault_of_a_cron_and_its_zone_is_reported():
    with pytest.raises(Invalid) as refused:
        read_cron("61 24 * * *", schedule_id=None, timezone="Europe/Berln")
    assert [fault.pointer for fault in refused.value.faults] == ["/cron", "/cron", "/timezone"]


def test_h_needs_a_schedule_to_be_resolved_for():
    with pytest.raises(Invalid, match="write H, H"):
        read_cron("H * * * *", schedule_id=None)


def test_zones_are_checked_where_triggers_are_read():
    with pytest.raises(Invalid, match="/timezone"):
        check_timezone("Europe/Berln")


intervals = st.builds(
    IntervalTrigger, every_seconds=st.integers(1, 5_000), phase_seconds=st.integers(0, 9_000)
)


@given(intervals, st.integers(-20_000_000, 20_000_000), st.integers(0, 20_000_000))
def test_an_interval_fires_at_its_phase_and_every_period_after_the_epoch(trigger, start, span):
    every, phase = (
        trigger.every_seconds * 1000,
        trigger.phase_seconds * 1000 % (trigger.every_seconds * 1000),
    )
    expected = [t for t in range(phase, 40_000_001, every) if start < t <= start + span]
    table = compile_trigger(trigger)
    assert table.between(start, start + span, 50) == expected[:50]
    assert table.count(start, start + span) == len(expected)
    if expected:
        assert table.after(start) == expected[0]
        assert table.until(start + span) == expected[-1]
        assert table.nth(start, len(expected)) == expected[-1]
    else:
        assert table.after(start) > start + span
        assert (table.until(start + span) or start) <= start


def test_an_interval_ends_with_the_year_9998():
    table = compile_trigger(IntervalTrigger(every_seconds=86_400))
    last = parse_instant("9998-12-31T00:00:00Z")
    assert table.until(10**18) == last
    assert table.after(last - 1) == last
    assert table.after(last) is None
    assert table.nth(0, 10**12) is None
    assert table.between(last - 1, 10**18, 5) == [last]
    assert table.between(last, 10**18, 5) == []
    assert table.count(-1, 10**18) == last // 86_400_000 + 1


def test_an_interval_has_nothing_before_the_epoch():
    table = compile_trigger(IntervalTrigger(every_seconds=10, phase_seconds=7))
    assert table.until(6_999) is None
    assert table.after(-(10**15)) == 7_000
    assert table.nth(-(10**15), 2) == 17_000


def test_one_instant_fires_once():
    table = compile_trigger(AtTrigger(at_ms=1_500))
    assert (table.after(1_499), table.after(1_500)) == (1_500, None)
    assert (table.until(1_499), table.until(1_500), table.until(MAX_INSTANT_MS)) == (
        None,
        1_500,
        1_500,
    )
    assert (table.between(0, 1_500, 5), table.between(1_500, 9_000, 5)) == ([1_500], [])
    assert table.between(0, 1_500, 0) == []
    assert (table.count(0, 1_499), table.count(1_499, 1_500), table.count(1_500, 1_600)) == (
        0,
        1,
        0,
    )
    assert (table.nth(0, 1), table.nth(0, 2), table.nth(1_500, 1)) == (1_500, None, None)
