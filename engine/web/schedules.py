"""`/v1/schedules`: one schedule at a time; `batch.py` takes many."""

from base64 import b32hexencode
from functools import partial
from secrets import token_bytes
from typing import TypedDict

from aiohttp import web

from engine.core.document import patch_schedule, read_schedule, write_schedule
from engine.core.errors import Conflict, Fault, Invalid, PreconditionFailed
from engine.core.identity import format_instant
from engine.core.inproc import is_inproc
from engine.core.json_text import parse_json
from engine.core.members import InstantText
from engine.core.model import Draft, Schedule
from engine.core.once import Record, Reply
from engine.core.revision import NOTHING
from engine.core.schedule_answer import ScheduleDocument
from engine.core.schedule_members import SCHEDULE
from engine.services.occurrences import Computed, compute
from engine.web.json_bodies import (
    json_response,
    list_response,
    read_body,
    sized,
)
from engine.web.long_work import my_turn
from engine.web.once import IDEMPOTENCY_KEY, PROBLEMS_OF_ONCE, replied_once, response_of
from engine.web.operations import PATCH_TYPES, Answer, Body, operation
from engine.web.ports import MOUNTED_AT, TenantFace, engine_of
from engine.web.queries import (
    CURSOR,
    FILTERS,
    FROM,
    LIMIT,
    TO,
    Page,
    query_of,
    read_limit,
    read_name_cursor,
    read_schedule_filter,
    refuse_backwards,
    write_cursor,
)
from engine.web.revisions import CONDITIONS, etag, read_if_match

STORED = Answer(ScheduleDocument, headers=("ETag",))


class OccurrenceDocument(TypedDict):
    """A planned instant, canonical and jittered, with the key of its attempts.

    Not `owed` is what comes before the schedule's `owed_after`: what its rules now would have been
    then. The runs of that time are at `/v1/runs`.
    """

    scheduled_for: InstantText
    fire_after: InstantText
    idempotency_key: str
    owed: bool


@operation(
    headers=(IDEMPOTENCY_KEY,),
    body=Body(shape=SCHEDULE, required=True),
    answers={201: Answer(ScheduleDocument, headers=("ETag", "Location"))},
    problems=("conflict", *PROBLEMS_OF_ONCE),
)
async def create_schedule(request: web.Request) -> web.Response:
    """Create a schedule: 201 with it, and where it is; a name is made up when absent.

    409 when there is one of that name. Sent again with its `Idempotency-Key`, it makes no second.
    """
    engine = engine_of(request)
    body = await read_body(request)
    draft = await sized(body, lambda data: read_new(parse_json(data), engine))

    async def create(record: Record[Schedule] | None) -> Schedule:
        try:
            return (await engine.schedules.put(draft, if_match=NOTHING, record=record))[0]
        except PreconditionFailed:
            name = draft.definition.name
            raise Conflict(f"there is a schedule {name}: PUT replaces it") from None

    now_ms = engine.clock.now_ms()
    answer = partial(_created, now_ms=now_ms, mounted_at=request[MOUNTED_AT])
    return response_of(await replied_once(request, create, answer))


@operation(
    headers=CONDITIONS,
    body=Body(shape=SCHEDULE, required=True),
    answers={200: STORED, 201: STORED},
    problems=("precondition_failed", "limit_reached", "conflict"),
)
async def put_schedule(request: web.Request) -> web.Response:
    """Create or replace a schedule: 201 or 200 with the schedule as it is stored."""
    engine, name = engine_of(request), request.match_info["name"]
    body = await read_body(request)
    draft = await sized(body, lambda data: _read(parse_json(data), engine, name))
    if_match = read_if_match(request)
    schedule, created = await engine.schedules.put(draft, if_match=if_match)
    return answer_schedule(engine, schedule, status=201 if created else 200)


@operation(answers={200: STORED}, problems=("not_found",))
async def get_schedule(request: web.Request) -> web.Response:
    """A schedule as it is stored, with its next run."""
    engine = engine_of(request)
    return answer_schedule(engine, await engine.schedules.get(request.match_info["name"]))


