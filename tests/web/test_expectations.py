"""`Expect: 100-continue`: who is told to send a body, and who is refused before."""

import asyncio
import json

import pytest

from tests.web.keyed import keyed_node

SCHEDULE = json.dumps({"cron": "0 * * * *", "target": {"url": "http://h/"}}).encode()
BODY_LENGTH = len(SCHEDULE)
BATCH = json.dumps({"name": "a"} | json.loads(SCHEDULE)).encode()


def waiting(request_line, *headers, length=BODY_LENGTH, media_type="application/json"):
    """The head of a request whose client waits to be told to send its body."""
    lines = (
        f"{request_line} HTTP/1.1",
        *("Host: localhost", "Expect: 100-Continue", *headers),
        *(f"Content-Type: {media_type}", f"Content-Length: {length}"),
    )
    return "\r\n".join((*lines, "", "")).encode()


@pytest.mark.parametrize(
    ("request_line", "media_type", "status"),
    [
        ("PUT /v1/schedules/a", "application/json", 201),
        ("POST /v1/schedules:batch", "application/x-ndjson", 200),
    ],
)
def test_who_waits_is_told_once_to_send_the_body(api, engine, request_line, media_type, status):
    body = BATCH if "batch" in request_line else SCHEDULE
    rest = {"media_type": media_type, "length": len(body)}
    assert api.head(waiting(request_line, **rest)) == b"HTTP/1.1 100 Continue\r\n\r\n"
    answer = api.raw(waiting(request_line, "Connection: close", **rest) + body)
    first, second, _ = answer.split(b"\r\n\r\n", 2)
    assert first == b"HTTP/1.1 100 Continue"
    assert second.startswith(b"HTTP/1.1 %d " % status)
    assert list(engine.schedules.by_name) == ["a"]


@pytest.mark.parametrize(
    ("request_line", "rest", "status"),
    [
        ("PUT /v1/schedules/a", {"length": 262_145}, 413),
        ("PUT /v1/schedules/a", {"media_type": "text/plain"}, 415),
        ("POST /v1/schedules:batch", {}, 415),
        ("PUT /v1/schedules/a?colour=red", {}, 422),
        ("GET /v1/schedules/a", {}, 404),
    ],
)
def test_what_is_refused_is_refused_before_its_body(api, request_line, rest, status):
    head = api.head(waiting(request_line, **rest))
    assert head.startswith(b"HTTP/1.1 %d " % status)
    # Whether the body still comes is not known, so nothing can follow it.
    assert b"\r\nConnection: close\r\n" in head


def test_an_expectation_of_http_1_0_is_passed_over(api):
    asked = waiting("PUT /v1/schedules/a").replace(b"HTTP/1.1", b"HTTP/1.0")
    assert api.raw(asked + SCHEDULE).startswith(b"HTTP/1.0 201 ")


def test_who_has_no_key_is_refused_before_the_body(tmp_path):
    async def first_head(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(waiting("PUT /v1/schedules/a"))
        head = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return head

    with keyed_node(tmp_path) as node:
        head = node.run(first_head(int(node.url.rpartition(":")[2])))
    assert head.startswith(b"HTTP/1.1 401 ")
