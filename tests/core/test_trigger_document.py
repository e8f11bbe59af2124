"""The trigger of a document: exactly one of cron, every and at."""

import pytest

from engine.core.fields import Fields
from engine.core.identity import format_instant
from engine.core.model import AtTrigger, CronTrigger, IntervalTrigger
from engine.core.trigger_document import TRIGGER_FIELDS, read_trigger, write_trigger

REPORT = "sch_si9ka8a42n538os9a9or3pkki4"


def read(**members):
    faults = []
    fields = Fields(members, pointer="", known=TRIGGER_FIELDS, faults=faults)
    trigger = read_trigger(fields, REPORT, faults)
    assert (trigger is None) <= bool(faults)
    return trigger, {fault.pointer: fault.detail for fault in faults}


def accepted(**members):
    trigger, faults = read(**members)
    assert faults == {}
    return trigger


def test_each_kind_is_read_and_written_back():
    for members, trigger in [
        (
            {
                "cron": "H 3 * * *",
                "timezone": "Europe/Berlin",
                "dst_gap": "skip",
                "dst_fold": "both",
            },
            CronTrigger(
                cron="H 3 * * *",
                resolved="10 3 * * *",
                timezone="Europe/Berlin",
                dst_gap="skip",
                dst_fold="both",
            ),
        ),
        ({"every": 90, "phase": 30}, IntervalTrigger(every_seconds=90, phase_seconds=30)),
        ({"at": "2026-12-24T18:00:00.250Z"}, AtTrigger(at_ms=1_798_135_200_250)),
    ]:
        assert accepted(**members) == trigger
        assert write_trigger(trigger) == members


def test_a_phase_beyond_every_names_the_same_timetable():
    assert accepted(every=50, phase=50) == IntervalTrigger(every_seconds=50)
    assert accepted(every=50, phase=31_535_999) == IntervalTrigger(
        every_seconds=50, phase_seconds=49
    )


@pytest.mark.parametrize(
    ("members", "pointer", "said"),
    [
        ({}, "", "exactly one of cron, every and at"),
        ({"cron": "0 * * * *", "every": 60}, "/every", "not both"),
        ({"every": 60, "at": "2026-12-24T18:00:00Z"}, "/at", "not both"),
        ({"cron": "0 * * * *", "phase": 5}, "/phase", "does not go with cron"),
        ({"every": 60, "timezone": "UTC"}, "/timezone", "does not go with every"),
        ({"at": "2026-12-24T18:00:00Z", "dst_gap": "skip"}, "/dst_gap", "does not go with at"),
        ({"every": 60, "phase": 31_536_000}, "/phase", "from 0 to 31,535,999"),
        ({"every": 0}, "/every", "from 1 to 31,536,000"),
        ({"cron": 5}, "/cron", "as text"),
        ({"cron": "0 0 30 2 *"}, "/cron", "never"),
        ({"cron": "0 * * * *", "timezone": "Europe/Berlim"}, "/timezone", "Europe/Berlin"),
        ({"cron": "0 * * * *", "timezone": 5}, "/timezone", "text"),
        ({"cron": "0 * * * *", "timezone": ""}, "/timezone", "not an IANA time zone"),
        ({"cron": "0 * * * *", "dst_gap": "jump"}, "/dst_gap", '"shift", "skip"'),
        ({"cron": "0 * * * *", "dst_fold": True}, "/dst_fold", '"first", "both"'),
        ({"at": 5}, "/at", "text"),
    ],
)
def test_a_fault_is_named_with_its_place_and_the_remedy(members, pointer, said):
    assert said in read(**members)[1][pointer]


@pytest.mark.parametrize(("value", "read_as"), [(60, 60), (60.0, 60), (31_536_000, 31_536_000)])
def test_a_whole_number_may_be_written_as_a_float(value, read_as):
    assert accepted(every=value) == IntervalTrigger(every_seconds=read_as)


@pytest.mark.parametrize("value", [True, "60", 60.5, 1e18, 2**63, 2**64, -60, [60]])
def test_what_is_no_whole_number_in_range_is_refused(value):
    assert "whole number" in read(every=value)[1]["/every"]


@pytest.mark.parametrize("cron", ["1," * 499_999 + "1 * * * *", "0" * 5_000 + "5 * * * *"])
def test_c14_a_very_long_expression_is_refused_by_its_length(cron):
    assert "256" in read(cron=cron)[1]["/cron"]


@pytest.mark.parametrize(
    ("at", "timezone", "fires_at"),
    [
        ("2026-11-30T12:05:00", "America/New_York", "2026-11-30T17:05:00Z"),
        ("2026-11-30T12:00:00.500Z", None, "2026-11-30T12:00:00.500Z"),
        ("2026-11-30T12:00:03Z", None, "2026-11-30T12:00:03Z"),
        ("2026-11-30T12:00:03Z", "America/New_York", "2026-11-30T12:00:03Z"),
        ("2027-03-14T02:30:00", "America/New_York", "2027-03-14T07:00:00Z"),  # The gap's end.
        ("2027-11-07T01:30:00", "America/New_York", "2027-11-07T05:30:00Z"),  # The first pass.
    ],
)
def test_c60_an_instant_has_an_offset_or_a_zone(at, timezone, fires_at):
    assert format_instant(accepted(at=at, timezone=timezone).at_ms) == fires_at


@pytest.mark.parametrize("at", ["2026-11-30T12:05:00", "tomorrow", "2026-02-30T00:00:00Z", ""])
def test_c60_an_instant_without_either_is_refused(at):
    assert set(read(at=at)[1]) == {"/at"}


def test_c60_a_local_instant_names_a_zone_and_a_time_that_exist():
    assert set(read(at="2026-11-30T12:05:00", timezone="Nowhere")[1]) == {"/timezone"}
    assert set(read(at="2026-11-30T25:05:00", timezone="America/New_York")[1]) == {"/at"}
