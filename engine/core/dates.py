"""Which dates a cron expression matches, on the plain Gregorian calendar.

**Theory.** A month is known by the weekday of its first day and by its length, so there are only
28 kinds of month, and whether a date matches depends on its kind, its number and the month's name.
A pattern is therefore 28 bit masks (bit d: day d matches) and a set of months. Finding, counting
and picking dates are bit operations on one number per month: a search over 41 years looks at 492 of
them, and an expression never occurs exactly when every mask that its months can have is 0. No
search is needed to know that, so none can run away.

**Prior art.** Vixie cron and cronie test each minute against bit sets; croniter and cronsim step
through the calendar field by field (35 to 120 us a date). croniter answers here what a number alone
cannot: `L`, `5L`, `1#2`, `15W` and `LW`. It is asked on naive dates, for one form at a time with
every other field a star, once per kind of month; so its own readings of lists, of equal ranges, of
two day fields and of daylight saving are never reached, and its cost is paid once in a process.

A day is a whole number, days since 1970-01-01.
"""

import calendar
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from functools import lru_cache

from croniter import croniter

from engine.core.cron_fields import DateFields

PATTERNS_MAX = 1024  # Shared by timetables; half a kilobyte each.
MONTHS_MAX = 12 * 400  # The calendar repeats after 400 years.
FORMS_MAX = 75  # L, LW, 31 of nW, 7 of nL, 35 of n#k: all there are.

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_KINDS = range(7 * 4)
_LENGTHS = {2: (28, 29)} | dict.fromkeys((4, 6, 9, 11), (30,))


class DatePattern:
    """The matching dates; ranges of days are half-open."""

    __slots__ = ("_masks", "_months")

    def __init__(self, fields: DateFields) -> None:
        self._months = _bits(fields.months)
        self._masks = tuple(_mask(fields, kind) for kind in _KINDS)

    def __contains__(self, day: int) -> bool:
        month, number = _locate(day)
        return bool(self._month(month)[1] >> number & 1)

    def ever(self) -> bool:
        """Whether any date matches at all."""
        return any(
            self._masks[first * 4 + length - 28]
            for month in range(1, 13)
            if self._months >> month & 1
            for length in _LENGTHS.get(month, (31,))
            for first in range(7)
        )

    def first(self, low: int, high: int) -> int | None:
        """The earliest matching day in `low <= day < high`."""
        return self.nth(low, high, 0)

    def last(self, low: int, high: int) -> int | None:
        """The latest matching day in `low <= day < high`."""
        month, number = _locate(high)
        start, mask = self._month(month)
        mask &= (1 << number) - 1
        while not mask:
            if start <= low:
                return None
            month -= 1
            start, mask = self._month(month)
        day = start + mask.bit_length() - 2
        return day if day >= low else None

    def count(self, low: int, high: int) -> int:
        """How many days match in `low <= day < high`."""
        (month, number), (end, end_number) = _locate(low), _locate(high)
        whole = sum(self._month(m)[1].bit_count() for m in range(month, end))
        return whole + self._count_before(end, end_number) - self._count_before(month, number)

    def nth(self, low: int, high: int, index: int) -> int | None:
        """The matching day number `index` (from 0) in `low <= day < high`."""
        month, number = _locate(low)
        start, mask = self._month(month)
        mask = mask >> number << number
        while (found := mask.bit_count()) <= index:
            index -= found
            month += 1
            start, mask = self._month(month)
            if start >= high:
                return None
        for _ in range(index):
            mask &= mask - 1
        day = start + (mask & -mask).bit_length() - 2
        return day if day < high else None

    def _count_before(self, month: int, number: int) -> int:
        """How many days of a month match before its day `number`."""
        return (self._month(month)[1] & ((1 << number) - 1)).bit_count()

    def _month(self, month: int) -> tuple[int, int]:
        """A month's first day, and its mask."""
        start, kind = _calendar_month(month)
        return start, self._masks[kind] if self._months >> (month % 12 + 1) & 1 else 0


@lru_cache(maxsize=PATTERNS_MAX)
def date_pattern(fields: DateFields) -> DatePattern:
    """The pattern of `fields`, shared."""
    return DatePattern(fields)


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def _locate(day: int) -> tuple[int, int]:
    """A day's month (12 * year + month - 1) and its number in the month."""
    found = date.fromordinal(day + _EPOCH_ORDINAL)
    return found.year * 12 + found.month - 1, found.day


@lru_cache(maxsize=MONTHS_MAX)
def _calendar_month(month: int) -> tuple[int, int]:
    """A month's first day, and its kind: 4 * weekday of the first (Sunday is 0) + length - 28."""
    year, index = divmod(month, 12)
    first, length = calendar.monthrange(year, index + 1)
    return date(year, index + 1, 1).toordinal() - _EPOCH_ORDINAL, _kind(first, length)


def _kind(first: int, length: int) -> int:
    """`first` as `calendar` counts, from Monday."""
    return (first + 1) % 7 * 4 + length - 28


def _mask(fields: DateFields, kind: int) -> int:
    """The days of a month of this kind that match, under cronie's rule for the two day fields."""
    first, length = kind // 4, kind % 4 + 28
    month = _bits(range(1, length + 1))
    days = _bits(fields.days) & month
    weekdays = _bits(
        day for day in range(1, length + 1) if (first + day - 1) % 7 in fields.weekdays
    )
    for form in fields.day_forms:
        days |= _form_days(form)[kind]
    for form in fields.weekday_forms:
        weekdays |= _form_days(form)[kind]
    return days & weekdays if fields.both else days | weekdays


@lru_cache(maxsize=FORMS_MAX)
def _form_days(form: str) -> tuple[int, ...]:
    """For each kind of month, the day that a calendar form names, as a mask (0: none).

    croniter takes `31w` in a shorter month for its last weekday. That is what LW means, and not
    what 31W means here: like a plain 31, it waits for a month that has such a day.
    """
    asked = "31w" if form == "lw" else form
    length_min = int(form[:-1]) if form[-1] == "w" and form != "lw" else 0
    search = croniter(f"0 0 {asked} * *" if asked[-1] in "lw" else f"0 0 * * {asked}", 0)
    return tuple(
        _ask(search, _EXAMPLES[kind]) if kind % 4 + 28 >= length_min else 0 for kind in _KINDS
    )


def _ask(search: croniter, first: datetime) -> int:
    """The day that croniter finds in the month that begins at `first`, as a mask."""
    found: datetime = search.get_next(datetime, start_time=first - timedelta(seconds=1))
    return 1 << found.day if (found.year, found.month) == (first.year, first.month) else 0


# A month of each kind. Naive on purpose: the plain calendar has no zone.
_EXAMPLES = {
    _kind(*calendar.monthrange(year, month)): datetime(year, month, 1)  # noqa: DTZ001
    for year in range(2000, 2028)
    for month in range(1, 13)
}
