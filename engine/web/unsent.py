"""Long answers that were made and not yet taken, and how much of them one tenant may have.

A client that asks for pages and does not read them has each lie in memory until it is cut off, and
one key may have three hundred connections. So what a tenant has not taken has a bound, and beyond
it nothing more is made for it. Who reads takes a page in milliseconds, and never comes near it.
"""

from collections import defaultdict
from weakref import WeakSet

from aiohttp import web

from engine.core.errors import Crowded
from engine.web.ports import CALLER

UNSENT_BYTES_MAX = 16_777_216
"""16 MiB of one tenant: some sixteen of the longest pages."""

UNSENT: web.AppKey[defaultdict[str, "WeakSet[LongAnswer]"]] = web.AppKey("unsent", defaultdict)
"""By tenant. Weak: an answer whose client has gone before it was begun is nobody's any more."""


class LongAnswer(web.Response):
    """Counts among its tenant's until its client has taken it or is gone."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        super().__init__(body=body, content_type="application/json")
        self.size = len(body)
        self._unsent = _of(request)
        self._unsent.add(self)

    async def write_eof(self, data: bytes = b"") -> None:
        """Write it; returns when what is left of it is in the system's hands but for 64 KiB."""
        try:
            await super().write_eof(data)
        finally:
            self._unsent.discard(self)


def check_unsent(request: web.Request) -> None:
    """Raise `Crowded` when the tenant has too much that it does not take."""
    if sum(answer.size for answer in _of(request)) >= UNSENT_BYTES_MAX:
        detail = f"{UNSENT_BYTES_MAX:,} bytes of this tenant's answers wait for it: read them"
        raise Crowded("unsent_bytes_max", UNSENT_BYTES_MAX, detail)


def _of(request: web.Request) -> "WeakSet[LongAnswer]":
    return request.app[UNSENT][request[CALLER].tenant]