@operation(
    headers=CONDITIONS,
    body=Body(shape=SCHEDULE, media_types=PATCH_TYPES, required=True),
    answers={200: STORED},
    problems=("not_found", "precondition_failed", "limit_reached", "conflict"),
)
async def patch_one(request: web.Request) -> web.Response:
    """Change parts of a schedule (RFC 7396).

    The patch is merged into what is stored, and the result read as a whole.
    """
    engine, name = engine_of(request), request.match_info["name"]
    body = await read_body(request, types=PATCH_TYPES)
    patch = await sized(body, parse_json)
    if type(patch) is not dict:
        raise Invalid(Fault("", "write a JSON object"))

    def change(schedule: Schedule) -> Draft:
        # A handler as target can be kept over HTTP, and not named.
        kept = is_inproc(schedule.definition.target.url) and "target" not in patch
        name = schedule.definition.name
        return _read(patch_schedule(schedule, patch), engine, name, inproc=kept)

    if_match = read_if_match(request)
    return answer_schedule(engine, await engine.schedules.update(name, change, if_match=if_match))


@operation(
    headers=CONDITIONS, answers={204: Answer()}, problems=("not_found", "precondition_failed")
)
async def delete_schedule(request: web.Request) -> web.Response:
    """Delete a schedule; its runs that have not ended are cancelled."""
    engine, name = engine_of(request), request.match_info["name"]
    if_match = read_if_match(request)
    await engine.schedules.delete(name, if_match=if_match)
    return web.Response(status=204)


@operation(query=(*FILTERS, LIMIT, CURSOR), answers={200: Answer(Page[ScheduleDocument])})
async def list_schedules(request: web.Request) -> web.Response:
    """By name: all, or those that `selector`, `q` (how names begin) and `paused` leave.

    A selector is `env=prod,team!=web,has,!gone`. A page may have fewer than `limit` and not be the
    last, which has no `next_cursor`.
    """
    engine = engine_of(request)
    with query_of(request) as query:
        which = read_schedule_filter(query)
        limit, after_name = read_limit(query), read_name_cursor(query)
    page, next_name = await engine.schedules.page(which, limit=limit, after_name=after_name)
    now_ms = engine.clock.now_ms()
    documents = (write_schedule(schedule, now_ms) for schedule in page)
    return await list_response(request, documents, write_cursor(next_name))


@operation(
    query=(FROM, TO, LIMIT),
    answers={200: Answer(Page[OccurrenceDocument])},
    problems=("not_found",),
)
async def list_occurrences(request: web.Request) -> web.Response:
    """Past and future occurrences, `from <= scheduled_for < to`, computed from the row alone.

    From now on unless the query says otherwise. The last one's `scheduled_for` and a millisecond
    is where the next page starts.
    """
    engine = engine_of(request)
    with query_of(request) as query:
        limit, from_ms, to_ms = read_limit(query), query.instant(FROM), query.instant(TO)
        from_ms = engine.clock.now_ms() if from_ms is None else from_ms
        refuse_backwards(query, from_ms, to_ms)
    schedule = await engine.schedules.get(request.match_info["name"])
    async with my_turn(request):
        found = await compute(schedule, from_ms, to_ms, limit)
    return await list_response(request, map(occurrence_document, found), None)


def _read(document: object, engine: TenantFace, name: str, *, inproc: bool = False) -> Draft:
    return read_schedule(
        document, tenant=engine.tenant, name=name, subsecond=engine.subsecond, inproc=inproc
    )


def read_new(document: object, engine: TenantFace) -> Draft:
    if type(document) is dict and document.get("name") is None:
        # 80 bits, which never meet another's.
        name = f"schedule-{b32hexencode(token_bytes(10)).decode().lower()}"
        document = {**document, "name": name}
    return read_schedule(document, tenant=engine.tenant, subsecond=engine.subsecond)


def _created(schedule: Schedule, *, now_ms: int, mounted_at: str) -> Reply:
    location = {"Location": f"{mounted_at}/v1/schedules/{schedule.definition.name}"}
    return Reply(
        status=201,
        document=write_schedule(schedule, now_ms),
        headers={**location, **etag(schedule.revision)},
    )


def answer_schedule(engine: TenantFace, schedule: Schedule, *, status: int = 200) -> web.Response:
    document = write_schedule(schedule, engine.clock.now_ms())
    return json_response(document, status=status, headers=etag(schedule.revision))


def occurrence_document(computed: Computed) -> OccurrenceDocument:
    return {
        "scheduled_for": format_instant(computed.scheduled_for_ms),
        "fire_after": format_instant(computed.fire_after_ms),
        "idempotency_key": computed.key,
        "owed": computed.owed,
    }
