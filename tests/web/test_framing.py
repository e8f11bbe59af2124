"""How the body of a request may be framed."""

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
