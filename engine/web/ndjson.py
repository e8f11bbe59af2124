"""Newline-delimited JSON over HTTP: lines in with a bound on each, result lines out.

Many clients send a whole request before they read its answer. If both sides then wait for room in
the other's buffers, nothing moves any more; so result lines are held until the request has ended,
or until there are too many to hold. Then they are sent; for a client that does not read them yet,
the request has become too long, and the rest of it is thrown away.
"""

import asyncio
from collections.abc import AsyncIterator

from aiohttp import StreamReader, web

from engine.web.json_bodies import BODY_BYTES_MAX
from engine.web.problems import Problem

LINE_SECONDS_MAX = 10.0
"""For a line of a batch to come whole: a client that computes it may take a moment for each."""

REQUEST_SECONDS_MAX = 300.0
"""For a whole batch: thirty times what 100,000 lines take; one might drip lines for ever."""

WRITE_SECONDS_MAX = 30.0
"""For a client to take the results of a batch, once it has sent everything."""

ROOM_SECONDS_MAX = 5.0
"""The same while it still sends: one that reads between its lines does so within moments."""

UNREAD_BYTES_MAX = 20_971_520
"""Results of a batch that wait to be read: 100,000 that went well, with the longest names."""


async def lines(content: StreamReader) -> AsyncIterator[list[bytes | None]]:
    """The lines that have arrived, in order; None for one of more than 256 KiB, which is skipped.

    A last line needs no line feed. Memory stays within one line and one piece from the network.
    """
    rest = bytearray()
    loop = asyncio.get_running_loop()
    end = loop.time() + REQUEST_SECONDS_MAX
    deadline = loop.time() + LINE_SECONDS_MAX
    while piece := await _piece(content, min(deadline, end)):
        first, *others = piece.split(b"\n")
        rest += first
        # One byte over the bound is enough to know that the line is over it.
        del rest[BODY_BYTES_MAX + 1 :]
        if others:
            yield list(map(_bounded, (bytes(rest), *others[:-1])))
            rest = bytearray(others[-1])
            deadline = loop.time() + LINE_SECONDS_MAX
    if rest:
        yield [_bounded(bytes(rest))]


async def discard(content: StreamReader) -> None:
    """Read what is left of a request and keep nothing: who is sending it cannot read yet."""
    async for _ in lines(content):
        pass


class Results:
    """The result lines of one request."""

    __slots__ = ("_held", "_request", "_response")

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._held = bytearray()
        self._response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})

    @property
    def begun(self) -> bool:
        """Whether the client has been told 200, so that no other status can follow."""
        return self._response.prepared

    async def add(self, data: bytes) -> bool:
        """Take whole lines; False: there are too many for a client that does not read them."""
        self._held += data
        return len(self._held) <= UNREAD_BYTES_MAX or await self._send(ROOM_SECONDS_MAX)

    async def end(self) -> web.StreamResponse:
        """Send what is held; the answer is complete. Raises ConnectionError: nobody reads it."""
        if not await self._send(WRITE_SECONDS_MAX):
            raise ConnectionAbortedError("the client does not read its answer")
        return self._response

    async def _send(self, seconds: float) -> bool:
        """Send what is held; whether the client made room for it in time."""
        held, self._held = self._held, bytearray()
        try:
            async with asyncio.timeout(seconds):
                if not self.begun:
                    await self._response.prepare(self._request)
                await self._response.write(held)
        except TimeoutError:
            return False  # It is on its way all the same.
        return True


def _bounded(line: bytes) -> bytes | None:
    return line if len(line) <= BODY_BYTES_MAX else None


async def _piece(content: StreamReader, deadline: float) -> bytes:
    try:
        async with asyncio.timeout_at(deadline):
            return await content.readany()
    except TimeoutError:
        detail = (
            f"a line of the body took longer than {LINE_SECONDS_MAX:.0f} seconds, or all of it "
            f"longer than {REQUEST_SECONDS_MAX:.0f}: send the rest in another request"
        )
        raise Problem(408, "timeout", detail, headers={"Connection": "close"}) from None
    except web.RequestPayloadError:
        raise Problem(400, "malformed", "the body breaks off or breaks its framing") from None
