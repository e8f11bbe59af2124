"""TOML as it is written."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.errors import Malformed
from engine.core.toml_text import write_toml


def test_a_table_has_its_heading_and_all_else_is_inline():
    tables = {"a": {"every": 60, "target": {"url": "http://h.example"}}, "b.c": {"x y": [True]}}
    assert write_toml(tables, under="schedules") == (
        '[schedules.a]\nevery = 60\ntarget = { url = "http://h.example" }\n'
        '\n[schedules."b.c"]\n"x y" = [true]\n'
    )


_TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["\x7f", "a.b", ""])
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.recursive(
        st.booleans() | st.integers() | _FLOATS | _TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
        max_leaves=8,
    ),
    _TEXTS,
)
def test_what_is_written_is_read_back_equal(value: object, name: str):
    text = write_toml({name: {name: value}}, under="s")
    assert tomllib.loads(text) == {"s": {name: {name: value}}}


def test_null_is_refused_with_its_place_and_the_way_out():
    with pytest.raises(Malformed, match=r"a: target: TOML has no null; write JSON or YAML"):
        write_toml({"a": {"target": {"json": [None]}}}, under="schedules")
