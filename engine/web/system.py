"""What operators and their machines ask: alive, ready, figures."""

from typing import Literal, TypedDict

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from engine.web.json_bodies import json_response
from engine.web.operations import Answer, operation
from engine.web.ports import ENGINE
from engine.web.problems import Problem


class LiveDocument(TypedDict):
    live: Literal[True]


class ReadyDocument(TypedDict):
    ready: Literal[True]


@operation(answers={200: Answer(LiveDocument)})
async def livez(request: web.Request) -> web.Response:
    """200 while the loop turns; a supervisor restarts what does not answer."""
    return json_response({"live": True})


@operation(answers={200: Answer(ReadyDocument)}, problems=("not_ready",))
async def readyz(request: web.Request) -> web.Response:
    """200 when deliveries go out as planned; 503 with the reasons when they do not."""
    reasons = list(request.app[ENGINE].unready())
    if reasons:
        raise Problem(503, "not_ready", "; ".join(reasons), reasons=reasons)
    return json_response({"ready": True})


@operation(answers={200: Answer(str, "text/plain")})
async def metrics(request: web.Request) -> web.Response:
    """The figures of the engine in Prometheus text format."""
    body = generate_latest(request.app[ENGINE].registry)
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})
