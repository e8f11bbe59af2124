"""A receiver on loopback that does with its sockets exactly what a test says."""

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from itertools import chain, repeat
from typing import Any

from engine.core.egress import Egress, Refusal
from engine.core.model import Outcome
from engine.services.transport import AiohttpTransport, HttpRequest

PATIENCE_SECONDS = 10  # What is waited for comes at once, or never.

KEYLESS = Egress(private=True).refusal  # May reach loopback.
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Receiver:
    """What reached a loopback receiver, and where it listens."""

    def __init__(self) -> None:
        self.host = "127.0.0.1"
        self.port = 0
        self.scheme = "http"
        self.requests: list[bytes] = []
        self.connections = 0
        self.open = 0
        self._changed = asyncio.Condition()

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}/hook"

    async def until(self, holds: Callable[["Receiver"], bool]) -> None:
        """Wait until `holds(self)`."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(lambda: holds(self))

    async def note(self, *, request: bytes | None = None, opened: int = 0) -> None:
        """Book a request or a connection that came (1) or went (-1)."""
        if request is not None:
            self.requests.append(request)
        self.open += opened
        self.connections += max(0, opened)
        async with self._changed:
            self._changed.notify_all()


class Line:
    """The receiver's end of one connection."""

    def __init__(
        self, receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._receiver, self._reader, self._writer = receiver, reader, writer

    async def request(self) -> bytes:
        """The next whole request; IncompleteReadError when the other end has closed."""
        head = await self.head()
        length = LENGTH.search(head)
        whole = head + await self._reader.readexactly(int(length[1]) if length else 0)
        await self._receiver.note(request=whole)
        return whole

    async def head(self) -> bytes:
        """The next request's head, its body still to come."""
        return await self._reader.readuntil(b"\r\n\r\n")

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def hang_up(self) -> None:
        """Send no more, and wait until the other end has noticed and closes too."""
        self._writer.write_eof()
        await self.hang_up_awaited()

    def reset(self) -> None:
        """Break the connection off: the other end gets a TCP reset."""
        linger_not = struct.pack("ii", 1, 0)
        self._writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger_not
        )
        self._writer.transport.abort()

    async def hang_up_awaited(self) -> None:
        """Say nothing until the other end closes."""
        while await self._reader.read(65_536):
            pass


Handler = Callable[[Line], Awaitable[None]]


@asynccontextmanager
async def loopback(
    *answers: bytes,
    handle: Handler | None = None,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
) -> AsyncIterator[Receiver]:
    """A receiver that runs `handle` on each connection and then hangs up.

    Without `handle`, a connection's requests get `answers` in turn, the last one over and over.
    """
    it = Receiver()
    it.host = host

    async def answer(line: Line) -> None:
        for text in chain(answers, repeat(answers[-1])):
            await line.request()
            await line.send(text)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await it.note(opened=1)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await (handle or answer)(Line(it, reader, writer))
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        await it.note(opened=-1)

    server = await asyncio.start_server(accept, host, port, ssl=tls)
    it.port = server.sockets[0].getsockname()[1]
    it.scheme = "https" if tls else "http"
    try:
        yield it
        await it.until(lambda r: r.open == 0)
    finally:
        server.close()


@asynccontextmanager
async def transport(
    concurrency: int = 8, refusal: Refusal = KEYLESS, **others: Any
) -> AsyncIterator[AiohttpTransport]:
    it = AiohttpTransport(refusal, concurrency=concurrency, **others)
    try:
        yield it
    finally:
        await it.close()


def request(
    url: str,
    method: str = "POST",
    headers: Iterable[tuple[str, str]] = (),
    body: bytes = b"{}",
    tenant: str = "default",
) -> HttpRequest:
    return HttpRequest(url=url, method=method, headers=list(headers), body=body, tenant=tenant)


def success(response: bytes = b"ok", *, status: int = 200, cut: bool = False) -> Outcome:
    return Outcome(name="success", status=status, response=response, response_cut=cut)


def refused(status: int, response: bytes = b"", retry_after: str | None = None) -> Outcome:
    return Outcome(
        name="http_error",
        status=status,
        error=f"status {status}",
        response=response,
        retry_after=retry_after,
    )


def broken(error: str) -> Outcome:
    return Outcome(name="protocol_error", error=error)
