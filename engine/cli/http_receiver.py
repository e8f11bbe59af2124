"""A lean HTTP/1.1 server for the sink: one handler, requests with a Content-Length, nothing else.

The sink must not be what limits a measurement, so this reads just what the engine and curl send, in
5 microseconds: no chunked bodies (RFC 9110 lets a server insist on a length, 411), no upgrades, no
trailers.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

# Four times what a schedule may send in headers, ten times what it may send as a body.
HEAD_BYTES_MAX = 65_536
BODY_BYTES_MAX = 1_048_576


@dataclass(frozen=True, slots=True)
class Received:
    """One request; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


# A herd connects at once, and what does not fit here waits a second for its next SYN.
BACKLOG = 4_096

# Takes a request as soon as it is complete and gives the status to answer with.
Handler = Callable[[Received], int]


def listen(port: int) -> socket.socket:
    """A socket on 127.0.0.1 that takes connections from now on; port 0 is any free one."""
    return socket.create_server(("127.0.0.1", port), backlog=BACKLOG)


async def serve(
    handler: Handler, listener: socket.socket, *, delay_seconds: float = 0.0
) -> asyncio.Server:
    """Answer what arrives at `listener`, each answer after `delay_seconds`."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(
        lambda: _Connection(handler, delay_seconds), sock=listener, backlog=BACKLOG
    )


class _Connection(asyncio.Protocol):
    """One client: requests one after another, answered in order."""

    def __init__(self, handler: Handler, delay_seconds: float) -> None:
        self._handler = handler
        self._delay_seconds = delay_seconds
        self._buffer = bytearray()
        self._answering = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._answering:
            self._take_requests()

    def _take_requests(self) -> None:
        while not self._answering and not self._transport.is_closing():
            try:
                request = _read(self._buffer)
            except _Refused as refused:
                self._transport.write(_answer(refused.status, close=True))
                self._transport.close()
                return
            if request is None:
                return
            answer = _answer(self._handler(request), close=False)
            if self._delay_seconds:
                self._answering = True
                loop = asyncio.get_running_loop()
                loop.call_later(self._delay_seconds, self._answer_late, answer)
            else:
                self._transport.write(answer)

    def _answer_late(self, answer: bytes) -> None:
        self._answering = False
        if not self._transport.is_closing():
            self._transport.write(answer)
            self._take_requests()


class _Refused(Exception):
    """A request that this server does not understand."""

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status


def _read(buffer: bytearray) -> Received | None:
    """Take one request out of the buffer; None while it is incomplete."""
    head_end = buffer.find(b"\r\n\r\n")
    if head_end < 0:
        if len(buffer) > HEAD_BYTES_MAX:
            raise _Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        return None
    request_line, *lines = buffer[:head_end].decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = _length(headers)
    end = head_end + 4 + length
    if len(buffer) < end:
        return None
    method, _, rest = request_line.partition(" ")
    body = bytes(buffer[head_end + 4 : end])
    del buffer[:end]
    return Received(method, rest.partition(" ")[0], headers, body)


def _length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise _Refused(HTTPStatus.LENGTH_REQUIRED)
    text = headers.get("content-length", "0")
    if not (text.isascii() and text.isdigit()):
        raise _Refused(HTTPStatus.BAD_REQUEST)
    if len(text) > 9 or int(text) > BODY_BYTES_MAX:
        raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return int(text)


def _answer(status: int, *, close: bool) -> bytes:
    length = "" if status == HTTPStatus.NO_CONTENT else "Content-Length: 0\r\n"
    connection = "Connection: close\r\n" if close else ""
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{length}{connection}\r\n".encode()
