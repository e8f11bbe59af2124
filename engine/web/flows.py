"""`/v1/flows`: the limits of what is fair and broken together, and how each flow stands."""

from typing import TypedDict

from aiohttp import web

from engine.core.breaker import Door
from engine.core.errors import Fault, Invalid, NotFound
from engine.core.fields import Fields
from engine.core.flow import PARALLELISM
from engine.core.members import Flag, Integer, Shape
from engine.core.schedule_members import FLOW_KEY_LENGTH_MAX, FLOW_KEY_PATTERN, FLOW_KEY_RULE
from engine.services.flows import FlowState
from engine.web.json_bodies import json_response, list_response, read_json
from engine.web.operations import Answer, Body, operation
from engine.web.ports import engine_of
from engine.web.queries import (
    CURSOR,
    LIMIT,
    Page,
    query_of,
    read_limit,
    read_name_cursor,
    write_cursor,
)
from engine.web.revisions import CONDITIONS, etag, read_if_match

RATE_MAX = 1_000_000
"""A flow's `rate`: as the engine's own is bounded; no machine nears it."""

PARALLELISM_MAX = 10_000
"""A flow's `parallelism`: as the engine's own concurrency is bounded; no machine nears it."""

RATE = Integer(
    "rate", None, low=1, high=RATE_MAX, about="Attempts a second; null: no limit of its own."
)
FLOW_PARALLELISM = Integer(
    "parallelism", PARALLELISM, low=1, high=PARALLELISM_MAX, about="Attempts under way at once."
)
PAUSED = Flag("paused", False, about="Let nothing start.")
LIMITS = Shape(
    (RATE, FLOW_PARALLELISM, PAUSED),
    ignored=frozenset({"key", "inflight", "held", "breaker", "effective_rate", "revision"}),
)

UNKNOWN = (
    "no schedule has named this flow: GET /v1/flows lists those that there are (a host's has its "
    "port, like api.example.com:443); to limit one before its first schedule, send "
    "If-None-Match: * (offbeat flows limit --new)"
)


class FlowDocument(TypedDict):
    """A flow's limits and how it stands; `held` are its runs in memory, due or about to be.

    `effective_rate` is lower than `rate` while the receiver asks for less.
    """

    key: str
    rate: int | None
    parallelism: int
    paused: bool
    effective_rate: int | None
    inflight: int
    held: int
    breaker: Door
    revision: int


STATE = Answer(FlowDocument, headers=("ETag",))


@operation(
    headers=CONDITIONS,
    body=Body(shape=LIMITS),
    answers={200: STATE},
    problems=("precondition_failed", "limit_reached"),
)
async def put_flow(request: web.Request) -> web.Response:
    """Set a flow's limits; what is left out is the default. They hold at once.

    A flow that no schedule has named yet is 422 unless `If-None-Match: *` says that it is meant: a
    limit under a misspelt key would hold nothing back. To read or delete what is not there is 404.
    """
    key = request.match_info["key"]
    faults: list[Fault] = []
    fields = Fields(await read_json(request), pointer="", known=LIMITS.names, faults=faults)
    rate, parallelism = fields.integer(RATE), fields.integer(FLOW_PARALLELISM)
    paused = fields.flag(PAUSED)
    if len(key) > FLOW_KEY_LENGTH_MAX:
        faults.append(Fault("", f"a flow's key has at most {FLOW_KEY_LENGTH_MAX} characters"))
    if not FLOW_KEY_PATTERN.fullmatch(key):
        faults.append(Fault("", f"no schedule can have this flow's key: {FLOW_KEY_RULE}"))
    if faults:
        raise Invalid(*faults)
    flows, condition = engine_of(request).flows, read_if_match(request)
    if condition is None:
        try:
            await flows.get(key)
        except NotFound as error:
            raise Invalid(Fault("", UNKNOWN)) from error
    state = await flows.put(
        key, rate=rate, parallelism=parallelism, paused=paused, if_match=condition
    )
    return _answer(state)


@operation(
    headers=CONDITIONS, answers={204: Answer()}, problems=("not_found", "precondition_failed")
)
async def delete_flow(request: web.Request) -> web.Response:
    """Give a flow's limits back: the defaults hold at once. One without schedules is forgotten."""
    key, if_match = request.match_info["key"], read_if_match(request)
    await engine_of(request).flows.delete(key, if_match=if_match)
    return web.Response(status=204)


@operation(answers={200: STATE}, problems=("not_found",))
async def get_flow(request: web.Request) -> web.Response:
    """A flow's limits, and how it stands right now."""
    return _answer(await engine_of(request).flows.get(request.match_info["key"]))


@operation(query=(LIMIT, CURSOR), answers={200: Answer(Page[FlowDocument])})
async def list_flows(request: web.Request) -> web.Response:
    """By key."""
    with query_of(request) as query:
        limit, after_key = read_limit(query), read_name_cursor(query)
    page, next_key = await engine_of(request).flows.page(limit=limit, after_key=after_key)
    return await list_response(request, map(_document, page), write_cursor(next_key))


def _answer(state: FlowState) -> web.Response:
    return json_response(_document(state), headers=etag(state.limits.revision))


def _document(state: FlowState) -> FlowDocument:
    return {
        "key": state.limits.key,
        "rate": state.limits.rate,
        "parallelism": state.limits.parallelism,
        "paused": state.limits.paused,
        "effective_rate": state.effective_rate,
        "inflight": state.inflight,
        "held": state.held,
        "breaker": state.door,
        "revision": state.limits.revision,
    }
