"""A head that can be read in two ways is refused, and its connection closed."""

import json

import pytest

SCHEDULE = json.dumps({"cron": "0 * * * *", "target": {"url": "http://h/"}}).encode()
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(SCHEDULE), SCHEDULE)
NEXT = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answer(api, *fields, method=b"PUT"):
    """What comes back for a request in chunks with these fields, and for one behind it."""
    head = b"%b /v1/schedules/a HTTP/1.1\r\nHost: localhost\r\n" % method
    head += b"Content-Type: application/json\r\n"
    return api.raw(head + b"".join(field + b"\r\n" for field in fields) + b"\r\n" + CHUNKS + NEXT)


@pytest.mark.parametrize("coding", [b"chunked", b"Chunked"])
def test_chunks_are_a_body(api, engine, coding):
    answered = answer(api, b"Transfer-Encoding: " + coding)
    assert answered.startswith(b"HTTP/1.1 201 ")
    assert answered.count(b"HTTP/1.1 200 ") == 1
    assert list(engine.schedules.by_name) == ["a"]


@pytest.mark.parametrize("method", [b"PUT", b"GET"])
@pytest.mark.parametrize(
    "fields",
    [
        [b"Transfer-Encoding: gzip, chunked"],
        [b"Transfer-Encoding: deflate,chunked"],
        [b"Transfer-Encoding: identity, chunked"],
        [b"Transfer-Encoding: x, chunked"],
        [b"Transfer-Encoding: chunked, chunked"],
        [b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: gzip"],
        [b"Transfer-Encoding: chunked, gzip"],
        [b"Transfer-Encoding: \x0bchunked"],
    ],
)
def test_any_other_transfer_coding_is_refused_and_nothing_behind_it_is_read(
    api, engine, fields, method
):
    answered = answer(api, *fields, method=method)
    assert answered[:13] in (b"HTTP/1.1 400 ", b"HTTP/1.0 400 ")
    assert b'"code":"malformed"' in answered
    assert b"HTTP/1.1 200 " not in answered
    assert list(engine.schedules.by_name) == []


def test_an_older_http_has_no_chunks(api, engine):
    head = b"PUT /v1/schedules/a HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n"
    head += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    answered = api.raw(head + CHUNKS + NEXT)
    assert answered.startswith(b"HTTP/1.0 400 ")
    assert b"HTTP/1.1 200 " not in answered
    assert list(engine.schedules.by_name) == []


CLOSING = b"Connection: close\r\n\r\n"
PUT = b"PUT /v1/schedules/a HTTP/1.1\r\n"
FIELDS = {
    b"Host": (b"localhost", b"evil.example"),
    b"Content-Type": (b"application/json", b"text/plain"),
    b"Content-Length": (b"%d" % len(SCHEDULE), b"0"),
}


def refused(api, request, status=400, behind=NEXT):
    """The one answer to a request and what is sent behind it, which is a problem; its code."""
    head, _, body = api.raw(request + behind).partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == b"%d" % status, head
    assert b"Content-Type: application/problem+json" in head
    assert json.loads(body)["status"] == status
    return json.loads(body)["code"]


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        (b"Host", [b"localhost", b"evil.example"]),
        (b"Host", [b"localhost", b"localhost"]),
        (b"Origin", [b"http://localhost", b"https://evil.example"]),
        (b"Sec-Fetch-Site", [b"same-origin", b"cross-site"]),
        (b"Authorization", [b"Bearer obk_a_b", b"Bearer obk_c_d"]),
        (b"Content-Type", [b"application/json", b"text/plain"]),
        (b"Content-Length", [b"%d" % len(SCHEDULE), b"0"]),
        (b"Content-Length", [b"%d" % len(SCHEDULE), b"%d" % len(SCHEDULE)]),
        (b"Content-Encoding", [b"identity", b"gzip"]),
        (b"Idempotency-Key", [b"a", b"b"]),
        (b"Idempotency-Key", [b"a", b"a"]),
        (b"Expect", [b"100-continue", b"100-continue"]),
        (b"Last-Event-ID", [b"1", b"2"]),
    ],
)
def test_what_decides_is_said_once(api, engine, name, values, turn):
    fields = {other: [first] for other, (first, _) in FIELDS.items()} | {name: values[::turn]}
    lines = b"".join(b"%b: %b\r\n" % (n, value) for n, said in fields.items() for value in said)
    assert refused(api, PUT + lines + b"\r\n" + SCHEDULE) == "malformed"
    assert list(engine.schedules.by_name) == []


@pytest.mark.parametrize(
    "line",
    [b"GET /livez", b"GET /livez HTTP/0.9", b"GET /livez HTTP/1.2", b"GET /livez HTTP/2.0",
     b"GET /livez HTTP/3.0", b"GET /livez HTTP/9.9"],
)  # fmt: skip
def test_other_versions_of_http_are_not_spoken(api, line):
    request = line + b"\r\nHost: localhost\r\n\r\n"
    assert refused(api, request, 505, behind=b"") == "version_not_supported"


def test_a_change_in_another_version_is_not_made(api, engine):
    fields = b"".join(b"%b: %b\r\n" % (name, value) for name, (value, _) in FIELDS.items())
    put = PUT.replace(b"1.1", b"2.0") + fields + b"\r\n" + SCHEDULE
    assert refused(api, put, 505, behind=b"") == "version_not_supported"
    assert list(engine.schedules.by_name) == []


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"ftp://localhost/livez", 400),
        (b"ws://localhost/livez", 400),
        (b"/livez#fragment", 400),
        (b"/liv\x01ez", 400),
        (b"/liv\xffez", 400),
        (b"livez", 400),
        (b"*", 400),
        (b"http:///livez", 400),
        (b"http://localhost:99999/livez", 400),
        (b"//livez", 404),
        (b"//evil.example/livez", 404),
        (b"/livez%00", 404),
        (b"/%2e%2e/livez", 404),
        (b"/v1%2Fschedules", 404),
        (b"/v1/schedules/..%2f..%2flivez", 404),
        (b"/v1/schedules/%ff%00%0d%0a", 404),
        (b"/v1/schedules?limit=%ff", 422),
        (b"/v1/schedules?q=%ed%a0%80", 200),
        (b"/" + b"a" * 8_200, 431),
    ],
)
def test_a_target_is_a_path_that_is_there_or_a_problem(api, target, status):
    answered = api.raw(b"GET %b HTTP/1.1\r\nHost: localhost\r\n" % target + CLOSING)
    assert answered.split(b" ")[1] == b"%d" % status
    assert (b"application/problem+json" in answered) == (status != 200)
