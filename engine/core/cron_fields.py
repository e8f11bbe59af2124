"""The fields of a cron expression: from text to sets of numbers, or to a reason why not.

The grammar is cronie's (crontab(5)) with Quartz's calendar forms and Jenkins' `H` (SPEC §3):

    expression  [second] minute hour day month weekday, or a nickname such as @daily
    field       item {"," item}
    item        ("*" | "?" | n | n "-" n) ["/" step]     n: digits or a three-letter name
                "H" ["(" n "-" n ")"] ["/" step]         the same value for one schedule, for ever
                "L" | "LW" | n "W"                       day: last, last and nearest weekday
                n "L" | n "#" k                          weekday: last and k-th of the month

A form is either right or refused. Libraries differ over what a doubtful one means (`5-5`, `1/2`,
`L-3`, a reversed range), and a job that runs at a time nobody asked for is worse than an error.

The text has at most 256 characters and each is looked at a fixed number of times, so nothing here
takes long, whatever it holds.
"""

import re
from dataclasses import dataclass

from engine.core.cron_text import split_fields
from engine.core.errors import Fault, Invalid
from engine.core.identity import hashed_field

CALENDAR_FORMS_MAX = 4
"""Of `L`, `W` and `#` in a field: croniter takes up to 1 ms over each, once in a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFields:
    """Which seconds, minutes and hours; each sorted and not empty."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DateFields:
    """Which dates: plain numbers (Sunday is 0), and calendar forms in croniter's spelling.

    `both`: a date must match day and weekday; otherwise either will do.
    """

    days: tuple[int, ...]
    day_forms: tuple[str, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    weekday_forms: tuple[str, ...]
    both: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CronFields:
    """What a cron expression says.

    `fixed`: neither the minute nor the hour field begins with `*`, so the jobs keep their wall
    clock time over a change of the clocks (SPEC §3, cronie's `MIN_STAR` and `HR_STAR`).
    """

    time: TimeFields
    date: DateFields
    fixed: bool


def read_fields(resolved: str) -> CronFields:
    """Parse an expression without `H`; Invalid names every item that is wrong."""
    texts = split_fields(resolved)
    if len(texts) < len(_FIELDS):
        texts = ["0", *texts]
    faults: list[Fault] = []
    second, minute, hour, day, month, weekday = (
        _read_field(field, text, faults) for field, text in zip(_FIELDS, texts, strict=True)
    )
    if faults:
        raise Invalid(*faults)
    return CronFields(
        time=TimeFields(seconds=second.numbers, minutes=minute.numbers, hours=hour.numbers),
        date=DateFields(
            days=day.numbers,
            day_forms=day.forms,
            months=month.numbers,
            weekdays=weekday.numbers,
            weekday_forms=weekday.forms,
            both=_is_star(texts[3]) or _is_star(texts[5]),
        ),
        fixed=not (_is_star(texts[1]) or _is_star(texts[2])),
    )


def resolve(text: str, schedule_id: str | None) -> str:
    """The expression with nicknames expanded and each `H` replaced by the schedule's own number.

    Without a schedule every `H` stays, and `read_fields` refuses it.
    """
    texts = split_fields(text)
    faults: list[Fault] = []
    if schedule_id is not None:
        fields = _FIELDS[-len(texts) :]
        texts = [
            ",".join(_resolve_item(field, item, schedule_id, faults) for item in text.split(","))
            for field, text in zip(fields, texts, strict=True)
        ]
    if faults:
        raise Invalid(*faults)
    return " ".join(texts)


@dataclass(frozen=True, slots=True)
class _Field:
    """A column of the expression: its bounds, those of a bare `H`, and its names."""

    name: str
    low: int
    high: int
    hash_high: int
    names: tuple[str, ...] = ()


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

# `*` in the weekday field is 0-7 as in cronie, so `1/2` reaches Sunday as 7. `H` keeps to the days
# that every month has, and to one Sunday.
_FIELDS = (
    _Field("second", 0, 59, 59),
    _Field("minute", 0, 59, 59),
    _Field("hour", 0, 23, 23),
    _Field("day", 1, 31, 28),
    _Field("month", 1, 12, 12, _MONTHS),
    _Field("weekday", 0, 7, 6, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class _Values:
    numbers: tuple[int, ...]
    forms: tuple[str, ...]


class _Refused(Exception):
    """One item is wrong; the text says what to write."""


_RANGE = re.compile(r"(?:[*?]|(\w+)(?:-(\w+))?)(?:/(\w+))?", re.ASCII)
_HASH = re.compile(r"H(?:\((\w+)-(\w+)\))?(?:/(\w+))?", re.ASCII | re.IGNORECASE)
_ADVICE = [
    (re.compile(pattern, re.IGNORECASE), advice)
    for pattern, advice in (
        ("", "is empty; leave out the comma"),
        (r"H\b.*", "write H, H(a-b) or H/n, in a schedule: it is resolved by the schedule's id"),
        (r"R\b.*|.*~.*", "a random time would differ from node to node; write H or H(a-b)"),
        (r"L.*|\dL|\w{3}L", "write L (last day) as a day, 5L (last Friday) as a weekday"),
        (r"\d*W\d*|LW", "write 15W or LW (weekdays of the month) as a day"),
        (r".*#.*", "write 1#2 (second Monday), at most #5, as a weekday"),
    )
]


def _is_star(text: str) -> bool:
    """Whether a field counts as a star: its first character decides, as in cronie."""
    return text[0] in "*?"


def _read_field(field: _Field, text: str, faults: list[Fault]) -> _Values:
    numbers: set[int] = set()
    forms: set[str] = set()
    for item in text.split(","):
        try:
            form = _read_form(field, item)
            if form is None:
                numbers.update(_read_range(field, item))
            else:
                forms.add(form)
        except _Refused as refused:
            faults.append(_item_fault(field, item, refused))
    if len(forms) > CALENDAR_FORMS_MAX:
        faults.append(Fault("/cron", f"{field.name}: at most {CALENDAR_FORMS_MAX} of L, W and #"))
    if field.name == "weekday":
        numbers = {number % 7 for number in numbers}
    return _Values(tuple(sorted(numbers)), tuple(sorted(forms)))


def _item_fault(field: _Field, item: str, refused: _Refused) -> Fault:
    return Fault("/cron", f"{field.name} {item!r}: {refused}")


def _read_form(field: _Field, item: str) -> str | None:
    """The calendar form in croniter's spelling (`l`, `lw`, `15w`, `l5`, `1#2`), None for others."""
    upper = item.upper()
    if field.name == "day":
        if upper in ("L", "LW"):
            return upper.lower()
        if re.fullmatch(r"\d+W", upper):
            return f"{_number(field, upper[:-1])}w"
    if field.name == "weekday":
        if match := re.fullmatch(r"(\d|[A-Z]{3})L", upper):
            return f"l{_number(field, match[1]) % 7}"
        if match := re.fullmatch(r"(\d|[A-Z]{3})#([1-5])", upper):
            return f"{_number(field, match[1]) % 7}#{match[2]}"
    return None


def _read_range(field: _Field, item: str) -> range:
    match = _RANGE.fullmatch(item)
    if match is None:
        raise _Refused(_advice(field, item))
    first, last, step = match.groups()
    low = field.low if first is None else _number(field, first)
    if last is not None:
        high = _end(field, low, last)
    else:
        high = low if first is not None and step is None else field.high
    _check_order(field, low, high)
    return range(low, high + 1, 1 if step is None else _step(step))


def _number(field: _Field, text: str) -> int:
    if text.isdigit():
        number = int(text)
        if not field.low <= number <= field.high:
            raise _Refused(f"{text} is not in {field.low} to {field.high}")
        return number
    if text.lower() in field.names:
        return field.names.index(text.lower()) + (1 if field.name == "month" else 0)
    raise _Refused(_advice(field, text))


def _end(field: _Field, low: int, text: str) -> int:
    """Where a range from `low` ends: a week ends with Sunday as well as it begins with it."""
    ends_week = field.name == "weekday" and low > 0 and text.lower() == "sun"
    return field.high if ends_week else _number(field, text)


def _step(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise _Refused("a step is a whole number of at least 1")
    return int(text)


def _check_order(field: _Field, low: int, high: int) -> None:
    if low <= high:
        return
    if field.name == "weekday" and high == 0:
        raise _Refused(f"Sunday ends a week as 7; write {low}-7")
    raise _Refused(f"{low} is after {high}; write {low}-{field.high},{field.low}-{high}")


def _advice(field: _Field, item: str) -> str:
    """What to write in place of an item that is no number, name or range of them."""
    for pattern, advice in _ADVICE:
        if pattern.fullmatch(item):
            return advice
    names = f", {field.names[0]} to {field.names[-1]}" if field.names else ""
    return f"write {field.low} to {field.high}{names}, a range a-b or a step a-b/n"


def _resolve_item(field: _Field, item: str, schedule_id: str, faults: list[Fault]) -> str:
    match = _HASH.fullmatch(item)
    if match is None:
        return item
    first, last, step = match.groups()
    try:
        low = field.low if first is None else _number(field, first)
        high = field.hash_high if last is None else _end(field, low, last)
        _check_order(field, low, high)
        if step is None:
            return str(hashed_field(schedule_id, field.name, low, high))
        start = hashed_field(schedule_id, field.name, low, min(high, low + _step(step) - 1))
    except _Refused as refused:
        faults.append(_item_fault(field, item, refused))
        return item
    return f"{start}-{high}/{step}"
