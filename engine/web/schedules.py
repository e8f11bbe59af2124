"""`/v1/schedules`: one schedule at a time; `batch.py` takes many."""

from typing import TypedDict

from aiohttp import web

from engine.core.backfill import Backfill
from engine.core.document import SCHEDULE, patch_schedule, read_schedule, write_schedule
from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.identity import format_instant
from engine.core.inproc import is_inproc
from engine.core.json_text import parse_json
from engine.core.members import Flag, Instant, InstantText, Shape, Text
from engine.core.model import Draft, Pause, Schedule
from engine.core.policy_document import PAUSE_REASON_LENGTH_MAX
from engine.core.schedule_answer import ScheduleDocument
from engine.services.occurrences import Computed, compute
from engine.web.connection import LINE_BYTES_MAX
from engine.web.json_bodies import (
    json_response,
    list_response,
    read_body,
    read_json,
    refuse_body,
    sized,
)
from engine.web.operations import NOTHING, PATCH_TYPES, Answer, Body, operation
from engine.web.ports import TenantFace, engine_of
from engine.web.queries import (
    CURSOR,
    FROM,
    LIMIT,
    TO,
    Page,
    query_of,
    read_limit,
    read_name_cursor,
    refuse_backwards,
    write_cursor,
)
from engine.web.revisions import etag, read_if_match
from engine.web.run_answers import RunDocument
from engine.web.runs import run_document

IF_MATCH = Text("If-Match", None, longest=LINE_BYTES_MAX)
IF_NONE_MATCH = Text("If-None-Match", None, longest=LINE_BYTES_MAX)
CONDITIONS = (IF_MATCH, IF_NONE_MATCH)

REASON = Text("reason", None, longest=PAUSE_REASON_LENGTH_MAX)
UNTIL = Instant("until")
PAUSE = Shape((REASON, UNTIL))

DRY_RUN = Flag("dry_run", False)
BACKFILL = Shape((FROM, TO, DRY_RUN), required=frozenset({"from", "to"}))

STORED = Answer(ScheduleDocument, headers=("ETag",))


class BackfillDocument(TypedDict):
    """How many runs were planned, or would be; the last becomes due before `spread_until`."""

    count: int
    first: InstantText | None
    last: InstantText | None
    spread_until: InstantText | None


class OccurrenceDocument(TypedDict):
    """A planned instant, canonical and jittered, with the key of its attempts."""

    scheduled_for: InstantText
    fire_after: InstantText
    idempotency_key: str


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
    if_match = await read_if_match(request, engine.schedules, name)
    schedule, created = await engine.schedules.put(draft, if_match=if_match)
    return _answer(engine, schedule, status=201 if created else 200)


@operation(answers={200: STORED}, problems=("not_found",))
async def get_schedule(request: web.Request) -> web.Response:
    """A schedule as it is stored, with its next run."""
    engine = engine_of(request)
    return _answer(engine, await engine.schedules.get(request.match_info["name"]))


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

    if_match = await read_if_match(request, engine.schedules, name)
    return _answer(engine, await engine.schedules.update(name, change, if_match=if_match))


@operation(
    headers=CONDITIONS, answers={204: Answer()}, problems=("not_found", "precondition_failed")
)
async def delete_schedule(request: web.Request) -> web.Response:
    """Delete a schedule; its runs that have not ended are cancelled."""
    engine, name = engine_of(request), request.match_info["name"]
    if_match = await read_if_match(request, engine.schedules, name)
    await engine.schedules.delete(name, if_match=if_match)
    return web.Response(status=204)


@operation(query=(LIMIT, CURSOR), answers={200: Answer(Page[ScheduleDocument])})
async def list_schedules(request: web.Request) -> web.Response:
    """By name."""
    engine = engine_of(request)
    with query_of(request) as query:
        limit, after_name = read_limit(query), read_name_cursor(query)
    page, next_name = await engine.schedules.page(limit=limit, after_name=after_name)
    now_ms = engine.clock.now_ms()
    documents = (write_schedule(schedule, now_ms) for schedule in page)
    return await list_response(documents, write_cursor(next_name))


