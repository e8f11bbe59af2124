"""What takes many turns of the loop, one at a time of each tenant.

A long list is rendered, and occurrences are computed, a millisecond at a time with a look at the
loop between. Of fifty that one tenant asks for at once each would take its millisecond between two
looks, and everybody else's requests and deliveries would come once in fifty.
"""

import asyncio
from weakref import WeakValueDictionary

from aiohttp import web

from engine.web.ports import CALLER

Turns = WeakValueDictionary[str, asyncio.Lock]
"""By tenant; a turn that nobody has or waits for is forgotten."""

TURNS: web.AppKey[Turns] = web.AppKey("turns_of_long_work", WeakValueDictionary)


def my_turn(request: web.Request) -> asyncio.Lock:
    """`async with my_turn(request)`: around the long work of a request. It is not reentrant."""
    return request.app[TURNS].setdefault(request[CALLER].tenant, asyncio.Lock())
