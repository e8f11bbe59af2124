"""Time zones as stretches of constant offset.

**Theory.** What a zone does to a wall clock is a step function: UTC plus an offset that changes at
isolated instants. Between two changes wall time is UTC moved by a constant, so a question about
the wall clock becomes one about UTC by adding and subtracting; only at the changes is there
anything to decide, and that belongs to whoever asks.

zoneinfo tells the offset at an instant but not when it changes. The changes are found by looking
every six days and halving where two looks differ. That misses a pair of changes that cancel out
inside six days; since 1970 the closest such pair is 6.96 days apart (America/Recife, October 2000;
a test looks through the whole database).

The data come from the pinned `tzdata` package and never from the machine, which may be years behind
or have none: the same row must give the same instants on every node.

Instants and offsets are whole seconds.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from operator import attrgetter
from zoneinfo import ZoneInfo

from engine.core.identity import MAX_INSTANT_MS
from engine.core.zone_names import check_timezone

LOOK_SECONDS = 6 * 86_400  # How far apart the search for changes looks; see above.
OFFSET_SECONDS_MAX = (
    48 * 3600
)  # More than any zone is from UTC; a wall time minus this is surely earlier.
ZONES_MAX = 640  # All of them; a few kilobytes each.
SPANS_MAX = 1024  # Spans of stretches kept: most zones are asked about one or two.

_SPAN_SECONDS = 1 << 28  # Eight and a half years, about 1 ms to look through.
_LAST_SECOND = MAX_INSTANT_MS // 1000 - 86_400  # No clock anywhere shows the year 10000 then.
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """UTC seconds `start <= s < end` with wall time `s + offset`.

    `offset_before` is the offset just before `start`; it may be the same, since long stretches are
    cut where the search for changes was.
    """

    start: int
    end: int
    offset: int
    offset_before: int


def stretch_at(zone: str, second: int) -> Stretch:
    """The stretch of a known zone that holds a UTC second."""
    stretches = _stretches(zone, second // _SPAN_SECONDS)
    return stretches[bisect_right(stretches, second, key=_START) - 1]


def read_local_instant(text: str, timezone: str) -> int:
    """The instant in ms at which clocks in `timezone` show `text` (`2026-11-30T12:05:00`).

    A time that a gap swallows is the gap's end; one that occurs twice is the first. Raises
    ValueError for a text that is no local date and time, Invalid for an unknown zone.
    """
    check_timezone(timezone)
    if _LOCAL.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is no local time; write it like 2026-11-30T12:05:00")
    wall_ms = (datetime.fromisoformat(text) - _WALL_EPOCH) // timedelta(milliseconds=1)
    if wall_ms < 0:
        raise ValueError(f"{text[:40]!r} is before 1970")
    stretch = stretch_at(timezone, wall_ms // 1000 - OFFSET_SECONDS_MAX)
    while wall_ms >= (stretch.end + stretch.offset) * 1000:
        stretch = stretch_at(timezone, stretch.end)
    return max(wall_ms - stretch.offset * 1000, stretch.start * 1000)


_START = attrgetter("start")
_WALL_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive on purpose: a wall clock has no zone.


@lru_cache(maxsize=ZONES_MAX)
def _load(zone: str) -> ZoneInfo:
    with (resources.files("tzdata.zoneinfo") / zone).open("rb") as file:
        return ZoneInfo.from_file(file, key=zone)


@lru_cache(maxsize=SPANS_MAX)
def _stretches(zone: str, span: int) -> tuple[Stretch, ...]:
    info = _load(zone)
    start, end = span * _SPAN_SECONDS, (span + 1) * _SPAN_SECONDS
    looks = [(at, _offset(info, at)) for at in (*range(start, end, LOOK_SECONDS), end - 1)]
    cuts = [start]
    for before, after in pairwise(looks):
        cuts.extend(_changes(info, before, after))
    return tuple(
        Stretch(
            start=low,
            end=high,
            offset=_offset(info, low),
            offset_before=_offset(info, low - 1),
        )
        for low, high in pairwise([*cuts, end])
    )


def _changes(info: ZoneInfo, before: tuple[int, int], after: tuple[int, int]) -> Iterator[int]:
    """The seconds at which a new offset begins between two (second, offset), in order."""
    (low, offset_before), (high, offset_after) = before, after
    if offset_before == offset_after:
        return
    if high - low == 1:
        yield high
        return
    middle = (low + high) // 2
    between = middle, _offset(info, middle)
    yield from _changes(info, before, between)
    yield from _changes(info, between, after)


def _offset(info: ZoneInfo, second: int) -> int:
    offset = datetime.fromtimestamp(min(second, _LAST_SECOND), info).utcoffset()
    assert offset is not None, "a ZoneInfo always has an offset"
    return offset.days * 86_400 + offset.seconds
