"""What a receiver can read out of the bytes: one request for each that was sent, and nothing else.

The receiver takes requests apart by itself, to the letter of RFC 9112, and hands the same bytes to
llhttp; both must see one request and no byte more.
"""

import asyncio
import random
from collections import Counter
from contextlib import suppress

import pytest
import uvloop
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpProcessingError
from aiohttp.http_parser import HttpRequestParserC

from engine.core.errors import Fault
from engine.core.header_rules import RESERVED_NAMES, read_headers
from engine.core.identity import Signer, derive_secret
from engine.core.request import ENGINE_HEADERS, attempt_headers
from engine.core.url_rules import wire_url
from tests.services.loopback import OK, request, transport

MAPS = 10_000
SIGNER = Signer([derive_secret(bytes(32), "default", 1)])

NASTY_CHARACTERS = [*map(chr, range(256)), "č", "Ċ", "\u2028", "İ", "ſ", "K", "\ud800", "🦊"]
FRAMING = ["Transfer-Encoding", "Content-Length", "Host", "Connection", "webhook-id", "X-Attempt"]

CODINGS = ["chunked", "\tchunked", "xchunked", "chunked, identity"]
LENGTHS = ["0", "+3", "3, 3", "0x3", " 3", "-1"]
FRAMING_NAMES = [
    *("transfer-encoding", "TRANSFER-ENCODING", "Transfer_Encoding", "Transfer-Encoding "),
    *(" Transfer-Encoding", "\tTransfer-Encoding", "Transfer-Encoding\t", "Transfer-Encoding:"),
    *("Transfer Encoding", "Transfer-Encoding\x0b", "Transfer-Encoding\0", "\nTransfer-Encoding"),
    *("Tranſfer-Encoding", "Transfer\u2010Encoding", "X\r\nTransfer-Encoding", "content_length"),
    *("Content-Length ", "X: y\r\nContent-Length", "", "Host", "host", "Connection", "Upgrade"),
    *("Expect", "TE", "Trailer", "Keep-Alive", "Proxy-Connection", "GET / HTTP/1.1"),
]
LINE_ENDS = ["\r\n", "\n", "\r", "\r\n ", "\u010d\u010a"]
SMUGGLING_HEADERS = [
    *(("Transfer-Encoding", coding) for coding in CODINGS),
    *(("Content-Length", length) for length in LENGTHS),
    *((name, "3") for name in FRAMING_NAMES),
    *(("X", f"y{end}Transfer-Encoding: chunked") for end in LINE_ENDS),
    *(("X", f"y{end}{end}GET /admin HTTP/1.1{end}Host: h{end}{end}") for end in LINE_ENDS),
    *(("X", value) for value in ("\0", "\x0b", "\x0c", "\x85", "\u2028", "\x7f", " y", "y ", "é")),
]
SMUGGLING_URLS = [
    "http://h/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "http://h/\r\nX: y",
    "http://h/\nX: y",
    "http://h/ x",
    "http://h/\tx",
    "http://h/\0",
    "http://h/\u010d\u010a",
    "http://h/#\r\nX: y",
    "http://h\r\nX: y/",
    "http://h:80\r\n/",
    "http://h /",
    "http://u:p@h/",
]
SMUGGLING_BODIES = [
    b"GET /admin HTTP/1.1\r\nHost: h\r\n\r\n",
    b"0\r\n\r\nGET /admin HTTP/1.1\r\nHost: h\r\n\r\n",
    b"\r\n\r\nGET /admin HTTP/1.1\r\nHost: h\r\n\r\n",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"\r\n" * 100,
    b"\0" * 100,
    bytes(range(256)) * 4,
]


class Strict(asyncio.Protocol):
    """A receiver that knows when there is one request to its last byte, and answers it."""

    def __init__(self):
        self.buffer = b""
        self.requests = []
        self.stray = b""

    def connection_made(self, wire):
        self.wire = wire

    def data_received(self, data):
        self.buffer += data
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return
        start, *lines = head.split(b"\r\n")
        fields = [tuple(line.split(b": ", 1)) for line in lines]
        lengths = [value for name, value in fields if name.lower() == b"content-length"]
        assert len(lengths) <= 1
        length = int(lengths[0]) if lengths else 0
        if len(rest) < length:
            return
        body, self.stray = rest[:length], rest[length:]
        if count_by_llhttp(self.buffer) != 1:
            self.wire.close()
            return
        self.requests.append((start, fields, body))
        self.buffer = b""
        self.wire.write(OK)


def count_by_llhttp(data):
    """How many requests there are in `data`, all of it; 0 when it is none."""
    loop = asyncio.get_running_loop()
    parser = HttpRequestParserC(BaseProtocol(loop), loop, 2**16, max_line_size=2**14)
    try:
        messages, _, tail = parser.feed_data(data)
    except HttpProcessingError:
        return 0
    return len(messages) + bool(tail)


