"""A second opinion on timetables that shares no code with the engine.

`Scan` looks at every minute of a stretch of time through zoneinfo and asks whether the expression
matches what the clock on the wall shows. It knows nothing of transitions: a gap is a minute after
which the clock shows more than a minute later, a fold is zoneinfo's own `fold`. Slow and plain.

`cronsim_next` asks the cronsim package, and `cronsim_reads` says where its rules are not ours.
`random_cron` makes the expressions for both.
"""

import calendar
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim

MINUTE = timedelta(minutes=1)
BOUNDS = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day": (1, 31),
    "month": (1, 12),
    "weekday": (0, 7),
}
NAMES = {
    "month": ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
    "weekday": ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
}

# Half-hour and two-hour shifts, midnight shifts, Ramadan shifts, winter time as the exception,
# quarter-hour offsets, both sides of the date line, both hemispheres, and some that never change.
ZONE_NAMES = """
Africa/Cairo Africa/Casablanca Africa/El_Aaiun Africa/Lagos America/Adak America/Anchorage
America/Asuncion America/Bogota America/Chicago America/Halifax America/Havana America/Lima
America/Los_Angeles America/Mexico_City America/Miquelon America/New_York America/Nuuk
America/Port-au-Prince America/Santiago America/Sao_Paulo America/Scoresbysund America/St_Johns
America/Tijuana America/Toronto Antarctica/Macquarie Antarctica/Troll Asia/Beirut Asia/Famagusta
Asia/Gaza Asia/Hebron Asia/Jerusalem Asia/Kathmandu Asia/Kolkata Asia/Nicosia Asia/Tehran Asia/Tokyo
Atlantic/Azores Atlantic/Bermuda Australia/Adelaide Australia/Eucla Australia/Lord_Howe
Australia/Sydney Europe/Berlin Europe/Chisinau Europe/Dublin Europe/Lisbon Europe/London
Pacific/Apia Pacific/Auckland Pacific/Chatham Pacific/Easter Pacific/Kiritimati Pacific/Norfolk UTC
"""
ZONES = ZONE_NAMES.split()


