"""A connection whose every refusal is a problem: those that come before there is a request, too.

Bytes that are no HTTP never reach the application and its middlewares; aiohttp answers them in
plain text, with a piece of what was sent. That piece may hold a credential. So it is neither sent
back nor logged: the answer says what kind of fault it was, and the log names its class.
"""

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from engine.web.problems import INTERNAL, Problem, http_problem, problem_response

LINE_BYTES_MAX = 8_190
"""Of the request line and of each header: what common servers and proxies take."""


class Connection(web.RequestHandler):
    """aiohttp's handler of one connection, with answers of ours where it would use its own."""

    __slots__ = ()

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
        return await super().finish_response(request, resp, start_time)


def _problem_of(error: BaseException | None) -> Problem:
    match error:
        case LineTooLong():
            detail = f"the request line or a header has more than {LINE_BYTES_MAX:,} bytes"
            return Problem(431, "headers_too_large", detail)
        case HttpProcessingError():
            return Problem(400, "malformed", "the request is not well-formed HTTP/1.1")
        case _:
            return Problem(500, "internal", INTERNAL)
