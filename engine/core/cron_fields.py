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

The text has at most 256 characters and is looked at a fixed number of times, so nothing here takes
long, whatever it holds.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.core.errors import Fault, Invalid
from engine.core.identity import hashed_field

TEXT_LENGTH_MAX = 256  # Judged before anything is parsed: the parser shares the event loop.
CALENDAR_FORMS_MAX = 5  # In a field. croniter takes up to 1 ms over each, once in a process.

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


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
    """Parse an expression without `H`; Invalid names every field that is wrong."""
    texts = split_fields(resolved)
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


def resolve_hashes(text: str, schedule_id: str | None) -> str:
    """The expression with nicknames expanded and each `H` replaced by the schedule's own number."""
    texts = split_fields(text)
    if schedule_id is not None:
        texts = [
            ",".join(_resolve_item(field, item, schedule_id) for item in field_text.split(","))
            for field, field_text in zip(_FIELDS, texts, strict=True)
        ]
    return " ".join(texts if len(text.split()) == len(_FIELDS) else texts[1:])


def split_fields(text: str) -> list[str]:
    """The six fields' texts, seconds first ("0" when not written)."""
    if len(text) > TEXT_LENGTH_MAX:
        raise _invalid(f"has {len(text)} characters; write at most {TEXT_LENGTH_MAX}")
    if odd := re.search(r"[^\t -~]", text):
        where = f"U+{ord(odd[0]):04X} at position {odd.start() + 1}"
        raise _invalid(f"holds {where}; write ASCII letters, digits and signs on one line")
    if re.match(r"\s*(CRON_)?TZ\s*=", text, re.ASCII | re.IGNORECASE):
        raise _invalid("names a time zone; put the zone into timezone and leave the prefix out")
    texts = text.split()
    if len(texts) == 1 and texts[0].startswith("@"):
        texts = _expand_nickname(texts[0]).split()
    if len(texts) == len(_FIELDS) - 1:
        return ["0", *texts]
    if len(texts) != len(_FIELDS):
        raise _invalid(
            f"has {len(texts)} fields; write 5 (minute hour day month weekday) or 6 (seconds first)"
            + ("; for years use start_at and end_at" if len(texts) > len(_FIELDS) else "")
        )
    return texts


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
_RANDOM = re.compile(r"R(?:\(.*\))?(?:/.*)?", re.ASCII | re.IGNORECASE)


def _invalid(detail: str) -> Invalid:
    return Invalid(Fault("/cron", detail))


def _is_star(text: str) -> bool:
    """Whether a field counts as a star: its first character decides, as in cronie."""
    return text[0] in "*?"


def _expand_nickname(text: str) -> str:
    if text.lower() == "@reboot":
        raise _invalid("@reboot is no time; the engine starts and stops without its schedules")
    if text.lower() == "@every":
        raise _invalid("@every is an interval; write every with seconds instead of cron")
    if text.lower() not in NICKNAMES:
        raise _invalid(f"{text} is not known; write one of {' '.join(NICKNAMES)}")
    return NICKNAMES[text.lower()]


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
            faults.append(Fault("/cron", f"{field.name} {item!r}: {refused}"))
    if len(forms) > CALENDAR_FORMS_MAX:
        faults.append(Fault("/cron", f"{field.name}: at most {CALENDAR_FORMS_MAX} of L, W and #"))
    if field.name == "weekday":
        numbers = {number % 7 for number in numbers}
    return _Values(tuple(sorted(numbers)), tuple(sorted(forms)))


def _read_range(field: _Field, item: str) -> range:
    match = _RANGE.fullmatch(item)
    if match is None:
        raise _Refused(_advice(field, item))
    first, last, step = match.groups()
    low = field.low if first is None else _number(field, first)
    if last is not None:
        high = _number(field, last)
    else:
        high = low if first is not None and step is None else field.high
    if low > high:
        raise _Refused(_reversed_range(field, low, high))
    return range(low, high + 1, 1 if step is None else _step(step))


def _read_form(field: _Field, item: str) -> str | None:
    """The calendar form in croniter's spelling (`l`, `lw`, `15w`, `l5`, `1#2`), None for others."""
    upper = item.upper()
    if field.name == "day":
        if upper in ("L", "LW"):
            return upper.lower()
        if re.fullmatch(r"\d+W", upper, re.ASCII):
            return f"{_number(field, upper[:-1])}w"
    if field.name == "weekday":
        if match := re.fullmatch(r"(\d|[A-Z]{3})L", upper):
            return f"l{_number(field, match[1]) % 7}"
        if match := re.fullmatch(r"(\d|[A-Z]{3})#([1-5])", upper):
            return f"{_number(field, match[1]) % 7}#{match[2]}"
    return None


def _number(field: _Field, text: str) -> int:
    if text.isdigit():
        number = int(text)
        if not field.low <= number <= field.high:
            raise _Refused(f"{text} is not in {field.low} to {field.high}")
        return number
    if text.lower() in field.names:
        return field.names.index(text.lower()) + (1 if field.name == "month" else 0)
    raise _Refused(_advice(field, text))


def _step(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise _Refused("a step is a whole number of at least 1")
    return int(text)


def _reversed_range(field: _Field, low: int, high: int) -> str:
    if field.name == "weekday" and high == 0:
        return f"Sunday ends a week as 7; write {low}-7"
    return f"{low} is after {high}; write two ranges, {low}-{field.high},{field.low}-{high}"


def _advice(field: _Field, item: str) -> str:
    """What to write in place of an item that is no number, name or range of them."""
    hints: Sequence[tuple[Callable[[str], object], str]] = (
        (lambda text: not text, "is empty; leave out the extra comma"),
        (_HASH.fullmatch, "H is resolved when a schedule is written; here write the number"),
        (
            lambda text: "~" in text or _RANDOM.fullmatch(text),
            "a random time differs on each node; write H or H(a-b)",
        ),
        (
            re.compile(r"L\d", re.IGNORECASE).fullmatch,
            f"write {item[1:]}L for the last one of the month",
        ),
        (
            re.compile(r"L", re.IGNORECASE).match,
            "write L for the month's last day, LW for its last weekday, in the day field",
        ),
        (lambda text: "#" in text, "write a weekday, # and 1 to 5, in the weekday field"),
    )
    for applies, hint in hints:
        if applies(item):
            return hint
    names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
    return f"write {field.low} to {field.high}{names}, a range a-b, a list or a step /n"


def _resolve_item(field: _Field, item: str, schedule_id: str) -> str:
    match = _HASH.fullmatch(item)
    if match is None:
        return item
    try:
        low, high, step = _hash_bounds(field, *match.groups())
    except _Refused as refused:
        raise _invalid(f"{field.name} {item!r}: {refused}") from None
    if step is None:
        return str(hashed_field(schedule_id, field.name, low, high))
    start = hashed_field(schedule_id, field.name, low, min(high, low + step - 1))
    return f"{start}-{high}/{step}"


def _hash_bounds(
    field: _Field, first: str | None, last: str | None, step: str | None
) -> tuple[int, int, int | None]:
    low = field.low if first is None else _number(field, first)
    high = field.hash_high if last is None else _number(field, last)
    if low > high:
        raise _Refused(_reversed_range(field, low, high))
    return low, high, None if step is None else _step(step)
