"""A connection whose every refusal is a problem: those that come before there is a request, too.

Bytes that are no HTTP never reach the application and its middlewares; aiohttp answers them in
plain text, with a piece of what was sent. That piece may hold a credential. So it is neither sent
back nor logged: the answer says what kind of fault it was, and the log names its class.

A connection costs memory as long as it is open, so whatever it waits for has a deadline: a head
once it has begun, a body (`json_bodies`), a client that takes its answer, and the next request
(`server.CONNECTION_SETTINGS`). How many there may be at once says `connection_limits`.
"""

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import BadStatusLine, HttpProcessingError, LineTooLong
from aiohttp.typedefs import Handler

from engine.core.json_text import compact_json
from engine.web.connection_limits import CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, Places
from engine.web.heads import version_not_supported
from engine.web.problems import INTERNAL, Problem, http_problem, problem_response

LINE_BYTES_MAX = 8_190
"""Of the request line and of each header: what common servers and proxies take."""

HEAD_SECONDS_MAX = 10.0
"""From connecting, or from the first byte of a later request, to the end of its headers."""

RESERVED_HEAD_SECONDS_MAX = 1.0
"""The same on the reserve: a health check has its head ready."""

ANSWER_SECONDS_MAX = 30.0
"""For a client to take an answer; of a page too large for that it asks for less."""

HEALTH = frozenset({"/livez", "/readyz"})


class Connection(web.RequestHandler):
    """aiohttp's handler of one connection, with answers of ours where it would use its own."""

    __slots__ = ("_head_timer", "_places", "is_reserved")

    def __init__(
        self,
        manager: web.Server,
        *,
        places: Places,
        loop: asyncio.AbstractEventLoop,
        **settings: Any,
    ) -> None:
        super().__init__(manager, loop=loop, **settings)
        self._places = places
        self._head_timer: asyncio.TimerHandle | None = None
        self.is_reserved = False
        """Whether it is beyond the bound, and asks for the engine's health or for nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""  # A Unix socket's clients have none.
        self.is_reserved = not self._places.enter(self, address)
        self._await_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._places.leave(self)
        self._stop_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._messages:
            self._stop_head_timer()
        elif self._is_idle() and self._head_timer is None:
            self._await_head()  # What came is a part of a head: a body is somebody's to wait for.

    def abort(self) -> None:
        """Close at once, whatever is still to be sent."""
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that was not understood, after which the connection closes."""
        # It logs, and raises when an answer has begun.
        super().handle_error(request, status, exc, message)
        response = problem_response(_problem_of(exc))
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer; what was refused before the application saw it is made a problem."""
        if isinstance(resp, web.HTTPException):
            resp = problem_response(http_problem(resp))
        if self.is_reserved and not resp.prepared:
            resp.force_close()
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                return await super().finish_response(request, resp, start_time)
        except TimeoutError:
            self.abort()
            return resp, True

    def _is_idle(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _await_head(self) -> None:
        seconds = RESERVED_HEAD_SECONDS_MAX if self.is_reserved else HEAD_SECONDS_MAX
        self._head_timer = self._loop.call_later(seconds, self._give_up_head, seconds)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up_head(self, seconds: float) -> None:
        self._head_timer = None
        if self._is_idle() and self.transport is not None:
            detail = f"the request line and headers took longer than {seconds:.0f} seconds"
            self.transport.write(_closing(Problem(408, "timeout", detail)))
            self.force_close()


@web.middleware
async def keep_reserve(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what came on a reserved connection and is not a question about health."""
    if getattr(request.protocol, "is_reserved", False) and request.path not in HEALTH:
        raise Problem(
            503,
            "too_many_connections",
            f"{CONNECTIONS_MAX} connections, {CONNECTIONS_PER_ADDRESS_MAX} from one address, may "
            "be open here: close some, or ask again in a moment",
            headers={"Retry-After": "1"},
            limit={"name": "connections", "value": CONNECTIONS_MAX},
        )
    return await handler(request)


def _closing(problem: Problem) -> bytes:
    """The answer to what is no request yet."""
    body = compact_json(problem.document())
    head = f"HTTP/1.1 {problem.status} {problem.document()['title']}\r\n"
    head += f"Content-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


def _problem_of(error: BaseException | None) -> Problem:
    match error:
        case LineTooLong():
            detail = f"the request line or a header has more than {LINE_BYTES_MAX:,} bytes"
            return Problem(431, "headers_too_large", detail)
        # What the parser says of more than its 128; it has no class of its own.
        case HttpProcessingError(message="Too many headers received"):
            return Problem(431, "headers_too_large", "the request has more than 128 headers")
        # Of versions that it does not know; what it knows and we do not is told in `heads`.
        case BadStatusLine(message=message) if "Invalid HTTP version" in message:
            return version_not_supported()
        case HttpProcessingError():
            return Problem(400, "malformed", "the request is not well-formed HTTP/1.1")
        case _:
            return Problem(500, "internal", INTERNAL)
