"""A receiver in a process of its own: it writes down what it sees, then answers as it was asked to.

`python receiver.py LEDGER` listens on a free port of 127.0.0.1, prints the port, and appends one
line of JSON to LEDGER for each request, in one write(2), before anything is answered: what an
engine may believe delivered is in the ledger, whichever process dies next. Nothing here comes from
the engine.

How to answer stands in the URL's query, and where it varies it follows from the key and the
attempt, so that a run of a test fails the same way again:

* `status=500,500,200`: one for each attempt, the last one for all that follow (default 200);
* `fail=20`: this many in a hundred attempts get 503; `drop=5`: this many get no answer at all;
* `delay_ms=300`: up to so long before the answer;
* `echo=raw`: the answer repeats the request's headers, as they came or in the words of `ECHOES`;
* `hold=1`: no answer before somebody asks for `/release` (which is not in the ledger).
"""

import asyncio
import json
import os
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from urllib.parse import parse_qsl, urlencode, urlsplit

HEAD_BYTES_MAX = 2**16
"""Of a request line and its headers: more than any engine of ours sends."""


Headers = list[tuple[str, str]]

ECHOES: Mapping[str, Callable[[Headers], str]] = {
    "raw": lambda headers: "".join(f"{name}: {value}\n" for name, value in headers),
    "values": lambda headers: " ".join(word for _, value in headers for word in value.split()),
    "json": lambda headers: json.dumps(dict(headers)),
    "nested": lambda headers: json.dumps({"got": json.dumps(json.dumps(dict(headers)))}),
    "url": urlencode,
    "html": lambda headers: escape(json.dumps(dict(headers))),
    "base64": lambda headers: b64encode(json.dumps(headers).encode()).decode(),
    "hex": lambda headers: json.dumps(headers).encode().hex(),
    "escaped": lambda headers: "".join(f"\\u{ord(c):04x}" for _, v in headers for c in v + " "),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request; `headers` in order and spelling of arrival."""

    method: str
    target: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str:
        return next((value for field, value in self.headers if field.lower() == name), "")


class Receiver:
    """Records requests and answers them."""

    def __init__(self, ledger: int) -> None:
        """`ledger`: a descriptor that appends."""
        self._ledger = ledger
        self._released = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests until the other end has had enough."""
        try:
            while (request := await _read(reader)) is not None:
                answer = await self._answer(request)
                if answer is None:
                    break
                writer.write(answer)
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, request: Received) -> bytes | None:
        """What to send, when it is time; None: nothing."""
        address = urlsplit(request.target)
        if address.path == "/release":
            self._released.set()
            return _response(204, request, None)
        wishes = dict(parse_qsl(address.query))
        luck = sha256(
            f"{request.header('idempotency-key')}|{request.header('x-attempt')}".encode()
        ).digest()
        status = _status(wishes, request.header("x-attempt"), luck)
        self._record(request, address.path, status)
        if "hold" in wishes:
            await self._released.wait()
        await asyncio.sleep(int(wishes.get("delay_ms", 0)) / 1_000 * luck[2] / 256)
        return None if status is None else _response(status, request, wishes.get("echo"))

    def _record(self, request: Received, path: str, status: int | None) -> None:
        line = {
            "wall_ms": time.time_ns() // 1_000_000,
            "method": request.method,
            "path": path,
            "headers": request.headers,
            "body": b64encode(request.body).decode(),
            "status": status,
        }
        os.write(self._ledger, json.dumps(line).encode() + b"\n")


def _response(status: int, request: Received, echo: str | None) -> bytes:
    if echo is None:
        return f"HTTP/1.1 {status} Told\r\nContent-Length: 0\r\n\r\n".encode()
    body = ECHOES[echo](request.headers).encode("latin-1")
    told = request.header("authorization")
    head = f"HTTP/1.1 {status} You sent {told}\r\nX-Sent: {told}\r\nRetry-After: {told}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body


def _status(wishes: Mapping[str, str], attempt: str, luck: bytes) -> int | None:
    if luck[0] * 100 < int(wishes.get("drop", 0)) * 256:
        return None
    if luck[1] * 100 < int(wishes.get("fail", 0)) * 256:
        return 503
    statuses = wishes.get("status", "200").split(",")
    return int(statuses[min(int(attempt or 1), len(statuses)) - 1])


async def _read(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
        method, target, _ = start.split(" ")
        headers = [(name, value.strip()) for name, _, value in (f.partition(":") for f in fields)]
        request = Received(method=method, target=target, headers=headers, body=b"")
        body = await reader.readexactly(int(request.header("content-length") or 0))
    except asyncio.IncompleteReadError:
        return None
    return Received(method=method, target=target, headers=headers, body=body)


async def main(ledger: str) -> None:
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    receiver = Receiver(descriptor)
    server = await asyncio.start_server(
        receiver.serve, "127.0.0.1", 0, limit=HEAD_BYTES_MAX, backlog=1_024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
