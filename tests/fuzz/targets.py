"""What is fuzzed: each function takes bytes, and raises nothing but for a bug.

Expected refusals are caught here; what is accepted is carried on to where the engine would take it,
and must hold there.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from engine.core.addresses import carried, kind_of, perhaps_carried, read_address
from engine.core.document import read_schedule
from engine.core.egress import Egress, literal_of, read_opening
from engine.core.errors import Fault, Invalid, Malformed
from engine.core.flow import default_key
from engine.core.header_rules import read_headers
from engine.core.json_text import compact_json, parse_json
from engine.core.model import Outcome, RetryPolicy
from engine.core.retry import decide, parse_retry_after
from engine.core.timetable import compile_trigger
from engine.core.trigger_document import read_cron
from engine.core.url_rules import wire_url
from engine.services.outgoing import read_route, request_bytes
from engine.services.transport import HttpRequest, _Response, _Wire

NOW_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z
KEY = "0" * 64
GUARD = Egress(openings=(read_opening("10.0.0.0/8:443"), read_opening("64:ff9b::/96")))


def url(data: bytes) -> None:
    """A URL that is accepted can be sent, and its address be judged."""
    try:
        sent = wire_url(_text(data))
    except ValueError:
        return
    read_route("POST", sent)
    default_key(sent)
    literal = literal_of(sent)
    if literal is not None:
        GUARD.refusal(*literal)


def address(data: bytes) -> None:
    """Whatever a resolver says, or an operator writes, is classified or refused."""
    found = [read_address(_text(data))]
    if len(data) in (4, 16):
        found.append(ip_address(data))
    for each in found:
        if each is not None:
            kind_of(each)
            carried(each)
            perhaps_carried(each)
            GUARD.refusal(each, 443)
    try:
        opening = read_opening(_text(data))
    except ValueError:
        return
    Egress(openings=(opening,)).refusal(ip_address("192.0.2.1"), 80)


def cron(data: bytes) -> None:
    """An expression that is accepted has occurrences, in order."""
    zone, _, text = _text(data).partition("|")
    try:
        trigger = read_cron(
            text, schedule_id="sch_0", timezone=zone, dst_gap="shift", dst_fold="first"
        )
    except Invalid:
        return
    timetable = compile_trigger(trigger)
    first = timetable.after(NOW_MS)
    if first is not None:
        assert first > NOW_MS
        second = timetable.after(first)
        assert second is None or second > first


def headers(data: bytes) -> None:
    """Headers that are accepted can be sent."""
    lines = [line.partition(":") for line in _text(data).split("\n")]
    faults: list[Fault] = []
    found = read_headers({name: value for name, _, value in lines}, pointer="", faults=faults)
    if not faults:
        request_bytes(read_route("POST", "http://h.example/"), found, b"")


def document(data: bytes) -> None:
    """JSON becomes a draft or is refused with what to write."""
    try:
        value = parse_json(data)
        draft = read_schedule(value, tenant="acme", name="n")
    except (Invalid, Malformed):
        return
    compact_json(value)
    compile_trigger(draft.definition.trigger).after(NOW_MS)


def retry_after(data: bytes) -> None:
    """A wait that was asked for is a number of milliseconds, or not understood."""
    text = _text(data)
    waited = parse_retry_after(text, NOW_MS)
    assert waited is None or waited >= 0
    outcome = Outcome(name="http_error", status=429, retry_after=text)
    decide(
        RetryPolicy(), KEY, attempt=1, outcome=outcome, now_ms=NOW_MS, first_attempt_at_ms=NOW_MS
    )


def response(data: bytes) -> None:
    """What a receiver answers, in two pieces, becomes an outcome that can be decided upon."""
    request = HttpRequest(url="http://h.example/", method="POST", headers=[], body=b"", tenant="a")
    answer = _Response(_Wire(LOOP), LOOP, request)
    cut = data[0] if data else 0
    outcome = answer.feed(data[1:cut]) or answer.feed(data[max(1, cut) :]) or answer.end(None)
    decide(
        RetryPolicy(), KEY, attempt=1, outcome=outcome, now_ms=NOW_MS, first_attempt_at_ms=NOW_MS
    )


def _text(data: bytes) -> str:
    # Bytes that are no UTF-8 become halves of surrogate pairs, as JSON can bring them.
    return data.decode("utf-8", "surrogateescape")


LOOP = asyncio.new_event_loop()

SCHEDULE = {
    "cron": "H 3 * * 1-5",
    "timezone": "Europe/Berlin",
    "start_at": "2026-11-30T12:00:00Z",
    "jitter_seconds": 60,
    "labels": {"team": "a"},
    "retry": {"max_attempts": 3, "jitter": "full"},
    "target": {"url": "https://h.example/?a=%20", "headers": {"X-A": "b"}, "json": [1.5, None]},
}

SEEDS: dict[Callable[[bytes], None], Sequence[str]] = {
    url: ["https://bücher.example:8443/a%20b?ids[]=1", "http://[::ffff:10.0.0.1]/", "http://127.1"],
    address: ["::ffff:10.0.0.1", "fe80::1%eth0", "10.0.0.0/8:443", "[64:ff9b::]:1", "0x7f.1"],
    cron: [
        "Europe/Berlin|*/5 0-23/2 L * MON#1",
        "UTC|@daily",
        "UTC|0 0 0 29 2 0",
        "Asia/Tokyo|H H(1-9) 15W * ?",
    ],
    headers: ["X-Own: 1\nAccept: */*\nCookie: a=b"],
    document: [
        json.dumps(SCHEDULE),
        '{"every":60,"phase":1,"target":{"url":"http://h/","body_base64":"AA=="}}',
        '{"at":"2026-12-01T00:00:00Z","target":{"url":"http://h/","body":"\\ud800"}}',
    ],
    retry_after: [
        "120",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ],
    response: [
        "\x20HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "\x09HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nRetry-After: 9\r\n"
        "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    ],
}
TARGETS = {target.__name__: target for target in SEEDS}
