"""What the head of a request must leave no doubt about, before anything else reads it.

Two readers that take one request differently, a proxy in front and the engine behind, are how one
request becomes another (RFC 9112 §11). So all that decides here has one reading, or is refused with
400 and the connection closed: nothing that follows on it is known to be a request.

The parser takes what ends in `chunked` for chunks, and what was compressed before for the body. A
proxy that reads `gzip, chunked` otherwise would see another request than we do (RFC 9112 §6.1), and
so would one that speaks HTTP/1.0, which knows no transfer codings.
"""

import re

from aiohttp import HttpVersion10, HttpVersion11, web
from aiohttp.typedefs import Handler

from engine.web.problems import Problem, problem_response

VERSIONS = (HttpVersion10, HttpVersion11)

SINGLETONS = (
    "Host",
    "Origin",
    "Sec-Fetch-Site",
    "Authorization",
    "Idempotency-Key",
    "Content-Type",
    "Content-Length",
    "Content-Encoding",
    "Expect",
    "Last-Event-ID",
)
"""Headers by which it is decided who asks, for what, and how its body is read. Of two, one might be
heard here and the other elsewhere. `If-Match` and `If-None-Match` are lists in any number of lines,
and `Transfer-Encoding` has a rule of its own."""

_HTTP_FORM = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*://)|https?://", re.I)
"""How a target begins that names no other scheme than ours."""


@web.middleware
async def refuse_ambiguous(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse a head that somebody else could read in another way, and close."""
    problem = _problem(request)
    if problem is None:
        return await handler(request)
    response = problem_response(problem)
    response.force_close()
    return response


def _problem(request: web.Request) -> Problem | None:
    if request.version not in VERSIONS:
        return version_not_supported()
    detail = _doubt(request)
    return None if detail is None else Problem(400, "malformed", detail)


def version_not_supported() -> Problem:
    """The problem of a request line that ends in another version, or in none."""
    return Problem(505, "version_not_supported", "send the request as HTTP/1.1")


def _doubt(request: web.Request) -> str | None:
    """What is to be written otherwise."""
    codings = [coding.lower() for coding in request.headers.getall("Transfer-Encoding", ())]
    if codings not in ([], ["chunked"]) or (codings and request.version < HttpVersion11):
        return "send the body in chunks and with no other transfer coding, or with Content-Length"
    for name in SINGLETONS:
        if len(request.headers.getall(name, ())) > 1:
            return f"write one {name}"
    if not _HTTP_FORM.match(request.raw_path) or "#" in request.raw_path:
        return "write the target as a path, or as an http URL, without a fragment"
    return None
