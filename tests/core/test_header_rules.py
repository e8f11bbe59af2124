"""Which headers a schedule may send."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.header_rules import read_headers


def faults_of(members):
    faults = []
    read_headers(members, pointer="/target/headers", faults=faults)
    return {fault.pointer: fault.detail for fault in faults}


def test_headers_keep_their_order_and_their_case():
    members = {"X-B": "1", "x-a": "two words  and more", "X-Empty": "", "Authorization": "Bearer x"}
    faults = []
    headers = read_headers(members, pointer="/h", faults=faults)
    assert headers == tuple(members.items())
    assert faults == []


@pytest.mark.parametrize(
    "value",
    ["a\r\nX-B: b", "a\n", "\na", "a\x00b", " a", "a ", "a\t", "a\tb", "€", "é", "\x7f", " "],
)
def test_a_value_that_could_leave_its_line_or_change_on_the_way_is_refused(value):
    assert "visible ASCII" in faults_of({"X-A": value})["/target/headers/X-A"]


@pytest.mark.parametrize("value", [5, 5.0, True, None, ["a"], {}])
def test_a_value_that_is_not_text_is_refused(value):
    assert "as text" in faults_of({"X-A": value})["/target/headers/X-A"]


@pytest.mark.parametrize("name", ["X-A\r\nX-B", "X A", "X:A", "", "X-Ä", "X(A)", '"X"'])
def test_a_name_that_is_no_token_is_refused(name):
    assert "token" in faults_of({name: "b"})[f"/target/headers/{name}"]


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "TE",
        "Trailer",
        "Connection",
        "Keep-Alive",
        "Upgrade",
        "Expect",
        "Proxy",
        "Proxy-Authorization",
        "Proxy-Anything",
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "webhook-id",
        "webhook-signature",
        "webhook-anything",
        "Idempotency-Key",
        "X-Scheduler-Signature",
        "X-Scheduler-Anything",
        "X-Scheduled-For",
        "X-Fire-After",
        "X-Schedule-Id",
        "X-Schedule-Name",
        "X-Attempt",
        "X-Trigger",
        # CGI and WSGI read `_` as `-`.
        "Transfer_Encoding",
        "X_Forwarded_For",
        "Webhook_Id",
        "Idempotency_Key",
    ],
)
def test_what_the_engine_or_http_sets_is_refused_in_any_case(name):
    for spelling in (name, name.lower(), name.upper()):
        assert "leave it out" in faults_of({spelling: "1"})[f"/target/headers/{spelling}"]


def test_two_spellings_of_one_name_are_refused():
    assert "twice" in faults_of({"X-A": "1", "x-a": "2"})["/target/headers/x-a"]
    assert "twice" in faults_of({"x-a": "1", "X-A": "2"})["/target/headers/X-A"]


def test_pointers_escape_what_json_pointers_reserve():
    assert set(faults_of({"a/b": "", "c~d": "\n"})) == {
        "/target/headers/a~1b",
        "/target/headers/c~0d",
    }


def test_thirty_two_headers_and_eight_kibibytes_are_the_limits():
    assert faults_of({f"X-{i}": "v" for i in range(32)}) == {}
    assert "32" in faults_of({f"X-{i}": "v" for i in range(33)})["/target/headers"]
    assert faults_of({"X-A": "v" * 8_185}) == {}
    assert "8,192" in faults_of({"X-A": "v" * 8_186})["/target/headers"]


def test_headers_are_an_object():
    assert "JSON object" in faults_of(["X-A: b"])["/target/headers"]
    assert faults_of(None) == {}


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=4))
def test_whatever_is_accepted_is_one_line_each(members):
    if faults_of(members):
        return
    for name, value in members.items():
        assert re.fullmatch(r"[^\s:\x00-\x1f\x7f-\U0010ffff]+", name)
        assert re.fullmatch(r"[\t -~]*", value)
        assert value == value.strip(" \t")
