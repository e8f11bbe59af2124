"""Query parameters and cursors, read as strictly as documents."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypedDict, TypeVar

from aiohttp import web

from engine.core.errors import Fault, Malformed
from engine.core.fields import Fields
from engine.core.identity import format_instant
from engine.core.json_text import compact_json, parse_json
from engine.core.labels import SELECTOR_LENGTH_MAX, Requirement, ScheduleFilter, read_selector
from engine.core.members import Choice, Instant, Integer, Text
from engine.web.operations import OPERATION
from engine.web.problems import Problem

PAGE_MAX = 1_000
"""Rows of one page of a list: they render in 20 ms; `cursor` brings the next page."""

PAGE_DEFAULT = 100
NAME_LENGTH_MAX = 128  # Of a schedule.
# Longer than any cursor handed out.
CURSOR_LENGTH_MAX = 512

_Item = TypeVar("_Item")


LIMIT = Integer("limit", PAGE_DEFAULT, low=1, high=PAGE_MAX, about="Rows of a page.")
CURSOR = Text(
    "cursor",
    None,
    longest=CURSOR_LENGTH_MAX,
    about="Where the page begins: `next_cursor` of the one before.",
)
FROM, TO = (
    Instant("from", about="Scheduled for then or later."),
    Instant("to", about="Scheduled for earlier."),
)

SELECTOR = Text("selector", None, longest=SELECTOR_LENGTH_MAX, about="Those with such labels.")
NAME_PREFIX = Text("q", "", longest=NAME_LENGTH_MAX, about="How the name begins.")
PAUSED: Choice[str, None] = Choice(
    "paused", None, ("true", "false"), about="Those that rest, or those that do not."
)
FILTERS = (SELECTOR, NAME_PREFIX, PAUSED)


class Page(TypedDict, Generic[_Item]):
    """One page of a list. `next_cursor` asks for the next, as `cursor`; null: there is none."""

    data: list[_Item]
    next_cursor: str | None


@contextmanager
def query_of(request: web.Request) -> Iterator[Fields]:
    """The parameters that the operation declares; 422 with every fault at the end."""
    faults: list[Fault] = []
    members = {member.name: member for member in request[OPERATION].query}
    given = {
        # A schedule may be called 2026.
        name: _number(value) if isinstance(members.get(name), Integer) else value
        for name, value in request.query.items()
    }
    query = Fields(given, pointer="", known=members.keys(), faults=faults)
    for name in given:
        if len(request.query.getall(name)) > 1:
            query.refuse(name, "write it once")
    yield query
    if faults:
        errors = [{"parameter": fault.pointer[1:], "detail": fault.detail} for fault in faults]
        raise Problem(422, "invalid_query", "the query is not understood", errors=errors)


def refuse_parameters(request: web.Request) -> None:
    """Raise Problem 422 if there are any, where the operation declares none."""
    with query_of(request):
        pass


def read_limit(query: Fields) -> int:
    return query.integer(LIMIT)


def read_flag(query: Fields, member: Choice[str, None]) -> bool | None:
    """`true` or `false`; None when it is not said."""
    word = query.choice(member)
    return None if word is None else word == "true"


def read_schedule_filter(query: Fields) -> ScheduleFilter:
    """Which schedules a list holds."""
    selector = query.text(SELECTOR)
    requirements: tuple[Requirement, ...] = ()
    try:
        requirements = () if selector is None else read_selector(selector)
    except ValueError as error:
        query.refuse("selector", str(error))
    return ScheduleFilter(
        name_prefix=query.text(NAME_PREFIX),
        requirements=requirements,
        is_paused=read_flag(query, PAUSED),
    )


def refuse_backwards(query: Fields, from_ms: int | None, to_ms: int | None) -> None:
    """Refuse a span, `from` in it and `to` not, that holds nothing."""
    if from_ms is not None and to_ms is not None and to_ms <= from_ms:
        query.refuse("to", f"write an instant later than from, {format_instant(from_ms)}")


def write_cursor(key: Any) -> str | None:
    """An opaque text for the place after which the next page starts; None at the end."""
    return None if key is None else urlsafe_b64encode(compact_json(key)).decode().rstrip("=")


def read_name_cursor(query: Fields) -> str | None:
    key = _read_cursor(query)
    if key is None or type(key) is str:
        return key
    query.refuse("cursor", _BAD_CURSOR)
    return None


def read_run_cursor(query: Fields) -> tuple[int, str] | None:
    """A run's place in a list, by what its reader knows of it: no row of the journal is counted."""
    match _read_cursor(query):
        case None:
            return None
        case [instant, str(schedule)] if type(instant) is int and abs(instant) <= _INT64_MAX:
            return instant, schedule
        case _:
            query.refuse("cursor", _BAD_CURSOR)
            return None


def _read_cursor(query: Fields) -> Any:
    text = query.text(CURSOR)
    if text is None:
        return None
    key = None
    with suppress(ValueError, Malformed):
        key = parse_json(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    if key is None:
        query.refuse("cursor", _BAD_CURSOR)
    return key


def _number(text: str) -> str | int:
    # No more digits than any number here needs: the rest is refused as text.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else text


_BAD_CURSOR = "write a next_cursor that this list answered with, unchanged"
_INT64_MAX = 2**63 - 1
