"""Names of zones: what is accepted, and what to write instead of the rest."""

from importlib import resources

import pytest

from engine.core.errors import Invalid
from engine.core.zone_names import check_timezone, zone_names

ACCEPTED = [
    "UTC",
    "GMT",
    "Zulu",
    "Europe/Berlin",
    "America/Argentina/Buenos_Aires",
    "Europe/Kyiv",
    "Europe/Kiev",  # Aliases are as good as names.
    "Asia/Calcutta",
    "US/Eastern",
    "Japan",
    "Etc/GMT+5",
    "Etc/UTC",
]

REFUSED = [
    ("EST", "is an abbreviation, not a zone; name the place, such as America/New_York"),
    ("EST5", "such as America/New_York"),
    ("EST5EDT", "such as America/New_York"),
    ("CET", "such as Europe/Berlin"),
    ("CET-1CEST,M3.5.0,M10.5.0/3", "such as Europe/Berlin"),
    ("cest", "such as Europe/Berlin"),
    ("IST", "such as Asia/Kolkata"),
    ("UTC+3", "is an offset, not a zone; write Etc/GMT-3"),
    ("UTC-05:00", "write Etc/GMT+5"),
    ("GMT+2", "write Etc/GMT-2"),
    ("+0100", "write Etc/GMT-1"),
    ("GMT+0", "write UTC"),
    ("-00:00", "write UTC"),
    ("Z", "'Z' is an offset, not a zone; write UTC"),
    ("NZDT", "write a name such as Europe/Berlin"),  # Not NZ, nor UCT for CLT: who knows?
    ("CLT", "write a name such as Europe/Berlin"),
    ("gb", "write GB"),
    ("Rome", "write Europe/Rome"),
    ("UTC+5:30", "write the place, such as Asia/Kolkata"),
    ("-13", "write the place"),
    ("europe/berlin", "is not an IANA time zone; write Europe/Berlin"),
    ("Europe/Berln", "write Europe/Berlin"),
    ("Berlin", "write Europe/Berlin"),
    ("New York", "write America/New_York"),
    ("America/New York", "write America/New_York"),
    ("Mars/Olympus_Mons", "write a name such as Europe/Berlin"),
    ("Europe", "is not an IANA time zone"),  # A folder of the database.
    ("Europe/", "is not an IANA time zone"),
    ("/etc/localtime", "is not an IANA time zone"),
    ("../zoneinfo/UTC", "is not an IANA time zone"),
    ("Europe/../UTC", "is not an IANA time zone"),
    ("Europe/Berlin\0", "is not an IANA time zone"),
    ("localtime", "is not an IANA time zone"),
    ("posixrules", "is not an IANA time zone"),
    ("Factory", "is not an IANA time zone"),
    ("zones", "is not an IANA time zone"),
    ("\u00dcrumqi", "is not an IANA time zone"),
    ("", "'' is not an IANA time zone"),
    ("Europe/Berlin" + " " * 60, "write a name such as Europe/Berlin"),  # Too long to compare.
    ("x" * 100_000, "write a name such as Europe/Berlin"),
]


@pytest.mark.parametrize("name", ACCEPTED)
def test_iana_names_and_their_aliases_are_accepted(name):
    check_timezone(name)


@pytest.mark.parametrize(("name", "says"), REFUSED)
def test_other_names_are_refused_with_what_to_write(name, says):
    with pytest.raises(Invalid) as refused:
        check_timezone(name)
    [fault] = refused.value.faults
    assert fault.pointer == "/timezone"
    assert says in fault.detail
    assert len(fault.detail) < 200


def test_every_zone_with_a_place_in_its_name_is_accepted():
    names = (resources.files("tzdata") / "zones").read_text("ascii").split()
    assert {name for name in names if "/" in name} <= zone_names()
