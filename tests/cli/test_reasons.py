"""Why an occurrence is when it is."""

from typing import Any

import pytest

from engine.cli.reasons import about_bounds, about_clocks, about_offset
from engine.core.document import read_schedule
from engine.core.identity import parse_instant
from engine.core.model import CronTrigger, Definition


def definition(*, subsecond: bool = True, **members: Any) -> Definition:
    document = {"cron": "30 2 * * *", "target": {"url": "http://h.example"}, **members}
    return read_schedule(
        document, tenant="default", name="nightly-report", subsecond=subsecond
    ).definition


def clocks(instant: str, **members: Any) -> list[str]:
    trigger = definition(timezone="Europe/Berlin", **members).trigger
    assert isinstance(trigger, CronTrigger)
    return list(about_clocks(trigger, parse_instant(instant)))


def test_the_offset_is_shown_with_the_hash_that_it_comes_from():
    assert about_offset(definition(jitter_seconds=60)) == (
        "45.759 s of 60 s (explicit): sha256(id)[0:8] = 0x1cc07b2f499e236d, mod 60 = 45 s;"
        " [8:12] = 0x417bd9ef, mod 1000 = 759 ms"
    )


def test_an_engine_without_the_sub_second_phase_has_no_such_step():
    assert about_offset(definition(jitter_seconds=60, subsecond=False)) == (
        "45.000 s of 60 s (explicit): sha256(id)[0:8] = 0x1cc07b2f499e236d, mod 60 = 45 s"
    )


def test_no_jitter_is_no_arithmetic():
    assert about_offset(definition()) == "0 s: jitter_seconds is 0 (default)"


def test_on_most_days_there_is_nothing_to_say_about_clocks():
    assert clocks("2026-12-01T01:30:00Z") == []


def test_a_time_that_does_not_exist_is_explained():
    [note] = clocks("2027-03-28T01:00:00Z")
    assert note.startswith("clocks go from 02:00 to 03:00 on 28 March 2027")


def test_a_time_that_is_really_at_the_end_of_the_gap_is_not():
    assert clocks("2027-03-28T01:00:00Z", cron="0 3 * * *") == []


@pytest.mark.parametrize(
    ("instant", "which"), [("2027-10-31T00:30:00Z", "first"), ("2027-10-31T01:30:00Z", "second")]
)
def test_a_time_that_happens_twice_is_explained(instant: str, which: str):
    [note] = clocks(instant, dst_fold="both")
    assert note == (
        f"02:30 happens twice on 31 October 2027; this is the {which} time (dst_fold: both)"
    )


BOUNDS = {
    "created_at": "2026-11-30T12:00:00Z",
    "start_at": "2026-12-02T00:00:00Z",
    "end_at": "2026-12-05T00:00:00Z",
    "paused": True,
    "pause_reason": "moving",
    "paused_until": "2026-12-03T02:30:00Z",
}


@pytest.mark.parametrize(
    ("instant", "notes"),
    [
        (
            "2026-11-30T12:00:00Z",
            [
                "not owed: the schedule was made at 2026-11-30T12:00:00Z",
                "not owed: before start_at, 2026-12-02T00:00:00Z",
                "the schedule is paused until 2026-12-03T02:30:00Z: moving",
            ],
        ),
        ("2026-12-03T02:30:00Z", ["the schedule is paused until 2026-12-03T02:30:00Z: moving"]),
        ("2026-12-04T02:30:00Z", []),
        ("2026-12-05T00:00:00.001Z", ["not owed: after end_at, 2026-12-05T00:00:00Z"]),
    ],
)
def test_what_keeps_an_occurrence_from_running_is_named(instant: str, notes: list[str]):
    assert list(about_bounds(BOUNDS, parse_instant(instant))) == notes
