"""`Expect: 100-continue` (RFC 9110 §10.1.1): clients that ask before they send a body.

They are told to go on where the body is read, and no sooner: what is refused for its key, its size
or its media type is refused before the body has travelled.
"""

from aiohttp import HttpVersion11, web
from aiohttp.typedefs import Handler

_INVITED: web.RequestKey[bool] = web.RequestKey("invited", bool)


async def put_off(request: web.Request) -> None:
    """A route's `expect_handler`: it refuses what nobody can meet, and says nothing else yet."""
    if request.version >= HttpVersion11 and not _waits(request):
        raise web.HTTPExpectationFailed


async def invite_body(request: web.Request) -> None:
    """Tell a client to send its body, if it waits to be told."""
    request[_INVITED] = True
    if _waits(request):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # Of the answer nothing has been sent.


@web.middleware
async def close_uninvited(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Close a connection whose client was not told to send its body, and may send it or not."""
    response = await handler(request)
    if _waits(request) and _INVITED not in request:
        response.force_close()
    return response


def _waits(request: web.Request) -> bool:
    expected = request.headers.get("Expect", "")
    return request.version >= HttpVersion11 and expected.lower() == "100-continue"