@cache
def pinned_zone(name: str) -> ZoneInfo:
    """The zone of the tzdata package, whatever the machine has."""
    with resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def transitions(zone: ZoneInfo, first_year: int, end_year: int) -> list[datetime]:
    """The hours (UTC) in which the zone's offset changes."""
    start, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(end_year, 1, 1, tzinfo=UTC)
    hours = [start + timedelta(hours=n) for n in range((end - start) // timedelta(hours=1))]
    offsets = [hour.astimezone(zone).utcoffset() for hour in hours]
    return [hours[n + 1] for n, (old, new) in enumerate(pairwise(offsets)) if old != new]


@dataclass(frozen=True)
class Minute:
    """One minute as it passed: when it was (Unix seconds), and what the clock showed."""

    at: int
    shown: datetime
    skipped: tuple[datetime, ...]  # What the clock left out just before.


class Scan:
    """Every minute of `start <= t < end` in a zone."""

    def __init__(self, zone: ZoneInfo, start: datetime, end: datetime) -> None:
        self.start_s, self.end_s = int(start.timestamp()), int(end.timestamp())
        self.minutes = list(_minutes(zone, self.start_s, self.end_s))

    def occurrences(
        self, cron: str, *, dst_gap: str = "shift", dst_fold: str = "first"
    ) -> list[int]:
        """The Unix seconds at which `cron` (5 fields, or 6) fires."""
        fields = cron.split()
        seconds = values("second", fields.pop(0)) if len(fields) == 6 else {0}
        fixed = fields[0][0] not in "*?" and fields[1][0] not in "*?"
        matches = matcher(fields)
        found: set[int] = set()
        for minute in self.minutes:
            if fixed and dst_gap == "shift" and any(map(matches, minute.skipped)):
                found.add(minute.at)
            second_pass = fixed and dst_fold == "first" and minute.shown.fold
            if matches(minute.shown) and not second_pass:
                found.update(minute.at + second for second in seconds)
        return sorted(found)


def _minutes(zone: ZoneInfo, start: int, end: int) -> Iterator[Minute]:
    before = datetime.fromtimestamp(start - 60, zone).replace(tzinfo=None)
    for at in range(start, end, 60):
        shown = datetime.fromtimestamp(at, zone).replace(tzinfo=None)
        jump = (shown - before) // MINUTE - 1
        skipped = [before + n * MINUTE for n in range(1, jump + 1)] if jump <= 180 else []
        yield Minute(at, shown, tuple(skipped))
        before = shown


def matcher(fields: list[str]) -> Callable[[datetime], bool]:
    """Whether a wall clock time matches minute, hour, day, month and weekday."""
    minutes, hours, months = (
        values("minute", fields[0]),
        values("hour", fields[1]),
        values("month", fields[3]),
    )

    @cache
    def date_matches(day: date) -> bool:
        by_day, by_weekday = _day_matches(fields[2], day), _weekday_matches(fields[4], day)
        if fields[2][0] in "*?" or fields[4][0] in "*?":
            return by_day and by_weekday
        return by_day or by_weekday

    return lambda shown: (
        shown.minute in minutes
        and shown.hour in hours
        and shown.month in months
        and date_matches(shown.date())
    )


def values(kind: str, text: str) -> set[int]:
    """What a list of numbers, names, stars, ranges and steps stands for, by trying every value."""
    low, high = BOUNDS[kind]
    return {n for n in range(low, high + 1) for item in text.split(",") if _item_has(kind, item, n)}


def _item_has(kind: str, item: str, number: int) -> bool:
    low, high = BOUNDS[kind]
    body, _, step = item.partition("/")
    first, dash, last = body.partition("-")
    start = low if first in "*?" else _value(kind, first)
    end = _value(kind, last) if dash else high if first in "*?" or step else start
    return start <= number <= end and (number - start) % int(step or 1) == 0


def _value(kind: str, text: str) -> int:
    if text.upper() in NAMES.get(kind, []):
        return NAMES[kind].index(text.upper()) + (kind == "month")
    return int(text)


def _day_matches(text: str, day: date) -> bool:
    length = calendar.monthrange(day.year, day.month)[1]
    return any(_day_item_matches(item, day, length) for item in text.upper().split(","))


def _day_item_matches(item: str, day: date, length: int) -> bool:
    if item == "L":
        return day.day == length
    working = [n for n in range(1, length + 1) if day.replace(day=n).weekday() < 5]
    if item == "LW":
        return day.day == working[-1]
    if item.endswith("W"):
        wanted = int(item[:-1])
        return wanted <= length and day.day == min(working, key=lambda n: abs(n - wanted))
    return _item_has("day", item, day.day)


def _weekday_matches(text: str, day: date) -> bool:
    return any(_weekday_item_matches(item, day) for item in text.upper().split(","))


def _weekday_item_matches(item: str, day: date) -> bool:
    own = day.isoweekday()  # Monday is 1, Sunday 7.
    if item.endswith("L") and len(item) > 1:
        return (
            _value("weekday", item[:-1]) % 7 == own % 7 and (day + timedelta(7)).month != day.month
        )
    if "#" in item:
        weekday, _, nth = item.partition("#")
        return _value("weekday", weekday) % 7 == own % 7 and (day.day - 1) // 7 + 1 == int(nth)
    return _item_has("weekday", item, own) or (own == 7 and _item_has("weekday", item, 0))


def cronsim_next(cron: str, zone: ZoneInfo, after: datetime) -> datetime:
    """cronsim's next instant, for an expression that `cronsim_reads`.

    Written as cronsim wants it: no `?`, digits before L, and n for `n-n/s`, which cronsim takes for
    `n/s`. A fixed expression is searched on the naive wall clock from what it shows at `after`; in
    the second pass of a fold that finds the first pass again, which is past and stepped over.
    """
    cron = re.sub(r"\b(\d+)-\1/\d+", r"\1", cron.replace("?", "*").upper().replace("SUNL", "0L"))
    search = CronSim(cron, after.astimezone(zone))
    while (found := next(search).astimezone(UTC)) <= after:
        pass
    return found


def cronsim_reads(cron: str, *, steady: bool) -> bool:
    """Whether cronsim's reading of `cron` is meant to be the one of SPEC section 3.

    It has no nW. It treats every expression with seconds as wildcard. Its search for wildcard ones
    steps from the start of a day or hour by whole hours of real time: where a change of clocks is
    not on whole hours, or swallows a midnight (the zone is not `steady`), it loses matches, answers
    with local times that do not exist, or never ends (`* 3 * * *`, Pacific/Chatham, April 2029).
    """
    *seconds, minute, hour, day, _, _ = cron.split()
    if re.search(r"\dW", day):
        return False
    wildcard = minute[0] in "*?" or hour[0] in "*?"
    return steady if wildcard else not seconds


def is_steady(zone: ZoneInfo, changes: list[datetime]) -> bool:
    """Whether clocks change on whole hours, by whole hours, and never from midnight on."""
    for change in changes:
        before, after = (change - MINUTE).astimezone(zone), change.astimezone(zone)
        if before.minute != 59 or after.minute != 0 or (before.hour == 23 and after.hour != 0):
            return False
    return True


def random_cron(rng: random.Random, hours: Sequence[int]) -> str:
    """An expression of five or six fields that stays near `hours`, where clocks change."""
    hour = rng.choice(
        ["*", "*", f"*/{rng.randint(1, 12)}", "?", _number_field(rng, 0, 23)]
        + [f"{rng.choice(hours)}", _around(rng, hours)] * 3
    )
    minute = rng.choice(
        ["*", f"*/{rng.randint(1, 45)}", "0", "0", "30", "0,30", _number_field(rng, 0, 59)]
    )
    second = rng.choice([""] * 7 + ["0 ", "30 ", "*/20 "])
    day = rng.choice(["*"] * 9 + [f"*/{rng.randint(1, 5)}", "?", _number_field(rng, 1, 31)])
    weekday = rng.choice(
        ["*"] * 9
        + [f"*/{rng.randint(1, 4)}", "MON-FRI", "0", "7", "SUN", "5-7", "6-7", "sat,sun"]
        + [_number_field(rng, 0, 6), f"{rng.randint(0, 6)}/{rng.randint(1, 3)}"]
    )
    day = rng.choice([day] * 8 + ["L", "LW", f"{rng.randint(1, 31)}W", "1,L", "1W,15W,LW"])
    weekday = rng.choice([weekday] * 8 + [f"{rng.randint(0, 7)}L", "0#5", "SUNL", "1#1,7#4"])
    month = rng.choice(["*"] * 6 + ["3-4,10-11", "MAR-MAY,SEP-NOV", "*/2", "2/3"])
    return f"{second}{minute} {hour} {day} {month} {weekday}"


def _around(rng: random.Random, hours: Sequence[int]) -> str:
    start = max(0, rng.choice(hours) - rng.randint(0, 2))
    return f"{start}-{min(23, start + rng.randint(0, 4))}"


def _number_field(rng: random.Random, low: int, high: int) -> str:
    first, last = sorted((rng.randint(low, high), rng.randint(low, high)))
    number, step = rng.randint(low, high), rng.randint(1, 20)
    return rng.choice(
        [
            f"{number}",
            f"{first},{last}",
            f"{first}-{last}",
            f"{first}-{last}/{step}",
            f"{number}/{step}",
        ]
    )
