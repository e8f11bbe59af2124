"""Long answers take turns of the loop: those of one tenant the turns of one, however many."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from weakref import WeakSet, WeakValueDictionary

from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from engine.core.access import Scope
from engine.web.json_bodies import RENDERED_AT_ONCE, list_response
from engine.web.long_work import TURNS
from engine.web.ports import CALLER, Caller
from engine.web.unsent import UNSENT

DOCUMENTS = 4 * RENDERED_AT_ONCE


def test_fifty_lists_of_one_tenant_take_as_many_turns_as_one() -> None:
    drawn: list[str] = []
    app = web.Application()
    app[TURNS] = WeakValueDictionary()
    app[UNSENT] = defaultdict(WeakSet)

    def documents(tenant: str) -> Iterator[int]:
        for number in range(DOCUMENTS):
            drawn.append(tenant)
            yield number

    async def ask(tenant: str) -> web.Response:
        request = make_mocked_request("GET", "/", app=app)
        request[CALLER] = Caller(tenant=tenant, scope=Scope.READ)
        return await list_response(request, documents(tenant), None)

    async def main() -> list[web.Response]:
        return await asyncio.gather(*(ask(tenant) for tenant in ["loud"] * 50 + ["quiet"]))

    answers = asyncio.run(main())
    assert {answer.body for answer in answers} == {answers[0].body}
    parts = [(tenant, len(list(run))) for tenant, run in groupby(drawn)]
    assert parts[:8] == [("loud", RENDERED_AT_ONCE), ("quiet", RENDERED_AT_ONCE)] * 4
    assert parts[8:] == [("loud", 49 * DOCUMENTS)]
    assert not app[TURNS], "nobody waits, and nothing is kept"
