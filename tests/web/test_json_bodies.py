"""What a request's body may be: case C58, sizes, media types, and never a 500."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HOURLY = {"cron": "0 * * * *", "target": {"url": "http://h/"}}
JSON_TYPE = {"Content-Type": "application/json"}


def put(api, data, **headers):
    return api.request("PUT", "/v1/schedules/report", data=data, headers=JSON_TYPE | headers)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"cron":"0 0 * * *","cron":"* * * * *"}', 400, "'cron' appears twice"),
        (b'{"every":NaN}', 400, "NaN"),
        (b'{"every":1e999}', 400, "too large"),
        (b'{"name":"\\ud800"}', 400, "surrogate"),
        (b'{"name":"a\\u0000b"}', 422, ""),
        (b'{"every":9223372036854775808}', 422, ""),
        (b'{"every":18446744073709551616}', 422, ""),
        (b'{"every":1e18}', 422, ""),
        (b'{"every":true}', 422, ""),
        (b'{"every":"60"}', 422, ""),
        (b"[]", 422, ""),
        (b"null", 422, ""),
        (b"1", 422, ""),
        (b'"x"', 422, ""),
        (b"", 400, "line 1, column 1"),
        (b"[" * 1_025 + b"]" * 1_025, 400, "32 levels"),
        (b"\xef\xbb\xbf{}", 400, "byte order mark"),
        (b'{"name":"\xff"}', 400, "UTF-8"),
        (b'{"cron":', 400, "line 1"),
    ],
)
def test_c58_corners_of_json_are_refused_and_nothing_is_stored(api, engine, body, status, said):
    answer = put(api, body)
    assert answer.status == status
    assert said in answer.problem["detail"]
    assert engine.schedules.by_name == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/jsonx"},
        {"Content-Type": ""},
        {"Content-Encoding": "gzip"},
        {"Content-Encoding": "br"},
        {"Content-Type": "text/plain", "Content-Encoding": "gzip"},
    ],
)
def test_c58_other_media_types_and_encodings_are_refused(api, headers):
    answer = put(api, json.dumps(HOURLY).encode(), **headers)
    assert answer.problem["code"] == "unsupported_media_type"
    assert answer.status == 415


def test_a_body_without_a_content_type_is_refused(api):
    answer = api.request("PUT", "/v1/schedules/report", data=b"{}")
    assert answer.status == 415
    assert "Content-Type: application/json" in answer.problem["detail"]


def test_a_charset_of_utf_8_may_be_named(api):
    typed = {"Content-Type": "Application/JSON; charset=UTF-8", "Content-Encoding": "identity"}
    assert put(api, json.dumps(HOURLY).encode(), **typed).status == 201


def test_a_body_fits_to_the_byte(api):
    document = json.dumps(HOURLY).encode()
    assert put(api, document.ljust(262_144)).status == 201
    over = put(api, document.ljust(262_145))
    assert over.status == 413
    assert "262,144" in over.problem["detail"]


@pytest.mark.parametrize(
    "request_line",
    [
        "PUT /v1/schedules/report",
        "PATCH /v1/schedules/report",
        "POST /v1/schedules/report:pause",
        "POST /v1/schedules/report:resume",
        "POST /v1/schedules/report:trigger",
        "POST /v1/schedules/report:backfill",
        "PUT /v1/flows/h:80",
        "POST /v1/herd/what-if",
    ],
)
def test_a_body_that_says_it_is_too_large_is_not_waited_for(api, request_line):
    head = api.head(
        f"{request_line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 262145\r\n\r\n{".encode()
    )
    assert head.startswith(b"HTTP/1.1 413 ")
    assert b"\r\nConnection: close\r\n" in head


def test_c58_an_endless_body_is_cut_off_and_the_connection_closed(api):
    head = (
        b"PUT /v1/schedules/report HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = api.raw(head + (b"10000\r\n" + b" " * 65_536 + b"\r\n") * 20)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"too_large"' in answer


def test_a_body_that_breaks_its_framing_is_refused(api):
    head = (
        b"PUT /v1/schedules/report HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = api.raw(head + b"zz\r\n{}\r\n0\r\n\r\n")
    assert answer.split(b" ", 2)[1] == b"400"


def test_a_large_document_is_read_like_a_small_one(api):
    target = {"url": "http://h/", "json": {"rows": ["x" * 50] * 1_900}}
    assert api.put("report", HOURLY | {"target": target}).status == 201
    assert api.get("/v1/schedules/report").json["target"]["json"] == target["json"]


def test_c14_a_long_expression_is_refused_by_its_length(api):
    million = api.put("report", HOURLY | {"cron": "1," * 499_999 + "1 * * * *"})
    assert million.status == 413
    for cron in ("0-59," * 9_999 + "0-59 * * * *", "0" * 5_000 + "5 * * * *"):
        assert "256" in api.put("report", HOURLY | {"cron": cron}).faults["/cron"]


FIELDS = st.sampled_from(
    ["cron", "every", "at", "timezone", "start_at", "labels", "target", "retry", "paused", "name"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            FIELDS | st.sampled_from(["url", "headers", "json"]) | st.text(max_size=8),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["PUT", "PATCH"]),
    body=st.dictionaries(FIELDS, VALUES, max_size=5).map(HOURLY.__or__) | VALUES,
)
def test_random_json_never_breaks_the_server(api, method, body):
    api.put("report", HOURLY)
    answer = api.request(method, "/v1/schedules/report", json=body)
    assert answer.status in (200, 400, 422)
    if answer.status == 200:
        assert api.put("report", answer.json).json == answer.json


PIECES = [
    *("/", "a", "report", ":pause", ":trigger", "/occurrences", "%00", "%ff", "%2F", "%", "?", "&"),
    *(
        "=",
        "limit=",
        "cursor=",
        "@",
        "sch_",
        "from=2026-01-01T00:00:00Z",
        "to=0001-01-01T00:00:00Z",
    ),
    *("..", "é", "+", "#", "\\", "[", "]", ";", ":"),
]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "PUT", "PATCH", "DELETE", "POST", "TRACE", "OPTIONS", "HEAD"]),
    path=st.sampled_from(["/", "/v1/schedules", "/v1/runs", "/v1/schedules:batch", "/livez"]),
    rest=st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    body=st.binary(max_size=64),
)
def test_no_address_breaks_the_server(api, method, path, rest, body):
    head = (
        f"{method} {path}{rest} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    status = api.raw(head.encode() + body).split(b" ", 2)[1]
    assert 200 <= int(status) < 500
