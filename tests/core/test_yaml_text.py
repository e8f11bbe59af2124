"""YAML that means one thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.errors import Malformed
from engine.core.yaml_text import Ambiguous, parse_documents, parse_yaml, write_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: true\nb: False\nc: null\nd: ~\ne:\n", [True, False, None, None, None]),
        ("a: 5\nb: -7\nc: 0.5\nd: 1.5e+3\n", [5, -7, 0.5, 1500.0]),
        ("a: 2027-03-28\nb: 2027-03-28T02:30:00Z\n", ["2027-03-28", "2027-03-28T02:30:00Z"]),
        ("a: \"no\"\nb: '010'\nc: 0 2 * * *\nd: y\n", ["no", "010", "0 2 * * *", "y"]),
        ("a: &once [1]\nb: *once\n", [[1], [1]]),
        ("a: |\n  x\n  y\n", ["x\ny\n"]),
        ("%YAML 1.2\n---\na: 1\n", [1]),
        ("---\na: |\n  %x\n...\n\n", ["%x\n"]),
    ],
)
def test_a_plain_word_is_read_as_everybody_reads_it(text: str, value: list[object]):
    assert list(parse_yaml(text).values()) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\ncron: */5 * * * *\n", 'line 2: not YAML: .*wants quotes: "\\*/5'),
        ("cron: @daily\n", "line 1: not YAML: .*wants quotes"),
        ("- * * * * *\n", "line 1: not YAML: .*wants quotes"),
        ("a:\n- on\n", "line 2: on means different things"),
        ("a: NO\n", 'the text in quotes: "NO"'),
        ("off: 1\n", "line 1: off means"),
        ("a: 010\n", "010 means"),
        ("a: 0x1F\n", "0x1F means"),
        ("a: 0o17\n", "0o17 means"),
        ("a: 1_000\n", "1_000 means"),
        ("a: 12:30\n", "12:30 means"),
        ("a: 1e3\n", "1e3 means"),
        ("a: 1.5e3\n", "1.5e3 means"),
        ("a: .5\n", ".5 means"),
        ("a: .inf\n", ".inf means"),
        ("<<: {a: 1}\n", "line 1: << is not read; write the members out"),
        ("a:\n\tb: 1\n", "line 2: not YAML: .* indent with blanks, not with tabs"),
        ("a: 0.10000000000000000555\n", "would become 0.1"),
        ("a:\n  b: 1\n  b: 2\n", "line 3: b appears twice"),
        ("5: a\n", "line 1: write names as text"),
        ("[a]: b\n", "line 1: write names as text"),
        ("a: !!python/object/apply:os.system [x]\n", "python/object/apply:os.system is not read"),
        ("a: !!binary aGVsbG8=\n", "binary is not read"),
        ("a: &a {b: *a}\n", "deeper than 32 levels"),
        ("- " * 100_000, "not YAML"),
        ("a: *nowhere\n", "line 1: not YAML"),
        ("a: 'x\n", "not YAML"),
        ("a: \x00", "not YAML"),
        ("a: 1\n---\nb: 2\n", "several documents"),
    ],
)
def test_what_readers_take_differently_is_refused_with_its_line(text: str, says: str):
    with pytest.raises(Malformed, match=says):
        parse_yaml(text)


def test_aliases_of_aliases_are_bounded():
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    with pytest.raises(Malformed, match="more than 1,000,000 values, aliases written out"):
        parse_yaml(f"a0: &a0 [x]\n{levels}")


def test_a_fault_in_one_document_does_not_hide_the_others():
    text = "# a heading\n---\na: 1\n---\nb: : :\n--- # the last\n- c\n---\n"
    heading, first, second, third, last = parse_documents(text)
    assert (heading, first, third) == ((1, None), (2, {"a": 1}), (6, ["c"]))
    assert (second[0], last) == (4, (8, None))
    assert "line 5: not YAML" in str(second[1])


def test_a_directive_stands_before_its_own_document():
    text = "a: 1\n...\n%YAML 1.1\n# second\n---\nb: : :\n"
    first, (line, fault) = parse_documents(text)
    assert (first, line) == ((1, {"a": 1}), 3)
    assert "line 6: not YAML" in str(fault)


def test_of_others_documents_an_ambiguous_word_is_left_to_whoever_needs_it():
    [(_, value)] = parse_documents("a: 1\nmode: 0755\n")
    assert value == {"a": 1, "mode": Ambiguous("0755", 2)}
    assert str(value["mode"]).startswith("line 2: 0755 means different things")


def test_of_others_documents_names_are_the_text_that_they_are_but_merges_are_refused():
    [(_, value)] = parse_documents("on: a\n9000: b\n~: c\n")
    assert value == {"on": "a", "9000": "b", "~": "c"}
    [(_, error)] = parse_documents("a: &a {b: 1}\nc:\n  <<: *a\n")
    assert str(error) == "line 3: << is not read; write the members out"
    [(_, error)] = parse_documents("[a]: b\n")
    assert "write names as text" in str(error)


_SIGNS = ["y", "no", "Null", "~", "true", "<<", "=", "*a", "@b", "&c", "!d", "---", "-", "|"]
_NUMBERS = ["010", "0o7", "0x1", "1e3", "1.5e3", ".5", "1_0", "2026-01-01", "12:30"]
_WORDS = st.sampled_from([*_SIGNS, *_NUMBERS])
_TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | _WORDS
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | _FLOATS | _TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
        max_leaves=8,
    )
)
def test_what_is_written_is_read_back_equal(value: object):
    assert parse_yaml(write_yaml({"a": value})) == {"a": value}
