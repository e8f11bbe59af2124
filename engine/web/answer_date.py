"""The `Date` of answers, by the engine's clock.

It may be set apart from the machine's (`--clock-start`), and a browser's may be minutes off: who
asks for "the next hour" must know which hour that is here. The dashboard takes its time from it.
"""

from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache

from aiohttp import web

from engine.clock import Clock


def dated_by(clock: Clock) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """A listener of `on_response_prepare`: it dates an answer before its head is written."""

    async def date(_: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = _http_date(clock.now_ms() // 1_000)

    return date


@lru_cache(maxsize=1)
def _http_date(seconds: int) -> str:
    """RFC 9110 §5.6.7; of a second's answers the first one pays."""
    return formatdate(seconds, usegmt=True)
