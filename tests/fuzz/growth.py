"""Inputs as long as any that gets so far: what a fuzzer finds short is repeated up to the limit.

libFuzzer's inputs are short, since they are made byte by byte, and what takes time is long. How
each is made long follows from its own bytes, so that a run is repeated by its seed.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from engine.core.header_rules import HEADERS_BYTES_MAX
from engine.core.url_rules import URL_LENGTH_MAX
from engine.services.transport import RESPONSE_READ_BYTES
from engine.web.json_bodies import BODY_BYTES_MAX
from tests.fuzz import targets

Grow = Callable[[bytes, int], bytes]
"""From bytes and a length, bytes about so long."""


def repeated(data: bytes, length: int) -> bytes:
    return (data * (length // max(len(data), 1) + 1))[:length]


def around(first: bytes, last: bytes, middle: Callable[[bytes], bytes] = bytes) -> Grow:
    """One of them again and again between `first` and `last`."""

    def grow(data: bytes, length: int) -> bytes:
        return first + repeated(middle(data), length - len(first) - len(last)) + last

    return grow


def numbered(first: bytes, each: bytes, last: bytes) -> Grow:
    """`each`, which holds a place for a number and one for the data, as often as there is room."""

    def grow(data: bytes, length: int) -> bytes:
        data = escaped(data)
        size = len(each) + len(data) + 4
        items = (each.replace(b"#", b"%d" % n).replace(b"@", data) for n in range(length // size))
        return first + b"".join(items) + last

    return grow


def escaped(data: bytes) -> bytes:
    """As it may stand in a JSON string, or in a line."""
    return json.dumps(data[:64].decode("latin-1"))[1:-1].encode()


SCHEDULE = b'{"every":60,"target":{"url":"http://h/",'

GROWTHS: Mapping[Callable[[bytes], None], tuple[Sequence[int], Sequence[Grow]]] = {
    # A text in a body may be as long as the body, whatever is allowed of it.
    targets.url: (
        (URL_LENGTH_MAX, 2 * URL_LENGTH_MAX, BODY_BYTES_MAX),
        (
            repeated,
            around(b"http://", b".example/"),
            around(b"http://h.example/", b""),
            around(b"http://h.example/?", b"=1"),
            around(b"http://[", b"]:80/"),
            numbered(b"http://", b"@#.", b"example/"),
        ),
    ),
    targets.address: ((4_096,), (repeated, around(b"::", b"/32:443"))),
    targets.cron: (
        (256, BODY_BYTES_MAX),
        (
            repeated,
            around(b"UTC|0 0 ", b" * *"),
            around(b"UTC|0 0 ", b" * *", lambda data: data + b","),
            around(b"", b"|@daily"),
        ),
    ),
    targets.headers: (
        (HEADERS_BYTES_MAX, BODY_BYTES_MAX),
        (repeated, around(b"X-Long: ", b""), numbered(b"", b"X-@-#: @\n", b"")),
    ),
    targets.document: (
        (BODY_BYTES_MAX,),
        (
            repeated,
            around(b"[", b"0]", lambda data: data + b","),
            around(b"[" * 32, b"", lambda data: data + b"[]"),
            around(b'{"target":{"json":[', b"0]}}", lambda data: b'["%b"],' % escaped(data)),
            around(
                b'{"target":{"json":[', b"0]}}", lambda data: b"%d.1e%d," % (len(data), sum(data))
            ),
            around(SCHEDULE + b'"body":"', b'"}}', escaped),
            around(b'{"every":60,"target":{"url":"http://h/', b'"}}', escaped),
            around(b'{"cron":"', b'"}', escaped),
            numbered(SCHEDULE + b'"headers":{', b'"X-#":"@",', b'"X":""}}}'),
            numbered(SCHEDULE + b'"headers":{', b'"X@-#":"",', b'"X":""}}}'),
            numbered(b'{"labels":{', b'"#":"@",', b'"x":""}}'),
            numbered(b"{", b'"@#":null,', b'"every":60}'),
        ),
    ),
    targets.retry_after: (
        (64, BODY_BYTES_MAX),
        (repeated, around(b"1", b""), around(b"Sun, 06 Nov ", b" GMT")),
    ),
    targets.response: (
        (RESPONSE_READ_BYTES, 4 * RESPONSE_READ_BYTES),
        (
            repeated,
            around(b"\xffHTTP/1.1 200 OK\r\n\r\n", b""),
            around(b"\xffHTTP/1.1 429 No\r\nRetry-After: ", b"\r\n\r\n"),
            numbered(b"\xffHTTP/1.1 200 OK\r\n", b"X-#: @\r\n", b"\r\n"),
            numbered(
                b"\xffHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1;@\r\nx\r\n", b""
            ),
        ),
    ),
}


def grown(target: Callable[[bytes], None], data: bytes) -> bytes:
    """`data` made long, in one of the ways that there are for it."""
    lengths, growths = GROWTHS[target]
    choice = sum(data)
    return growths[choice % len(growths)](data, lengths[choice // len(growths) % len(lengths)])
