"""Reading what a forecast or a what-if is asked for."""

from dataclasses import dataclass

from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.forecast import SPAN_SECONDS_MAX
from engine.core.identity import format_instant
from engine.core.members import Instant, Integer, Judged, Shape
from engine.core.population import OFFSET_SECONDS_MAX
from engine.core.timetable import TIMETABLE_END_MS

RATE_MAX = 1_000_000
"""Attempts a second: beyond what any machine that runs this starts."""

ADDED_SCHEDULES_MAX = 10_000_000
"""Schedules that a what-if adds: keeps a second's count of runs far below 2**32."""

TIMETABLES_NAMED_MAX = 1_000
"""Timetables that a what-if names: more than anybody writes, and quickly compared."""

TIMETABLE_LENGTH_MAX = 512
"""A cron's 256 characters, resolved, and a zone's name."""

BIN_SECONDS_MAX = 3_600
"""Of a curve: an hour in one number."""

BIN_SECONDS_DEFAULT = 60

GRACE_MS = 60_000
"""A caller's `from` may be so long past: it was now when the request was written."""

FROM_MS_MAX = TIMETABLE_END_MS - SPAN_SECONDS_MAX * 1000
"""The longest span from there ends with the timetables."""

FROM, TO = (
    Instant("from", about="The first second; now by default."),
    Instant("to", about="The end, exclusive."),
)
TIMETABLES = Judged(
    "timetables",
    {
        "type": "array",
        "items": {"type": "string", "maxLength": TIMETABLE_LENGTH_MAX},
        "minItems": 1,
        "maxItems": TIMETABLES_NAMED_MAX,
    },
    about="Whose jitter is changed, as forecasts name them; all by default.",
)
JITTER_SECONDS = Integer(
    "jitter_seconds", None, low=0, high=OFFSET_SECONDS_MAX, about="Instead of the schedules' own."
)
RATE = Integer("rate", None, low=1, high=RATE_MAX, about="Attempts a second.")
BURST = Integer("burst", None, low=1, high=RATE_MAX, about="The token bucket's depth.")
ADD = Integer(
    "add",
    0,
    low=0,
    high=ADDED_SCHEDULES_MAX,
    about="So many more schedules, like those that there are.",
)
BIN = Integer(
    "bin",
    BIN_SECONDS_DEFAULT,
    low=1,
    high=BIN_SECONDS_MAX,
    about="Seconds in one figure of the curves.",
)
WHAT_IF = Shape((FROM, TO, TIMETABLES, JITTER_SECONDS, RATE, BURST, ADD, BIN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Whole seconds, from <= second < to."""

    from_s: int
    to_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be different. `timetables` are labels; empty: all that fall on :00."""

    timetables: tuple[str, ...] = ()
    jitter_seconds: int | None = None
    rate: int | None = None
    burst: int | None = None
    add: int = 0


def read_span(fields: Fields, now_ms: int) -> Span:
    """`from` and `to`; by default a day from now on."""
    from_ms, to_ms = fields.instant(FROM), fields.instant(TO)
    if from_ms is not None and from_ms < now_ms - GRACE_MS:
        fields.refuse("from", f"write an instant to come; it is {format_instant(now_ms)} now")
    elif from_ms is not None and from_ms > FROM_MS_MAX:
        fields.refuse("from", f"write an instant not after {format_instant(FROM_MS_MAX)}")
    from_s = max(now_ms // 1000 + 1, -(-(from_ms or 0) // 1000))
    if to_ms is None:
        return Span(from_s=from_s, to_s=from_s + SPAN_SECONDS_MAX)
    to_s = to_ms // 1000
    if fields.sound("from", "to") and not from_s < to_s <= from_s + SPAN_SECONDS_MAX:
        latest = format_instant((from_s + SPAN_SECONDS_MAX) * 1000)
        fields.refuse(
            "to",
            f"write an instant after {format_instant(from_s * 1000)} and not after {latest}: "
            "every second is computed, so a span has 24 hours at most",
        )
    return Span(from_s=from_s, to_s=to_s)


def read_what_if(document: object, now_ms: int) -> tuple[Change, Span, int]:
    """The body of a what-if, and the seconds of a bin of its curves.

    Raises Invalid with every fault; to change nothing is one.
    """
    faults: list[Fault] = []
    fields = Fields(document, pointer="", known=WHAT_IF.names, faults=faults)
    span, bin_s = read_span(fields, now_ms), fields.integer(BIN)
    change = Change(
        timetables=_read_timetables(fields),
        jitter_seconds=fields.integer(JITTER_SECONDS),
        rate=fields.integer(RATE),
        burst=fields.integer(BURST),
        add=fields.integer(ADD),
    )
    if not faults and (change.jitter_seconds, change.rate, change.burst, change.add) == _NOTHING:
        faults.append(Fault("", "write what to change: jitter_seconds, rate, burst or add"))
    if faults:
        raise Invalid(*faults)
    return change, span, bin_s


def _read_timetables(fields: Fields) -> tuple[str, ...]:
    names = fields.raw("timetables")
    if names is None:
        return ()
    if type(names) is list and 0 < len(names) <= TIMETABLES_NAMED_MAX and all(map(_is_name, names)):
        return tuple(names)
    fields.refuse(
        "timetables",
        f"write a list of 1 to {TIMETABLES_NAMED_MAX:,} timetables as a forecast names them, "
        'like "0 * * * * (UTC)"',
    )
    return ()


def _is_name(value: object) -> bool:
    return type(value) is str and len(value) <= TIMETABLE_LENGTH_MAX


_NOTHING = (None, None, None, 0)
