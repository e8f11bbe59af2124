"""`/v1/schedules`: one schedule at a time; `batch.py` takes many."""

import asyncio
from typing import Any

from aiohttp import web

from engine.core.backfill import Backfill
from engine.core.document import patch_schedule, read_schedule, write_schedule
from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.identity import format_instant, idempotency_key
from engine.core.json_text import parse_json
from engine.core.model import Definition, Draft, Pause, Schedule
from engine.core.owed import computable
from engine.core.policy_document import PAUSE_REASON_LENGTH_MAX
from engine.web.json_bodies import (
    PATCH_TYPES,
    json_response,
    list_response,
    read_body,
    read_json,
    sized,
)
from engine.web.ports import TenantFace, engine_of
from engine.web.queries import (
    query_of,
    read_limit,
    read_name_cursor,
    refuse_backwards,
    write_cursor,
)
from engine.web.revisions import etag, read_if_match
from engine.web.runs import run_document

# Occurrences computed between two looks at the loop.
COMPUTED_AT_ONCE = 50
# As far as a timetable searches (SPEC §3).
END_OF_TIME_MS = 2**62
OCCURRENCES_REACH_MS = 41 * 366 * 86_400_000


async def put_schedule(request: web.Request) -> web.Response:
    """Create or replace: 201 or 200 with the schedule as it is stored."""
    engine, name = engine_of(request), request.match_info["name"]
    body = await read_body(request)
    draft = await sized(body, lambda data: _read(parse_json(data), engine, name))
    if_match = await read_if_match(request, engine.schedules, name)
    schedule, created = await engine.schedules.put(draft, if_match=if_match)
    return _answer(engine, schedule, status=201 if created else 200)


async def get_schedule(request: web.Request) -> web.Response:
    engine = engine_of(request)
    return _answer(engine, await engine.schedules.get(request.match_info["name"]))


async def patch_one(request: web.Request) -> web.Response:
    """RFC 7396: the patch is merged into what is stored, and the result read as a whole."""
    engine, name = engine_of(request), request.match_info["name"]
    body = await read_body(request, types=PATCH_TYPES)
    patch = await sized(body, parse_json)
    if type(patch) is not dict:
        raise Invalid(Fault("", "write a JSON object"))

    def change(schedule: Schedule) -> Draft:
        return _read(patch_schedule(schedule, patch), engine, schedule.definition.name)

    if_match = await read_if_match(request, engine.schedules, name)
    return _answer(engine, await engine.schedules.update(name, change, if_match=if_match))


async def delete_schedule(request: web.Request) -> web.Response:
    engine, name = engine_of(request), request.match_info["name"]
    if_match = await read_if_match(request, engine.schedules, name)
    await engine.schedules.delete(name, if_match=if_match)
    return web.Response(status=204)


async def list_schedules(request: web.Request) -> web.Response:
    """By name."""
    engine = engine_of(request)
    with query_of(request, "limit", "cursor") as query:
        limit, after_name = read_limit(query), read_name_cursor(query)
    page, next_name = await engine.schedules.page(limit=limit, after_name=after_name)
    now_ms = engine.clock.now_ms()
    documents = (write_schedule(schedule, now_ms) for schedule in page)
    return await list_response(documents, write_cursor(next_name))


async def pause_schedule(request: web.Request) -> web.Response:
    """An optional body says why and until when: `{"reason": ..., "until": ...}`."""
    engine = engine_of(request)
    faults: list[Fault] = []
    known = frozenset({"reason", "until"})
    fields = Fields(await read_json(request), pointer="", known=known, faults=faults)
    pause = Pause(
        reason=fields.text("reason", None, longest=PAUSE_REASON_LENGTH_MAX),
        until_ms=fields.instant("until"),
    )
    if faults:
        raise Invalid(*faults)
    return _answer(engine, await engine.schedules.pause(request.match_info["name"], pause))


async def resume_schedule(request: web.Request) -> web.Response:
    engine = engine_of(request)
    _check_nothing_said(await read_json(request))
    return _answer(engine, await engine.schedules.resume(request.match_info["name"]))


