"""`/v1/events`: a tenant's runs and the herd's figures as they change, as server-sent events.

The format is WHATWG HTML §9.2: blocks of `event:`, `id:` and `data:` lines, each with one JSON
document, and a blank line after it. Events of runs have ids, so a browser that comes back says in
`Last-Event-ID` where it was; the herd's figures are of one second and have none.

An answer that never ends outlasts what it was given for, so its key is looked at before each write:
a key that is revoked hears nothing more. And it must not keep the server from stopping: aiohttp
waits for each handler, so all streams are ended before it does, and a client that does not read is
cut off, since the write to it would be waited for.
"""

from functools import lru_cache, partial
from typing import Any

from aiohttp import web

from engine.core.access import Scope
from engine.core.fields import Fields
from engine.core.identity import format_instant
from engine.core.json_text import compact_json
from engine.core.members import Choice, Judged
from engine.services.event_stream import Begun, Dropped, Reset, Stream, StreamEvent
from engine.services.monitor import HerdSecond
from engine.services.run_events import RunEvent
from engine.web.access import insufficient, is_known
from engine.web.operations import Answer, operation
from engine.web.ports import CALLER, ENGINE, Caller, engine_of
from engine.web.queries import query_of
from engine.web.runs import SCHEDULE, read_schedule

HEARTBEAT_SECONDS = 15.0
"""Between two writes at most: proxies end what was silent for 30 or 60 s."""

LOOK_SECONDS = 1.0
"""Between two looks at whether the client is still there and may listen, while nothing happens."""

RETRY_MS = 1_000
"""When a browser comes back after the stream has ended."""

RENDERED_MAX = 512
"""Rendered run events that are kept, since many streams send the same ones."""

HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx would gather an answer that does not end.
}
TYPES = Choice("types", None, ("runs", "herd", "runs,herd"), about="What to tell of.")
LAST_EVENT_ID = Judged(
    "Last-Event-ID",
    {"type": "string"},
    about="The last event that was heard: those since then come first.",
)


@operation(
    query=(TYPES, SCHEDULE),
    headers=(LAST_EVENT_ID,),
    answers={200: Answer(str, HEADERS["Content-Type"], ("Cache-Control",))},
    problems=("limit_reached",),
)
async def get_events(request: web.Request) -> web.StreamResponse:
    """Events of the tenant's runs, or of one schedule's (name or id); of the herd for admins.

    A block `run` has a run's new state, `herd` the node's figures once a second, `dropped` how many
    blocks `run` were left out of a busy second. `reset` says that what came after `Last-Event-ID`
    is forgotten: the lists have it.
    """
    caller, engine = request[CALLER], engine_of(request)
    with query_of(request) as query:
        types, schedule = _read_types(query, caller), read_schedule(query, engine.tenant)
    after = request.headers.get(LAST_EVENT_ID.name)
    with engine.events.open(
        schedule=schedule, runs="runs" in types, herd="herd" in types, after=after
    ) as stream:
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        if request.method != "HEAD":
            await _send(request, response, stream)
        return response


async def end_streams(app: web.Application) -> None:
    """The server is about to wait for its handlers."""
    app[ENGINE].end_streams()


def _read_types(query: Fields, caller: Caller) -> str:
    """Without any: all that the caller may hear. Raises Problem 403."""
    is_admin = caller.scope is Scope.ADMIN
    types = query.choice(TYPES) or ("runs,herd" if is_admin else "runs")
    if "herd" in types and not is_admin:
        raise insufficient(caller.scope, Scope.ADMIN)
    return types


async def _send(request: web.Request, response: web.StreamResponse, stream: Stream) -> None:
    """Write what the stream has, until it ends or nobody is there who may hear it."""
    stream.on_end = partial(_cut_off_if_stuck, request)
    await response.write(b"retry: %d\n\n" % RETRY_MS)
    silent_seconds = 0.0
    while (events := await stream.next(LOOK_SECONDS)) is not None and _is_heard(request):
        silent_seconds = 0.0 if events else silent_seconds + LOOK_SECONDS
        if events:
            await response.write(b"".join(map(_block, events)))
        elif silent_seconds >= HEARTBEAT_SECONDS:
            await response.write(b":\n\n")
            silent_seconds = 0.0


def _cut_off_if_stuck(request: web.Request) -> None:
    if request.protocol.writing_paused and request.transport is not None:
        request.transport.abort()


def _is_heard(request: web.Request) -> bool:
    """Whether the client is there, and its key is still one."""
    return is_known(request) and request.transport is not None


def _block(event: StreamEvent) -> bytes:
    match event:
        case RunEvent():
            return _run_block(event)
        case HerdSecond():
            return _named("herd", _herd_document(event))
        case Dropped(by_state=by_state):
            return _named("dropped", {"n": sum(by_state.values()), "by_state": by_state})
        case Reset(id=event_id):
            return b"id: %b\n" % event_id.encode() + _named("reset", {})
        case Begun(id=event_id):
            return b"id: %b\n\n" % event_id.encode()


@lru_cache(RENDERED_MAX)
def _run_block(event: RunEvent) -> bytes:
    return b"id: %b\n" % event.id.encode() + _named("run", _run_document(event))


def _named(name: str, document: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), compact_json(document))


def _run_document(event: RunEvent) -> dict[str, Any]:
    scheduled_for = format_instant(event.scheduled_for_ms)
    next_ms = event.next_attempt_at_ms
    return {
        "id": f"{event.schedule_id}@{scheduled_for}",
        "schedule_id": event.schedule_id,
        "schedule_name": event.schedule_name,
        "scheduled_for": scheduled_for,
        "at": format_instant(event.at_ms),
        "state": event.state,
        "reason": event.reason,
        "attempt_count": event.attempt,
        "outcome": event.outcome,
        "status": event.status,
        "next_attempt_at": None if next_ms is None else format_instant(next_ms),
    }


def _herd_document(second: HerdSecond) -> dict[str, Any]:
    return {
        "at": format_instant(second.at_ms),
        "backlog": second.backlog,
        "tokens": second.tokens,
        "verdict": second.verdict,
        "demand": second.demand,
        "planned": second.planned,
        "served": second.served,
    }
