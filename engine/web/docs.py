"""The interface's own description: `/openapi.json` for programs, `/docs` for people."""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from aiohttp import web

from engine.core.json_text import compact_json
from engine.web.access import Route
from engine.web.docs_page import PAGE_HEADERS, render
from engine.web.openapi import describe
from engine.web.operations import Answer, operation


class Description:
    """What is said of a table of routes: made when somebody first asks, the same ever after.

    That takes some 20 ms, and is done beside the loop.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = routes

    @cached_property
    def document(self) -> dict[str, Any]:
        return describe(self._routes)

    @cached_property
    def json(self) -> bytes:
        return compact_json(self.document)

    @cached_property
    def page(self) -> bytes:
        return render(self.document).encode()


DESCRIPTION: web.AppKey[Description] = web.AppKey("description", Description)


@operation(answers={200: Answer(dict[str, Any])})
async def get_openapi(request: web.Request) -> web.Response:
    """This description as an OpenAPI 3.1 document."""
    body = await asyncio.to_thread(lambda: request.app[DESCRIPTION].json)
    return web.Response(body=body, content_type="application/json")


@operation(answers={200: Answer(str, "text/html")})
async def get_docs(request: web.Request) -> web.Response:
    """This description as a page to read."""
    body = await asyncio.to_thread(lambda: request.app[DESCRIPTION].page)
    return web.Response(body=body, content_type="text/html", charset="utf-8", headers=PAGE_HEADERS)