async def listening(strict):
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: strict, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"


def signed(own, body):
    return attempt_headers(
        SIGNER,
        own,
        key="0" * 64,
        schedule_id="sch_si9ka8a42n538os9a9or3pkki4",
        schedule_name="report",
        scheduled_for_ms=1_796_040_000_000,
        fire_after_ms=1_796_040_000_000,
        attempt=1,
        trigger="schedule",
        now_ms=1_796_040_000_000,
        body=body,
    )


def test_ten_thousand_header_maps_are_ten_thousand_requests():
    draw = random.Random(4)

    async def scenario():
        strict, refused = Strict(), 0
        server, url = await listening(strict)
        async with server, transport() as it:
            for number in range(MAPS):
                members, body = header_map(draw), draw.randbytes(draw.randrange(200))
                own, faults = accepted(members)
                refused += len(faults)
                outcome = await it.send(request(url, headers=signed(own, body), body=body))
                assert outcome.name == "success", (members, outcome)
                assert (len(strict.requests), strict.stray) == (number + 1, b"")
                check(strict.requests[-1], own, body)
        assert refused > MAPS, "the maps are nasty"

    uvloop.run(scenario())


def header_map(draw):
    """Up to 32 headers: plain ones, and ones with something wrong in them."""
    members = {}
    for _ in range(draw.randrange(33)):
        name = draw.choice(["X-", "x_", "Accept-", "_", "~"]) + str(draw.randrange(40))
        value = draw.choice(["", "plain", "two words", "a\tb", ";=,\"'()<>{}[]", "x" * 100])
        if draw.random() < 0.1:
            name = draw.choice([*FRAMING, *RESERVED_NAMES])
        if draw.random() < 0.2:
            name = spoilt(draw, name)
        if draw.random() < 0.2:
            value = spoilt(draw, value)
        members[name] = value
    return members


def spoilt(draw, text):
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(NASTY_CHARACTERS) + text[at:]


def accepted(members):
    """What the rules let through of `members`, and what was wrong with the rest."""
    faults: list[Fault] = []
    read_headers(members, pointer="", faults=faults)
    own: dict[str, str] = {}
    for name, value in members.items():
        candidate = own | {name: value}
        wrong: list[Fault] = []
        read_headers(candidate, pointer="", faults=wrong)
        own = own if wrong else candidate
    return tuple(own.items()), faults


def check(received, own, body):
    start, fields, received_body = received
    assert (start, received_body) == (b"POST /hook HTTP/1.1", body)
    names = Counter(name.lower().decode() for name, _ in fields)
    assert set(names.values()) == {1}
    assert names.keys() >= {name.lower() for name in ENGINE_HEADERS} | {"host", "content-length"}
    assert "transfer-encoding" not in names
    sent = [(name.encode(), value.encode()) for name, value in own]
    assert [field for field in fields if field in sent] == sent


def test_the_corpus_is_as_long_as_it_claims():
    assert len(SMUGGLING_HEADERS) + len(SMUGGLING_URLS) + len(SMUGGLING_BODIES) >= 40


@pytest.mark.parametrize(("name", "value"), SMUGGLING_HEADERS)
def test_a_header_that_smuggles_is_refused_and_is_one_request_at_most_without_the_rules(
    run, name, value
):
    faults: list[Fault] = []
    read_headers({name: value}, pointer="", faults=faults)
    assert faults

    async def scenario():
        strict = Strict()
        server, url = await listening(strict)
        async with server, transport() as it:
            outcome = await it.send(request(url, headers=[(name, value)], body=b"abc"))
            assert strict.stray == b""
            if outcome.name == "success":
                assert [body for _, _, body in strict.requests] == [b"abc"]
            else:
                assert outcome.name == "protocol_error"
                assert strict.requests == []

    run(scenario())


@pytest.mark.parametrize("url", SMUGGLING_URLS)
def test_a_url_that_smuggles_is_refused_and_not_sent_without_the_rules(run, url):
    with suppress(ValueError):
        assert wire_url(url).isascii()  # Percent-encoded, it is harmless.

    async def scenario():
        async with transport() as it:
            outcome = await it.send(request(url))
            assert outcome.error.startswith("request not sent: ")

    run(scenario())


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "GET"])
@pytest.mark.parametrize("body", SMUGGLING_BODIES)
def test_a_body_that_looks_like_a_request_is_a_body(run, method, body):
    async def scenario():
        strict = Strict()
        server, url = await listening(strict)
        async with server, transport() as it:
            for _ in range(2):
                await it.send(request(url, method=method, body=body))
        assert [received for _, _, received in strict.requests] == [body, body]
        assert strict.stray == b""

    run(scenario())