async def trigger_schedule(request: web.Request) -> web.Response:
    """A run now, without jitter: 202 with the run, whose progress is at `Location`."""
    engine = engine_of(request)
    _check_nothing_said(await read_json(request))
    document = run_document(await engine.schedules.trigger(request.match_info["name"]))
    headers = {"Location": f"/v1/runs/{document['id']}"}
    return json_response(document, status=202, headers=headers)


async def backfill_schedule(request: web.Request) -> web.Response:
    """Runs for past occurrences without one, `from <= scheduled_for < to`: 202 with how many.

    `dry_run` only counts: 200. The runs are found by `/v1/runs` with the same bounds.
    """
    engine = engine_of(request)
    faults: list[Fault] = []
    known = frozenset({"from", "to", "dry_run"})
    fields = Fields(await read_json(request), pointer="", known=known, faults=faults)
    from_ms, to_ms = (_read_bound(fields, name) for name in ("from", "to"))
    dry_run = fields.flag("dry_run", False)
    if fields.sound("from", "to") and to_ms <= from_ms:
        fields.refuse("to", "write an instant later than from, which is in the span and to is not")
    if faults:
        raise Invalid(*faults)
    name = request.match_info["name"]
    done = await engine.backfills.run(name, from_ms=from_ms, to_ms=to_ms, dry_run=dry_run)
    return json_response(_backfill(done), status=200 if dry_run else 202)


async def list_occurrences(request: web.Request) -> web.Response:
    """Past and future occurrences, `from <= scheduled_for < to`, computed from the row alone.

    From now on unless the query says otherwise. The last one's `scheduled_for` and a millisecond
    is where the next page starts.
    """
    engine = engine_of(request)
    with query_of(request, "from", "to", "limit") as query:
        limit, from_ms, to_ms = read_limit(query), query.instant("from"), query.instant("to")
        from_ms = engine.clock.now_ms() if from_ms is None else from_ms
        refuse_backwards(query, from_ms, to_ms)
    schedule = await engine.schedules.get(request.match_info["name"])
    instants = await _occurrences(schedule, from_ms, to_ms, limit)
    return await list_response(
        (_occurrence(schedule.definition, instant) for instant in instants), None
    )


def _read(document: object, engine: TenantFace, name: str) -> Draft:
    return read_schedule(document, tenant=engine.tenant, name=name, subsecond=engine.subsecond)


def _answer(engine: TenantFace, schedule: Schedule, *, status: int = 200) -> web.Response:
    document = write_schedule(schedule, engine.clock.now_ms())
    return json_response(document, status=status, headers=etag(schedule))


def _check_nothing_said(body: Any) -> None:
    faults: list[Fault] = []
    Fields(body, pointer="", known=frozenset(), faults=faults)
    if faults:
        raise Invalid(*faults)


def _read_bound(fields: Fields, name: str) -> int:
    instant = fields.instant(name)
    if instant is None and fields.sound(name):
        fields.refuse(name, "write an instant like 2026-11-30T12:00:00Z")
    return instant or 0


def _backfill(done: Backfill) -> dict[str, Any]:
    instants = {"first": done.first_ms, "last": done.last_ms, "spread_until": done.spread_until_ms}
    texts = {name: None if ms is None else format_instant(ms) for name, ms in instants.items()}
    return {"count": done.count, **texts}


async def _occurrences(
    schedule: Schedule, from_ms: int, to_ms: int | None, limit: int
) -> list[int]:
    rules = computable(schedule)
    after_ms, until_ms = rules.clip(from_ms - 1, END_OF_TIME_MS if to_ms is None else to_ms - 1)
    if until_ms == END_OF_TIME_MS:
        until_ms = after_ms + OCCURRENCES_REACH_MS
    found: list[int] = []
    while len(found) < limit:
        some = rules.between(after_ms, until_ms, min(COMPUTED_AT_ONCE, limit - len(found)))
        if not some:
            break
        found += some
        after_ms = some[-1]
        await asyncio.sleep(0)
    return found


def _occurrence(definition: Definition, scheduled_for_ms: int) -> dict[str, str]:
    return {
        "scheduled_for": format_instant(scheduled_for_ms),
        "fire_after": format_instant(scheduled_for_ms + definition.offset_ms),
        "idempotency_key": idempotency_key(definition.schedule_id, scheduled_for_ms),
    }
