"""JSON as two programs can agree on it: the strict reader and the compact writer.

RFC 8259 leaves open what a repeated name, a lone surrogate or 1e999 means, and parsers differ; a
schedule that two programs read differently is a schedule that somebody did not ask for. So the
reader keeps to I-JSON (RFC 7493): UTF-8 without a byte order mark, no name twice in an object, no
lone surrogates, no fractions of greater magnitude or precision than an IEEE 754 double. Integers
are exact at any size. So a number that was read is written with the value that it was given.

The shape is judged before parsing, by counting brackets outside of strings, so that hostile
nesting costs a few milliseconds and no recursion.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from itertools import accumulate, islice
from typing import Any, NoReturn

from engine.core.errors import Fault, Invalid, Malformed
from engine.core.fields import FAULTS_MAX, member_pointer

DEPTH_MAX = 32
"""Nesting of JSON: deeper than what people write, and far from the interpreter's own limit."""

CONTAINERS_MAX = 16_384
"""Objects and arrays in one text: they take 100 times their bytes to build; so many take 3 ms."""

# Digits that any double of at least this magnitude keeps (DBL_DIG of C): no need to look closer.
DIGITS_KEPT = 15
MAGNITUDE_KEPT = 1e-290
NUMBER_SHOWN_MAX = 32

# A text that names zero, and is not a number that a double loses: a body may have 65,000 of them.
_ZERO = re.compile(r"-?0+(?:\.0*)?(?:[eE][-+]?[0-9]+)?\Z")


def parse_json(data: bytes) -> Any:
    """The value that `data` says. Raises Malformed, with line and column where there is one.

    Numbers that a double would alter are Invalid, each with its place.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise Malformed("JSON starts with a byte order mark; remove those three bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"byte {error.start + 1} is not UTF-8") from None
    _check_shape(data)
    try:
        value = _decode(text)
    except json.JSONDecodeError as error:
        raise Malformed(
            f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except ValueError:
        # The interpreter's own bound on the digits of an integer (sys.set_int_max_str_digits).
        raise Malformed("a number has more than 4,300 digits") from None
    if _SURROGATE.search(data):
        _check_surrogates(value)
    return value


def exact_float(text: str) -> float:
    """The double that `text` names, and no neighbour of it. Raises Malformed."""
    value = float(text)
    # With its point or exponent, a text of so many characters has no more digits than are kept.
    if len(text) <= DIGITS_KEPT + 1 and MAGNITUDE_KEPT <= abs(value) < math.inf:
        return value
    if not value and _ZERO.match(text):
        return value
    _check_finite(text, value)
    _check_digits(text, value)
    return value


def compact_json(value: Any) -> bytes:
    """`value` as UTF-8 without spaces, members in their order."""
    return _ENCODER.encode(value).encode()


def _decode(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except _Inexact:
        # Read once more, since only the whole says where each of them is.
        decoder = json.JSONDecoder(
            object_pairs_hook=_object,
            parse_float=_first_inexact(FAULTS_MAX),
            parse_constant=_not_a_number,
        )
        faults = _inexact_numbers(decoder.decode(text), "")
        raise Invalid(*islice(faults, FAULTS_MAX)) from None


def _check_finite(text: str, value: float) -> None:
    if not math.isfinite(value):
        if text[-1].isalpha():  # TOML's nan and inf.
            _not_a_number(text)
        raise Malformed(f"the number {text[:32]} is too large for a double")


def _check_digits(text: str, value: float) -> None:
    try:
        kept = Decimal(text) == Decimal(repr(value))
    except InvalidOperation:  # An exponent of more than eighteen digits.
        kept = False
    if not kept:
        shown = text if len(text) <= NUMBER_SHOWN_MAX else f"{text[:NUMBER_SHOWN_MAX]}..."
        raise _Inexact(f"{shown} would become {value!r}; write that, or the number as a string")


class _Inexact(Malformed):
    """A number that a double holds only nearly."""


def _first_inexact(most: int) -> Callable[[str], float | _Inexact]:
    """Reads numbers, the first `most` of the inexact ones as what is wrong with them: of an error
    for each, a body would hold tens of thousands and take hundreds of megabytes."""
    found = 0

    def read(text: str) -> float | _Inexact:
        nonlocal found
        if found == most:
            value = float(text)
            _check_finite(text, value)
            return value
        try:
            return exact_float(text)
        except _Inexact as error:
            found += 1
            return error.with_traceback(None)

    return read


def _inexact_numbers(value: Any, pointer: str) -> Iterator[Fault]:
    """The places of those numbers; nesting is bounded already."""
    members: Iterable[tuple[str, Any]] = ()
    if isinstance(value, _Inexact):
        yield Fault(pointer, str(value))
    elif isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = ((str(index), member) for index, member in enumerate(value))
    for name, member in members:
        yield from _inexact_numbers(member, member_pointer(pointer, name))


def _check_shape(data: bytes) -> None:
    if data.count(b"{") + data.count(b"[") <= DEPTH_MAX:
        return  # So few cannot be nested deeper, wherever they stand: most schedules end here.
    # Without escaped backslashes and quotes, every second piece between quotes is inside a string.
    pieces = data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
    brackets = b"".join(pieces[::2]).translate(None, _NOT_BRACKETS)
    if len(brackets) > 2 * CONTAINERS_MAX:
        raise Malformed(f"JSON holds more than {CONTAINERS_MAX:,} objects and arrays")
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > DEPTH_MAX:
        raise Malformed(f"JSON is nested deeper than {DEPTH_MAX} levels")


def _check_surrogates(value: Any) -> None:
    try:
        compact_json(value)
    except UnicodeEncodeError as error:
        lone = ord(error.object[error.start])
        raise Malformed(f"\\u{lone:04x} is half of a surrogate pair; write both halves") from None


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) != len(members):
        [(twice, _)] = Counter(name for name, _ in members).most_common(1)
        raise Malformed(f"the name {twice[:64]!r} appears twice in one object")
    return unique


def _not_a_number(text: str) -> NoReturn:
    raise Malformed(f"{text} is not JSON; write a finite number, or the word as a string")


_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = [(byte in b"[{") - (byte in b"]}") for byte in range(256)]
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=exact_float, parse_constant=_not_a_number
)
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
