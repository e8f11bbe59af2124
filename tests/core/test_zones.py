"""Stretches of constant offset against the database itself, and local times made instants."""

import struct
from importlib import resources

import pytest

from engine.core.errors import Invalid
from engine.core.identity import format_instant, parse_instant
from engine.core.zone_names import zone_names
from engine.core.zones import LOOK_SECONDS, read_local_instant, stretch_at

YEAR_2050 = 2_524_608_000


def changes_in_the_file(data: bytes) -> list[tuple[int, int]]:
    """(instant, new offset) from 1970 on, as a TZif file lists them (RFC 8536)."""
    head = struct.Struct(">4s c 15x 6l")

    def block(at: int, time_size: int) -> tuple[int, int, int, int]:
        _, _, utc, std, leaps, times, kinds, letters = head.unpack_from(data, at)
        body = at + head.size
        rest = times * (time_size + 1) + kinds * 6 + letters + leaps * (time_size + 4) + std + utc
        return body, times, kinds, body + rest

    *_, second = block(0, 4)
    body, times, kinds, _ = block(second, 8)
    instants = struct.unpack_from(f">{times}q", data, body)
    which = data[body + times * 8 : body + times * 9]
    offsets = [struct.unpack_from(">l", data, body + times * 9 + 6 * n)[0] for n in range(kinds)]
    steps = [(instant, offsets[kind]) for instant, kind in zip(instants, which, strict=True)]
    before = [offsets[0], *(offset for _, offset in steps)]
    return [
        step for step, old in zip(steps, before, strict=False) if step[1] != old and step[0] > 0
    ]


@pytest.mark.parametrize("initial", sorted({name[0] for name in zone_names()}))
def test_no_change_of_any_zone_since_1970_is_missed(initial):
    names = sorted(name for name in zone_names() if name.startswith(initial))
    seen: set[bytes] = set()
    for name in names:
        data = (resources.files("tzdata.zoneinfo") / name).read_bytes()
        if data in seen:  # An alias.
            continue
        seen.add(data)
        expected = [step for step in changes_in_the_file(data) if step[0] < YEAR_2050]
        found, last = [], expected[-1][0] if expected else 0
        stretch = stretch_at(name, 0)
        while stretch.end <= last:
            following = stretch_at(name, stretch.end)
            assert (following.start, following.offset_before) == (stretch.end, stretch.offset)
            if following.offset != stretch.offset:
                found.append((following.start, following.offset))
            stretch = following
        assert found == expected, name


def test_two_changes_that_cancel_out_are_further_apart_than_two_looks():
    held = []
    for name in zone_names():
        changes = changes_in_the_file((resources.files("tzdata.zoneinfo") / name).read_bytes())
        for (_, before), (start, _), (end, after) in zip(
            changes, changes[1:], changes[2:], strict=False
        ):
            if before == after:
                held.append(end - start)
    assert min(held) > LOOK_SECONDS


def test_changes_go_on_by_rule_where_the_file_ends():
    stretch = stretch_at("Europe/Berlin", parse_instant("2499-07-01T00:00:00Z") // 1000)
    assert format_instant(stretch.start * 1000) == "2499-03-29T01:00:00Z"
    assert format_instant(stretch.end * 1000) == "2499-10-25T01:00:00Z"
    assert (stretch.offset_before, stretch.offset) == (3600, 7200)


LOCAL = [
    ("2026-11-30T12:05:00", "America/New_York", "2026-11-30T17:05:00Z"),
    ("2026-11-30 12:05", "America/New_York", "2026-11-30T17:05:00Z"),
    ("2026-11-30T12:05:00.250", "Asia/Kolkata", "2026-11-30T06:35:00.250Z"),
    ("2026-11-30T12:05:00", "UTC", "2026-11-30T12:05:00Z"),
    ("2027-03-14T01:59:59.999", "America/New_York", "2027-03-14T06:59:59.999Z"),
    ("2027-03-14T02:00:00", "America/New_York", "2027-03-14T07:00:00Z"),
    ("2027-03-14T02:30:00", "America/New_York", "2027-03-14T07:00:00Z"),  # In the gap.
    ("2027-03-14T02:59:59.999", "America/New_York", "2027-03-14T07:00:00Z"),
    ("2027-03-14T03:00:00", "America/New_York", "2027-03-14T07:00:00Z"),
    ("2027-11-07T01:30:00", "America/New_York", "2027-11-07T05:30:00Z"),  # Twice: the first.
    ("2027-11-07T02:00:00", "America/New_York", "2027-11-07T07:00:00Z"),
    ("2011-12-30T09:00:00", "Pacific/Apia", "2011-12-30T10:00:00Z"),  # No such day.
    ("2027-04-04T01:45:00", "Australia/Lord_Howe", "2027-04-03T14:45:00Z"),
    ("1970-01-01T00:00:00", "America/New_York", "1970-01-01T05:00:00Z"),
    ("9999-12-30T00:00:00", "Pacific/Kiritimati", "9999-12-29T10:00:00Z"),
]


@pytest.mark.parametrize(("text", "zone", "instant"), LOCAL)
def test_a_local_time_is_the_first_instant_that_shows_it_or_the_end_of_the_gap(text, zone, instant):
    assert format_instant(read_local_instant(text, zone)) == instant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12:05",
        "2026-11-30",
        "2026-11-30T12:05:00Z",
        "2026-11-30T12:05:00+01:00",
        "2026-11-30T12:05:00.1234",
        "2026-02-29T12:05:00",
        "2026-11-30T24:00:00",
        "2026-W01-1T12:05:00",
        "0000-01-01T00:00:00",
        "0001-01-01T00:00:00",
        "1969-12-31T23:59:59",
        "\u0662026-11-30T12:05:00",
    ],
)
def test_what_is_no_local_time_is_refused(text):
    with pytest.raises(ValueError, match=r"local time|range|month|must be|before 1970"):
        read_local_instant(text, "Europe/Berlin")


def test_an_unknown_zone_is_refused():
    with pytest.raises(Invalid, match="/timezone"):
        read_local_instant("2026-11-30T12:05:00", "Europe/Berln")
