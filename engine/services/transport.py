"""One HTTP request, sent once: bytes out, an `Outcome` back.

Theory. A delivery wants less of HTTP than a client library offers. The request is bytes known
beforehand; of the response only the status, `Retry-After` and the body's first 4 KiB matter.
Redirects, cookies, proxies, netrc, decompression and silent retries are each a way to send
something else than what was signed, or to send it twice. So `aiohttp.ClientSession` is left out,
and all of these with it: what is not there needs no switching off. aiohttp still does what is hard
to do well: its connector (`connector.py`) races addresses (RFC 8305) and speaks TLS, its parser
(llhttp) reads responses. Between the two, `_Wire` writes a request in one piece and turns what
comes back into an `Outcome` inside `data_received`: one future and one wake-up for each request.

Trade-off. This costs about a third of `session.post` and relies on what aiohttp does not promise:
`TCPConnector._factory` makes the connector's protocols; `HttpResponseParser` feeds a message's
`StreamReader` before `feed_data` returns it, and the reader calls back `pause_reading` and
`resume_reading` alone. The lock file pins the version, the tests of this module the behaviour.

When a response is over, RFC 9112 §6.3 says; and wherever it is whole, or cut by our own limit, the
status alone decides. A connection that breaks before that leaves open whether the receiver acted:
the outcome is retryable, and nothing is sent again from here (SPEC §5, invariant 7), not even when
the connection had rested and was dead already.
"""

import asyncio
import os
import ssl
from dataclasses import dataclass, field
from typing import Literal, Protocol

from aiohttp import (
    ClientConnectorDNSError,
    ClientError,
    ClientRequest,
    ClientSSLError,
    ClientTimeout,
)
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, HttpResponseParser, RawResponseMessage
from aiohttp.streams import StreamReader
from yarl import URL

from engine.core.egress import Refusal
from engine.core.model import Outcome
from engine.services.connector import Blocked, Connector
from engine.services.keepalive import Place, Resting
from engine.services.lookup_threads import LookupThreads
from engine.services.names import ASKING, Lookup, Names
from engine.services.outgoing import read_route, request_bytes

RESPONSE_READ_BYTES = 64 * 1024
"""Read of a response, head included. It bounds memory and time where a body never ends."""

RESPONSE_KEPT_BYTES = 4 * 1024
"""Kept of a response's body: the first lines of an error say what is wrong."""

RESPONSE_FIELDS_MAX = 256
"""Header fields of a response. Receivers send 10 to 60; each takes a microsecond of the loop."""

KEEPALIVE_SECONDS = 4
"""Rest of a connection. Receivers hang up after 5 s (Apache httpd, Node.js, uvicorn) to 75 s
(nginx). A request that crosses a hang-up costs a retry, a new connection only a round trip."""

ERROR_CHARACTERS_MAX = 200
"""Of an error's text: two lines of a terminal."""

RETRY_AFTER_CHARACTERS_MAX = 64
"""The longest HTTP date has 33; what is longer cannot be read and need not be kept."""

FailureName = Literal["blocked", "connect_error", "tls_error", "dns_error", "protocol_error"]

_NO_TIMEOUT = ClientTimeout()


@dataclass(slots=True, kw_only=True)
class HttpRequest:
    """What to send, and for which tenant. `headers`: all but `Host`, `Content-Length` and the
    default `User-Agent`.

    The transport notes on it how far it came, in seconds of the event loop's clock: when there was
    a connection, when the first byte of a response. A wait that is cancelled leaves that behind.
    """

    url: str
    method: str
    headers: list[tuple[str, str]]
    body: bytes
    tenant: str
    connected_s: float | None = field(default=None, compare=False)
    answered_s: float | None = field(default=None, compare=False)


class Transport(Protocol):
    """Sends requests: the seam between the dispatcher and the network."""

    async def send(self, request: HttpRequest) -> Outcome:
        """Send once. Nothing times out here: whoever stops waiting cancels, which closes the
        connection at once."""
        ...

    async def close(self) -> None:
        """Close every connection; requests in flight end as `protocol_error`."""
        ...


