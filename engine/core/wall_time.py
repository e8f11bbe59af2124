"""Which seconds of the wall clock a cron expression matches, with no zone in sight.

A wall second is a whole number: seconds since 1970-01-01T00:00:00 as a clock on the wall shows
them. A pattern is dates times times of day, and the times of day are hours times minutes times
seconds, so they are ranked and picked by arithmetic in mixed radix: `* * * * * *` costs no more
memory or time than `0 0 * * *`. Ranges are half-open.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from engine.core.cron_fields import CronFields, TimeFields
from engine.core.dates import DatePattern, date_pattern

DAY_SECONDS = 86_400


class TimesOfDay:
    """The times of one day in order; a time is seconds since midnight."""

    __slots__ = ("_fields", "_per_hour", "_per_minute", "total")

    def __init__(self, fields: TimeFields) -> None:
        self._fields = fields
        self._per_minute = len(fields.seconds)
        self._per_hour = len(fields.minutes) * self._per_minute
        self.total = len(fields.hours) * self._per_hour

    def __contains__(self, time: int) -> bool:
        rank = self.rank(time)
        return rank < self.total and self.pick(rank) == time

    def rank(self, time: int) -> int:
        """How many times come before `time` (0 to 86,400)."""
        hours, minutes, seconds = self._fields.hours, self._fields.minutes, self._fields.seconds
        hour, rest = divmod(time, 3600)
        rank = (index := bisect_left(hours, hour)) * self._per_hour
        if index == len(hours) or hours[index] != hour:
            return rank
        minute, second = divmod(rest, 60)
        rank += (index := bisect_left(minutes, minute)) * self._per_minute
        if index == len(minutes) or minutes[index] != minute:
            return rank
        return rank + bisect_left(seconds, second)

    def pick(self, rank: int) -> int:
        """The time with `rank` times before it; 0 <= rank < total."""
        hour, rest = divmod(rank, self._per_hour)
        minute, second = divmod(rest, self._per_minute)
        fields = self._fields
        return fields.hours[hour] * 3600 + fields.minutes[minute] * 60 + fields.seconds[second]

    def between(self, low: int, high: int) -> Iterator[int]:
        """The times in `low <= time < high`, in order; whole hours at a fifth of the price."""
        hours, minutes, seconds = self._fields.hours, self._fields.minutes, self._fields.seconds
        in_hour: list[int] = []
        for hour in hours[bisect_left(hours, low // 3600) :]:
            start = hour * 3600
            if start >= high:
                return
            if low <= start and start + 3600 <= high:
                in_hour = in_hour or [minute * 60 + s for minute in minutes for s in seconds]
                yield from map(start.__add__, in_hour)
            else:
                yield from self._between_in_hour(start, low, high)

    def _between_in_hour(self, hour_start: int, low: int, high: int) -> Iterator[int]:
        for minute in self._fields.minutes:
            start = hour_start + minute * 60
            if start >= high:
                return
            if start + 60 > low:
                yield from (start + s for s in self._fields.seconds if low <= start + s < high)

    def shortest_gap(self) -> int:
        """Seconds between the closest neighbours, around midnight too; 86,400 for a lone time."""
        fields = self._fields
        minute_span = fields.seconds[-1] - fields.seconds[0]
        hour_span = (fields.minutes[-1] - fields.minutes[0]) * 60 + minute_span
        day_span = (fields.hours[-1] - fields.hours[0]) * 3600 + hour_span
        gaps = [
            DAY_SECONDS - day_span,
            *_gaps(fields.seconds, 1, 0),
            *_gaps(fields.minutes, 60, minute_span),
            *_gaps(fields.hours, 3600, hour_span),
        ]
        return min(gaps)


class WallPattern:
    """The matching wall seconds."""

    __slots__ = ("dates", "times")

    def __init__(self, fields: CronFields) -> None:
        self.dates: DatePattern = date_pattern(fields.date)
        self.times = TimesOfDay(fields.time)

    def __contains__(self, wall: int) -> bool:
        day, time = divmod(wall, DAY_SECONDS)
        return time in self.times and day in self.dates

    def first(self, low: int, high: int) -> int | None:
        """The earliest match in `low <= wall < high`."""
        return self.nth(low, high, 0)

    def last(self, low: int, high: int) -> int | None:
        """The latest match in `low <= wall < high`."""
        day, time = divmod(high, DAY_SECONDS)
        rank = self.times.rank(time)
        if rank == 0 or day not in self.dates:
            found = self.dates.last(low // DAY_SECONDS, day)
            if found is None:
                return None
            day, rank = found, self.times.total
        wall = day * DAY_SECONDS + self.times.pick(rank - 1)
        return wall if wall >= low else None

    def between(self, low: int, high: int) -> Iterator[int]:
        """The matches in `low <= wall < high`, in order, each at a tenth of the price of `nth`."""
        end = -(-high // DAY_SECONDS)
        day = self.dates.first(low // DAY_SECONDS, end)
        while day is not None:
            midnight = day * DAY_SECONDS
            times = self.times.between(max(0, low - midnight), high - midnight)
            yield from map(midnight.__add__, times)
            day = self.dates.first(day + 1, end)

    def count(self, low: int, high: int) -> int:
        """How many match in `low <= wall < high`."""
        days = self.dates.count(low // DAY_SECONDS, high // DAY_SECONDS)
        return days * self.times.total + self._rank_in_day(high) - self._rank_in_day(low)

    def nth(self, low: int, high: int, index: int) -> int | None:
        """The match number `index` (from 0) in `low <= wall < high`."""
        days, rank = divmod(index + self._rank_in_day(low), self.times.total)
        day = self.dates.nth(low // DAY_SECONDS, -(-high // DAY_SECONDS), days)
        if day is None:
            return None
        wall = day * DAY_SECONDS + self.times.pick(rank)
        return wall if wall < high else None

    def _rank_in_day(self, wall: int) -> int:
        """Matches on the same day before `wall`."""
        day, time = divmod(wall, DAY_SECONDS)
        return self.times.rank(time) if time and day in self.dates else 0


def _gaps(values: Sequence[int], unit: int, span: int) -> list[int]:
    """From the last match under a value to the first under the next, a value being `unit` long."""
    return [(after - before) * unit - span for before, after in pairwise(values)]
