"""The strict JSON reader: what is refused, with what to say, and what comes back as it was."""

import json
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.errors import Invalid, Malformed
from engine.core.json_text import CONTAINERS_MAX, DEPTH_MAX, compact_json, parse_json

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # No surrogates: I-JSON has none.
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('ab"\\{[é'), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "not JSON at line 1, column 1"),
        (b'{"a": 1,}', "not JSON at line 1, column 9"),
        (b'{"a": 1} {}', "Extra data"),
        (b"{'a': 1}", "not JSON"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a": "\xff"}', "byte 8 is not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "byte 1 is not UTF-8"),
        (b'{"a": 1, "b": 2, "a": 3}', "'a' appears twice"),
        (b'[{"x": {"a": 1, "a": 1}}]', "'a' appears twice"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"[1e999]", "1e999 is too large for a double"),
        (b"[-1e999]", "too large"),
        (b"1" * 4_301, "more than 4,300 digits"),
        (b'{"a": "\\ud800"}', "\\ud800 is half of a surrogate pair"),
        (b'{"\\uDFFF": 1}', "\\udfff is half of a surrogate pair"),
        (b'"a\x00b"', "Invalid control character"),
        (b'{"a": 1e-400', "line 1, column 13"),
        (b'{"a": 1e-400, "a": 1}', "'a' appears twice"),
        (b"[1e-400, 1e999]", "too large"),
        (b"[1e-400, " + b"1" * 4_301 + b"]", "more than 4,300 digits"),
    ],
)
def test_text_that_programs_could_read_differently_is_refused(text, said):
    with pytest.raises(Malformed) as caught:
        parse_json(text)
    assert said in str(caught.value)


def test_nesting_is_allowed_to_the_limit_and_refused_beyond_it_without_recursion():
    assert parse_json(b"[" * DEPTH_MAX + b"]" * DEPTH_MAX) is not None
    for text in (b"[" * 33 + b"]" * 33, b"[" * 30_000, b'{"a":' * 33 + b"1" + b"}" * 33):
        with pytest.raises(Malformed, match="deeper than 32 levels"):
            parse_json(text)


def test_brackets_inside_strings_are_no_nesting():
    text = '{"a": "' + "[{" * 100 + '", "b": "\\"' + "[" * 100 + '\\\\", "c": [1]}'
    assert parse_json(text.encode())["c"] == [1]


def test_more_objects_than_the_loop_has_time_for_are_refused():
    assert len(parse_json(b"[" + b"{}," * (CONTAINERS_MAX - 2) + b"1]")) == CONTAINERS_MAX - 1
    with pytest.raises(Malformed, match="16,384 objects and arrays"):
        parse_json(b"[" + b"{}," * CONTAINERS_MAX + b"1]")


def test_numbers_and_the_order_of_members_survive():
    text = b'{"z":10.0,"a":18446744073709551616,"m":-0.5,"e":"\xc3\xa9\\u0000"}'
    assert compact_json(parse_json(text)) == text


@pytest.mark.parametrize(
    "number",
    [
        b"0.0",
        b"-0.0",
        b"1e22",
        b"5e-324",
        b"1.7976931348623157e308",
        b"2.2250738585072014E-308",
        b"0.1234567890123456",
        b"123456789012345.6",
        b"1.50000000000000000000",
        b"0.000000000000000000000000000000001",
    ],
)
def test_a_number_that_a_double_holds_keeps_its_value(number):
    assert Decimal(compact_json(parse_json(number)).decode()) == Decimal(number.decode())


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (b"1e-400", "1e-400 would become 0.0; write that, or the number as a string"),
        (b"-4.9e-324", "-4.9e-324 would become -5e-324"),
        (b"0.10000000000000000555", "0.10000000000000000555 would become 0.1"),
        (b"9007199254740993.0", "9007199254740993.0 would become 9007199254740992.0"),
        (b"0." + b"3" * 5_000, "0." + "3" * 30 + "... would become 0.3333333333333333;"),
        (b"1e-9999999999999999999", "would become 0.0"),
    ],
)
def test_a_number_that_a_double_would_alter_is_refused_with_its_place(number, said):
    with pytest.raises(Invalid) as caught:
        parse_json(b'{"a": 0.5, "b/c": [1, {"d": %b}], "e": %b}' % (number, number))
    assert [fault.pointer for fault in caught.value.faults] == ["/b~1c/1/d", "/e"]
    assert said in caught.value.faults[0].detail


def test_a_surrogate_pair_is_one_character():
    assert parse_json(b'"\\ud83d\\ude00"') == "\U0001f600"


@given(JSON_VALUES)
def test_any_value_is_read_as_it_was_written(value):
    assert parse_json(compact_json(value)) == value
    assert parse_json(json.dumps(value).encode()) == value


def test_of_very_many_such_numbers_the_first_64_are_named_and_the_rest_are_still_read():
    with pytest.raises(Invalid) as caught:
        parse_json(b"[" + b"1e-400," * 30_000 + b"1]")
    assert [fault.pointer for fault in caught.value.faults] == [f"/{n}" for n in range(64)]
    with pytest.raises(Malformed, match="too large"):
        parse_json(b"[" + b"1e-400," * 30_000 + b"1e999]")


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data):
    with suppress(Malformed, Invalid):
        parse_json(data)
