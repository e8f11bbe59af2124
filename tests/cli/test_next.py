"""`offbeat next`."""

import json

import pytest

from tests.cli.conftest import Offbeat

AFTER = ("--after", "2026-11-30T11:59:00Z")


def test_occurrences_carry_the_jitter_of_the_named_schedule(offbeat: Offbeat):
    result = offbeat(
        "next", "0 * * * *", "--name", "nightly-report", "-n", "2", *AFTER, "-o", "json"
    )
    assert result.code == 0
    assert json.loads(result.out) == {
        "occurrences": [
            {"scheduled_for": "2026-11-30T12:00:00Z", "fire_after": "2026-11-30T12:00:45.759Z"},
            {"scheduled_for": "2026-11-30T13:00:00Z", "fire_after": "2026-11-30T13:00:45.759Z"},
        ]
    }


@pytest.mark.parametrize(
    ("options", "fire_after"),
    [
        (["--name", "nightly-report", "--jitter", "6"], "2026-11-30T12:00:03.759Z"),
        (["--name", "nightly-report", "--jitter", "0"], "2026-11-30T12:00:00Z"),
        (["--name", "nightly-report", "--tenant", "acme"], "2026-11-30T12:00:07.942Z"),
        ([], "2026-11-30T12:00:00Z"),
    ],
)
def test_the_offset_depends_on_name_tenant_and_jitter(
    options: list[str], fire_after: str, offbeat: Offbeat
):
    result = offbeat("next", "0 * * * *", "-n", "1", *AFTER, *options, "-o", "json")
    assert json.loads(result.out)["occurrences"][0]["fire_after"] == fire_after


def test_without_a_name_the_jitter_that_a_schedule_would_have_is_mentioned(offbeat: Offbeat):
    assert "up to 60 s of jitter" in offbeat("next", "0 * * * *", *AFTER).err
    assert offbeat("next", "7 * * * *", *AFTER).err == ""
    refused = offbeat("next", "0 * * * *", "--jitter", "5")
    assert (refused.code, "--jitter needs --name" in refused.err) == (2, True)


def test_the_table_shows_the_wall_clock_of_the_zone_across_a_gap(offbeat: Offbeat):
    options = ("--tz", "Europe/Berlin", "--after", "2027-03-27T12:00:00Z", "-n", "2")
    assert offbeat("next", "30 2 * * *", *options).out.splitlines()[1:] == [
        "2027-03-28T01:00:00Z  2027-03-28T01:00:00Z  2027-03-28 03:00:00 +02:00",
        "2027-03-29T00:30:00Z  2027-03-29T00:30:00Z  2027-03-29 02:30:00 +02:00",
    ]


@pytest.mark.parametrize("name", ["", "sch_nightly", "night watch", "-n", "n" * 129, "nächtlich"])
def test_a_name_that_the_api_would_refuse_is_refused(name: str, offbeat: Offbeat):
    refused = offbeat("next", "0 * * * *", f"--name={name}")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "write a name of 1 to 128 letters, digits, dots, hyphens and underscores" in refused.err


def test_a_hashed_field_needs_the_name_it_is_hashed_from(offbeat: Offbeat):
    assert offbeat("next", "H 4 * * *").code == 2
    assert offbeat("next", "H 4 * * *", "--name", "nightly-report").code == 0


def test_where_the_calendar_ends_is_said(offbeat: Offbeat):
    last = offbeat("next", "7 * * * *", "--after", "9998-12-31T22:30:00Z", "-o", "json")
    assert [row["scheduled_for"] for row in json.loads(last.out)["occurrences"]] == [
        "9998-12-31T23:07:00Z"
    ]
    assert last.err == "there are no more: cron timetables end with the year 9998\n"
    assert offbeat("next", "7 * * * *", "-n", "1").err == ""
