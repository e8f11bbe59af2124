"""JSON in and out: what a request may carry, and how an answer is made.

Every bound comes before the work that it bounds: media type, size, time, then shape, then parsing.
Large texts are parsed in a thread, so that the loop keeps its appointments meanwhile.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from aiohttp import web

from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.json_text import compact_json, parse_json
from engine.web.expectations import invite_body
from engine.web.long_work import my_turn
from engine.web.operations import JSON_TYPES, NOTHING
from engine.web.problems import Problem
from engine.web.unsent import LongAnswer, check_unsent

BODY_BYTES_MAX = 262_144
"""A request's body, and a line of a batch: room for a target's body in base64 and its schedule."""

BODY_SECONDS_MAX = 10.0
"""For a body to come: the largest takes a tenth of a second, and a slow one holds a connection."""

# Parsing this much takes a third of a millisecond, less than handing it to a thread.
INLINE_BYTES_MAX = 16_384
# Documents rendered between two looks at the loop, about a millisecond's worth.
RENDERED_AT_ONCE = 25

_Result = TypeVar("_Result")


async def read_body(request: web.Request, *, types: tuple[str, ...] = JSON_TYPES) -> bytes:
    """The request's body, whole. Raises Problem 400, 408, 413 or 415."""
    check_media_type(request, types)
    if (request.content_length or 0) > BODY_BYTES_MAX:
        raise too_large("the body")  # Said at once, and not after the body or the time for it.
    try:
        async with asyncio.timeout(BODY_SECONDS_MAX):
            await invite_body(request)
            return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise too_large("the body") from None
    except TimeoutError:
        detail = f"the body took longer than {BODY_SECONDS_MAX:.0f} seconds"
        raise Problem(408, "timeout", detail, headers={"Connection": "close"}) from None
    except web.RequestPayloadError:
        raise Problem(400, "malformed", "the body breaks off or breaks its framing") from None


async def read_json(request: web.Request) -> Any:
    """The request's body as a JSON value; an absent body is the empty object."""
    if not request.body_exists:
        return {}
    body = await read_body(request)
    return await sized(body, parse_json)


def refuse_body(body: Any) -> None:
    """Raise `Invalid` unless nothing is said: for requests whose address says all."""
    faults: list[Fault] = []
    Fields(body, pointer="", known=NOTHING.names, faults=faults)
    if faults:
        raise Invalid(*faults)


async def sized(data: bytes, work: Callable[[bytes], _Result]) -> _Result:
    """`work(data)`, beside the loop when there is much of it."""
    if len(data) <= INLINE_BYTES_MAX:
        return work(data)
    return await asyncio.to_thread(work, data)


def check_media_type(request: web.Request, types: tuple[str, ...]) -> None:
    """Raise Problem 415 unless the body is one of `types`, in UTF-8 and not encoded further."""
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise Problem(415, "unsupported_media_type", "send the body without Content-Encoding")
    charset = (request.charset or "utf-8").lower()
    if request.content_type not in types:
        raise Problem(415, "unsupported_media_type", f"send Content-Type: {types[0]}")
    if charset not in ("utf-8", "utf8"):
        raise Problem(415, "unsupported_media_type", "send the body in UTF-8")


def too_large(what: str) -> Problem:
    detail = f"{what} has more than {BODY_BYTES_MAX:,} bytes (256 KiB)"
    return Problem(413, "too_large", detail, headers={"Connection": "close"})


def json_response(
    value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.Response(
        status=status, body=compact_json(value), content_type="application/json", headers=headers
    )


async def list_response(
    request: web.Request, documents: Iterable[Any], next_cursor: str | None
) -> web.Response:
    """A page: `{"data": [...], "next_cursor": ...}`; `documents` is drawn a few at a time.

    Raises `Crowded` while the tenant does not take what it was answered.
    """
    rendered: list[bytes] = []
    async with my_turn(request):
        check_unsent(request)
        for document in documents:
            rendered.append(compact_json(document))
            if len(rendered) % RENDERED_AT_ONCE == 0:
                await asyncio.sleep(0)
    body = b'{"data":[%b],"next_cursor":%b}' % (b",".join(rendered), compact_json(next_cursor))
    return LongAnswer(request, body)