class AiohttpTransport:
    """HTTP/1.1 over TCP and TLS, on aiohttp's connector and parser."""

    def __init__(
        self,
        refusal: Refusal,
        *,
        concurrency: int,
        tls: ssl.SSLContext | None = None,
        look_up: Lookup | None = None,
    ) -> None:
        """Needs the running loop. `refusal` judges every new connection; `concurrency`: sockets
        open at once, busy and resting; `tls` and `look_up`: instead of the system's."""
        self._concurrency = concurrency
        self._loop = asyncio.get_running_loop()
        self._threads = LookupThreads()
        self._names = Names(look_up or self._threads.look_up)
        self._connector = Connector(_Wire, refusal, limit=concurrency, tls=tls, names=self._names)
        self._resting: Resting[_Wire] = Resting(limit_seconds=KEEPALIVE_SECONDS)
        self._sweeper: asyncio.TimerHandle | None = None
        self._busy = 0

    async def send(self, request: HttpRequest) -> Outcome:
        try:
            route = read_route(request.method, request.url)
            data = request_bytes(route, request.headers, request.body)
        except ValueError as fault:
            return _failure("protocol_error", f"request not sent: {fault}")
        self._busy += 1
        place = request.tenant, route.origin
        try:
            wire = self._rested(place)
            if wire is None:
                ASKING.set(request.tenant)
                wire = await self._connect(route.origin)
            request.connected_s = self._loop.time()
            outcome = await wire.exchange(request, data)
        except (ClientError, OSError, UnicodeError) as error:
            return _unreached(error)
        finally:
            self._busy -= 1
        self._rest(place, wire)
        return outcome

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._names.close()
        self._threads.close()
        await self._connector.close()

    def _rested(self, place: Place) -> "_Wire | None":
        now = self._loop.time()
        while (wire := self._resting.take(place, now)) is not None:
            if wire.is_connected():
                return wire
        return None

    async def _connect(self, origin: str) -> "_Wire":
        if self._resting and self._busy + len(self._resting) > self._concurrency:
            self._resting.pop_oldest().drop()
        request = ClientRequest("GET", URL(origin), loop=self._loop)
        connection = await self._connector.connect(request, [], _NO_TIMEOUT)
        wire = connection.protocol
        assert isinstance(wire, _Wire), "the connector makes what its factory makes"
        wire.connection = connection
        return wire

    def _rest(self, place: Place, wire: "_Wire") -> None:
        full = self._busy + len(self._resting) >= self._concurrency
        if full or not wire.reusable:
            wire.drop()
            return
        self._resting.put(place, wire, self._loop.time())
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(KEEPALIVE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        for wire in self._resting.pop_expired(self._loop.time()):
            wire.drop()
        self._sweeper = None
        if self._resting:
            self._sweeper = self._loop.call_later(KEEPALIVE_SECONDS, self._sweep)


class _Wire(ResponseHandler):
    """One connection: writes a request, hands on its response, one at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.connection: Connection | None = None
        self.reusable = False
        self._response: _Response | None = None
        self._answer: asyncio.Future[Outcome]

    async def exchange(self, request: HttpRequest, data: bytes) -> Outcome:
        """Write `data` and wait for the response; a cancelled wait closes the connection."""
        if self.transport is None:
            return _failure("protocol_error", "connection closed before the request")
        self.reusable = False
        self._answer = self._loop.create_future()
        self._response = _Response(self, self._loop, request)
        self.transport.write(data)
        try:
            return await self._answer
        except asyncio.CancelledError:
            self.drop()
            raise

    def drop(self) -> None:
        """Close now and give the place back to the connector."""
        assert self.connection is not None, "set when the connector hands the wire out"
        self.connection.close()

    def close(self) -> None:
        # Nothing is left to say, and a TLS farewell would wait up to 30 s for the other end's.
        self.abort()

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None:
            self.abort()  # Nobody asked, and it must not answer a later request.
        elif (outcome := response.feed(data)) is not None:
            self._finish(response, outcome)

    def connection_lost(self, error: BaseException | None) -> None:
        super().connection_lost(error)
        if self.connection is not None:
            self.connection.close()
        if self._response is not None:
            self._finish(self._response, self._response.end(error))

    def pause_reading(self) -> None:
        """The parser's `StreamReader` asks for it; `RESPONSE_READ_BYTES` is flow control enough."""

    def resume_reading(self, resume_parser: bool = True) -> None:
        """See `pause_reading`."""

    def _finish(self, response: "_Response", outcome: Outcome) -> None:
        self._response = None
        transport = self.transport
        unsent = transport is None or transport.get_write_buffer_size() > 0
        self.reusable = response.reusable and not unsent
        if not self._answer.done():
            self._answer.set_result(outcome)


class _Response:
    """What has arrived of one response, and what it amounts to."""

    __slots__ = ("_content", "_head", "_left", "_loop", "_parser", "_request", "reusable")

    def __init__(self, wire: _Wire, loop: asyncio.AbstractEventLoop, request: HttpRequest) -> None:
        self.reusable = False
        self._loop = loop
        self._request = request
        self._left = RESPONSE_READ_BYTES
        self._head: RawResponseMessage | None = None
        self._content: StreamReader
        # One parser for each response: what came beyond one is not carried over to the next.
        self._parser = HttpResponseParser(
            wire,
            loop,
            RESPONSE_READ_BYTES,
            max_line_size=RESPONSE_READ_BYTES,
            max_field_size=RESPONSE_READ_BYTES,
            max_headers=RESPONSE_FIELDS_MAX,
            response_with_body=request.method != "HEAD",
            read_until_eof=True,
            auto_decompress=False,
        )

    def feed(self, data: bytes) -> Outcome | None:
        """Take what the socket gave; None while more is to come."""
        if self._request.answered_s is None:
            self._request.answered_s = self._loop.time()
        data = data[: self._left]
        self._left -= len(data)
        try:
            surplus = self._parse(data)
        except HttpProcessingError as fault:
            if self._head is None or not self._content.is_eof():
                return _failure("protocol_error", f"broken response: {_gist(fault)}")
            surplus = True  # The response was whole; what came after it was not one.
        head = self._head
        if head is not None and self._content.is_eof():
            self.reusable = not (surplus or head.should_close or head.upgrade)
            return self._outcome(head)
        if self._left > 0:
            return None
        if head is None:
            return _failure("protocol_error", f"response head over {RESPONSE_READ_BYTES} bytes")
        return self._outcome(head)

    def end(self, error: BaseException | None) -> Outcome:
        """The connection is gone; `error` None: the other end closed it in order."""
        if self._head is None:
            return _failure("protocol_error", f"no response: {_gist(error)}")
        if error is not None:
            return _failure("protocol_error", f"broken response: {_gist(error)}")
        try:
            self._parser.feed_eof()
        except HttpProcessingError as fault:
            return _failure("protocol_error", f"broken response: {_gist(fault)}")
        return self._outcome(self._head)

    def _parse(self, data: bytes) -> bool:
        """Feed the parser; whether more than one response came.

        The head goes in by itself: an error beyond the body would otherwise take the head along.
        """
        while data and self._head is None:
            end = data.find(b"\r\n\r\n") + 4
            piece, data = (data[:end], data[end:]) if end > 3 else (data, b"")
            messages, _, _ = self._parser.feed_data(piece)
            for message, content in messages:
                if self._head is not None:
                    return True
                if message.code == 101 or not 100 <= message.code < 200:
                    self._head, self._content = message, content
        if not data:
            return False
        return self._content.is_eof() or bool(self._parser.feed_data(data)[0])

    def _outcome(self, head: RawResponseMessage) -> Outcome:
        status, content = head.code, self._content
        kept = content.read_nowait(RESPONSE_KEPT_BYTES)
        cut = content.total_bytes > RESPONSE_KEPT_BYTES or not content.is_eof()
        if 200 <= status < 300:
            return Outcome(name="success", status=status, response=kept, response_cut=cut)
        if status < 200:
            return _failure("protocol_error", f"broken response: status {status}")
        retry_after = head.headers.get("Retry-After")
        return Outcome(
            name="http_error",
            status=status,
            error=f"status {status}",
            response=kept,
            response_cut=cut,
            retry_after=retry_after and retry_after[:RETRY_AFTER_CHARACTERS_MAX],
        )


def _unreached(error: Exception) -> Outcome:
    """No connection came about: our doing, the resolver's fault, TLS's, or the network's."""
    cause = error.__cause__ or error
    if isinstance(cause, Blocked):
        return _failure("blocked", str(cause))
    if isinstance(error, ClientConnectorDNSError | UnicodeError):
        return _failure("dns_error", _gist(cause))
    if isinstance(error, ClientSSLError):
        return _failure("tls_error", _gist(cause))
    if isinstance(cause, OSError) and cause.errno:
        # The system's words: asyncio's own name a call and a tuple.
        return _failure("connect_error", os.strerror(cause.errno))
    return _failure("connect_error", _gist(cause))


def _failure(name: FailureName, error: str) -> Outcome:
    return Outcome(name=name, error=" ".join(error.split())[:ERROR_CHARACTERS_MAX])


def _gist(error: BaseException | None) -> str:
    """What went wrong, without quoting what the other end sent."""
    if error is None:
        return "connection closed"
    if isinstance(error, HttpProcessingError):
        return error.message.partition(":")[0]
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