@operation(body=Body(shape=PAUSE), answers={200: STORED}, problems=("not_found",))
async def pause_schedule(request: web.Request) -> web.Response:
    """Let a schedule rest. An optional body says why and until when."""
    engine = engine_of(request)
    faults: list[Fault] = []
    fields = Fields(await read_json(request), pointer="", known=PAUSE.names, faults=faults)
    pause = Pause(reason=fields.text(REASON), until_ms=fields.instant(UNTIL))
    if faults:
        raise Invalid(*faults)
    return _answer(engine, await engine.schedules.pause(request.match_info["name"], pause))


@operation(body=Body(shape=NOTHING), answers={200: STORED}, problems=("not_found",))
async def resume_schedule(request: web.Request) -> web.Response:
    """End a schedule's rest. What fell into it is not made up for."""
    engine = engine_of(request)
    refuse_body(await read_json(request))
    return _answer(engine, await engine.schedules.resume(request.match_info["name"]))


@operation(
    body=Body(shape=NOTHING),
    answers={202: Answer(RunDocument, headers=("Location",))},
    problems=("not_found", "conflict"),
)
async def trigger_schedule(request: web.Request) -> web.Response:
    """A run now, without jitter: 202 with the run, whose progress is at `Location`."""
    engine = engine_of(request)
    refuse_body(await read_json(request))
    document = run_document(await engine.schedules.trigger(request.match_info["name"]))
    headers = {"Location": f"/v1/runs/{document['id']}"}
    return json_response(document, status=202, headers=headers)


@operation(
    body=Body(shape=BACKFILL, required=True),
    answers={200: Answer(BackfillDocument), 202: Answer(BackfillDocument)},
    problems=("not_found", "conflict"),
)
async def backfill_schedule(request: web.Request) -> web.Response:
    """Runs for past occurrences without one, `from <= scheduled_for < to`: 202 with how many.

    `dry_run` only counts: 200. The runs are found by `/v1/runs` with the same bounds.
    """
    engine = engine_of(request)
    faults: list[Fault] = []
    fields = Fields(await read_json(request), pointer="", known=BACKFILL.names, faults=faults)
    from_ms, to_ms = _read_bound(fields, FROM), _read_bound(fields, TO)
    dry_run = fields.flag(DRY_RUN)
    if fields.sound("from", "to") and to_ms <= from_ms:
        fields.refuse("to", "write an instant later than from, which is in the span and to is not")
    if faults:
        raise Invalid(*faults)
    name = request.match_info["name"]
    done = await engine.backfills.run(name, from_ms=from_ms, to_ms=to_ms, dry_run=dry_run)
    return json_response(_backfill(done), status=200 if dry_run else 202)


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
    return await list_response(
        map(_occurrence, await compute(schedule, from_ms, to_ms, limit)), None
    )


def _read(document: object, engine: TenantFace, name: str, *, inproc: bool = False) -> Draft:
    return read_schedule(
        document, tenant=engine.tenant, name=name, subsecond=engine.subsecond, inproc=inproc
    )


def _answer(engine: TenantFace, schedule: Schedule, *, status: int = 200) -> web.Response:
    document = write_schedule(schedule, engine.clock.now_ms())
    return json_response(document, status=status, headers=etag(schedule))


def _read_bound(fields: Fields, bound: Instant) -> int:
    instant = fields.instant(bound)
    if instant is None and fields.sound(bound.name):
        fields.refuse(bound.name, "write an instant like 2026-11-30T12:00:00Z")
    return instant or 0


def _backfill(done: Backfill) -> BackfillDocument:
    return {
        "count": done.count,
        "first": _instant(done.first_ms),
        "last": _instant(done.last_ms),
        "spread_until": _instant(done.spread_until_ms),
    }


def _instant(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)


def _occurrence(computed: Computed) -> OccurrenceDocument:
    return {
        "scheduled_for": format_instant(computed.scheduled_for_ms),
        "fire_after": format_instant(computed.fire_after_ms),
        "idempotency_key": computed.key,
    }
