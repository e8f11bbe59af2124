"""How a request's body may be framed: by its length, or in chunks and nothing around them.

The parser takes what ends in `chunked` for chunks, and what was compressed before for the body. A
proxy that reads `gzip, chunked` otherwise would see another request than we do (RFC 9112 §6.1), and
so would one that speaks HTTP/1.0, which knows no transfer codings.
"""

from aiohttp import HttpVersion11, web
from aiohttp.typedefs import Handler

from engine.web.problems import Problem, problem_response


@web.middleware
async def refuse_codings(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse every transfer coding but `chunked`, once, and close: what follows is not known."""
    codings = [coding.lower() for coding in request.headers.getall("Transfer-Encoding", ())]
    if codings not in ([], ["chunked"]) or (codings and request.version < HttpVersion11):
        detail = "send the body in chunks and with no other transfer coding, or with Content-Length"
        response = problem_response(Problem(400, "malformed", detail))
        response.force_close()
        return response
    return await handler(request)
