"""Which names of time zones are accepted, and what to write instead of the others.

The names are those of the pinned `tzdata` package, aliases included, so they do not depend on the
machine. Abbreviations are refused even where IANA keeps them as links (`EST`, `CET`, `EST5EDT`):
one who writes `EST` may mean New York, Panama or Sydney, and `Etc/GMT+5` says so if five hours
behind all year is meant.
"""

import re
from difflib import get_close_matches
from functools import cache
from importlib import resources

from engine.core.errors import Fault, Invalid

NAME_LENGTH_MAX = 64  # Twice the longest name; bounds the work of finding a near one.
ABBREVIATION_LENGTH_MAX = 4
"""So short a name is an abbreviation, and what it looks like says nothing of what it means."""

# What people write, and where the clock shows it.
_ABBREVIATIONS = {
    "AEDT": "Australia/Sydney",
    "AEST": "Australia/Sydney",
    "AKST": "America/Anchorage",
    "AST": "America/Halifax",
    "BST": "Europe/London",
    "CDT": "America/Chicago",
    "CEST": "Europe/Berlin",
    "CET": "Europe/Berlin",
    "CST": "America/Chicago",
    "EDT": "America/New_York",
    "EEST": "Europe/Athens",
    "EET": "Europe/Athens",
    "EST": "America/New_York",
    "HST": "Pacific/Honolulu",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
    "MDT": "America/Denver",
    "MET": "Europe/Berlin",
    "MSK": "Europe/Moscow",
    "MST": "America/Denver",
    "NZST": "Pacific/Auckland",
    "PDT": "America/Los_Angeles",
    "PST": "America/Los_Angeles",
    "SGT": "Asia/Singapore",
    "WEST": "Europe/Lisbon",
    "WET": "Europe/Lisbon",
}
_OFFSET = re.compile(r"Z|(?:UTC|GMT)?([+-])?0*(\d{1,2}?)(?::?([0-5]\d))?", re.ASCII | re.IGNORECASE)
_POSIX = re.compile(r"([A-Z]{3,4})(?:[+-]?\d.*)?", re.ASCII | re.IGNORECASE)


def check_timezone(name: str) -> None:
    """Invalid, with what to write instead, unless `name` is an IANA zone."""
    if name not in zone_names():
        raise Invalid(Fault("/timezone", _advice(name)))


@cache
def zone_names() -> frozenset[str]:
    """Every name that is accepted, aliases included."""
    names = (resources.files("tzdata") / "zones").read_text("ascii").split()
    return frozenset(name for name in names if name != "Factory" and not _is_abbreviation(name))


def _is_abbreviation(name: str) -> bool:
    match = _POSIX.fullmatch(name)
    return _OFFSET.fullmatch(name) is not None or (match is not None and match[1] in _ABBREVIATIONS)


def _advice(name: str) -> str:
    shown = repr(name[:NAME_LENGTH_MAX])
    if match := _OFFSET.fullmatch(name):
        return f"{shown} is an offset, not a zone; write {_fixed_zone(*match.groups())}"
    if (match := _POSIX.fullmatch(name)) and match[1].upper() in _ABBREVIATIONS:
        place = _ABBREVIATIONS[match[1].upper()]
        return f"{shown} is an abbreviation, not a zone; name the place, such as {place}"
    near = _nearest(name)
    return f"{shown} is not an IANA time zone; write {near or 'a name such as Europe/Berlin'}"


def _fixed_zone(sign: str | None, hours: str | None, minutes: str | None) -> str:
    """The zone of a fixed offset. The sign in its name is the reverse: POSIX counts westwards."""
    if hours is None or (int(hours) == 0 and int(minutes or 0) == 0):
        return "UTC"
    if int(minutes or 0) or int(hours) > (12 if sign == "-" else 14):
        return "the place, such as Asia/Kolkata"
    return f"Etc/GMT{'+' if sign == '-' else '-'}{int(hours)}"


def _nearest(name: str) -> str | None:
    if len(name) > NAME_LENGTH_MAX:
        return None
    by_lower = {known.lower(): known for known in sorted(zone_names())}
    wanted = name.strip().lower().replace(" ", "_")
    cities = (lower for lower in by_lower if lower.rpartition("/")[2] == wanted)
    near = wanted if wanted in by_lower else next(cities, None)
    if near is None and len(wanted) > ABBREVIATION_LENGTH_MAX:
        near = next(iter(get_close_matches(wanted, by_lower, n=1)), None)
    return by_lower[near] if near else None
