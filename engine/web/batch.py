"""`POST /v1/schedules:batch`: many schedules in one request, newline-delimited JSON in and out.

Each line is a schedule with its `name`, stored as a PUT would. Each gets a result line, in order:

    {"line":1,"name":"nightly","status":"created"}
    {"line":2,"name":"hourly","status":"error","code":"invalid","detail":...,"errors":[...]}

`line` counts from 1, blank lines too, which get no result. `status` is `created`, `updated`,
`unchanged` (stored already, word for word: no new revision) or `error` with the `code`, `detail`
and `errors` of the problem that a PUT would have answered. The answer is 200 even when lines
failed: they are independent, and sending a batch again is harmless.

`?dry_run=true` gives the same result lines and stores nothing. Each two thousand lines are tried on
what is stored, so a name that comes again later, or a quota that they fill together, is not seen.

A client may read while it sends, or at the end: results that it leaves unread are held, up to a
bound that 100,000 good lines keep. The line after it is an `error` with the code `limit_reached`,
and neither that line nor any later one is stored.

Two thousand schedules are one commit, so that 100,000 take seconds; a few dozen are read between
two looks at the loop, so that deliveries keep their time meanwhile.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NotRequired, TypedDict

from aiohttp import web

from engine.core.document import read_schedule
from engine.core.errors import LimitReached, OffbeatError
from engine.core.fields import NAME_SHOWN_MAX
from engine.core.json_text import compact_json, parse_json
from engine.core.members import Choice
from engine.core.model import Draft, Schedule
from engine.core.schedule_members import SCHEDULE
from engine.web.access import is_known, unknown
from engine.web.expectations import invite_body
from engine.web.json_bodies import check_media_type, sized, too_large
from engine.web.ndjson import UNREAD_BYTES_MAX, Results, discard, lines
from engine.web.operations import NDJSON_TYPES, Answer, Body, operation
from engine.web.ports import CALLER, TenantFace, engine_of
from engine.web.problem_codes import FaultDocument, LimitDocument
from engine.web.problems import Problem, problem_of
from engine.web.queries import query_of, read_flag

# Rows of one commit: an eighth of a second, which a delivery's claim beside it may wait. Names and
# targets lie all over their indexes, and fewer commits write the same pages fewer times.
STORED_AT_ONCE = 2_000
# Bytes of one commit, so that large bodies do not pile up: 2,000 lines may have 512 MB.
STORED_AT_ONCE_BYTES = 1_048_576
# Lines read between two looks at the loop, about two milliseconds' worth.
READ_AT_ONCE = 50
# And bytes of them: the worst that is parsed inline takes 4 ms.
READ_AT_ONCE_BYTES = 16_384
BATCHES_AT_ONCE = 8
"""Batches of one tenant: each holds a connection while it lasts, and its lines in memory."""

UNDER_WAY: web.AppKey[Counter[str]] = web.AppKey("batches_under_way", Counter)


@dataclass(slots=True, kw_only=True)
class _Line:
    """One line of the request: what it says, or what is wrong with it."""

    number: int
    name: str | None
    reading: Draft | OffbeatError | Problem


DRY_RUN: Choice[str, None] = Choice(
    "dry_run", None, ("true", "false"), about="Only say what would become of each."
)
LINE = replace(SCHEDULE, required=SCHEDULE.required | {"name"})


class BatchResultDocument(TypedDict):
    """What became of a line: of an error the code, detail and members of a problem, too."""

    line: int
    name: str | None
    status: Literal["created", "updated", "unchanged", "error"]
    code: NotRequired[str]
    detail: NotRequired[str]
    errors: NotRequired[list[FaultDocument]]
    limit: NotRequired[LimitDocument]


@operation(
    query=(DRY_RUN,),
    answers={200: Answer(list[BatchResultDocument], NDJSON_TYPES[0])},
    problems=("limit_reached",),
    body=Body(shape=LINE, media_types=NDJSON_TYPES, required=True),
)
async def put_batch(request: web.Request) -> web.StreamResponse:
    """Store many schedules: newline-delimited JSON in, a result line for each line out.

    Each line is a schedule with its `name`, stored as a PUT would. The answer is 200 even when
    lines failed; a line's `status` is created, updated, unchanged or error. With `dry_run=true`
    it is what it would be, and nothing is stored.
    """
    engine = engine_of(request)
    check_media_type(request, NDJSON_TYPES)
    with query_of(request) as query:
        dry_run = read_flag(query, DRY_RUN) or False
    with _turn(request):
        await invite_body(request)
        results = Results(request)
        try:
            await _put_lines(engine, request, results, dry_run=dry_run)
            return await results.end()
        except Exception:
            if results.begun and request.transport is not None:
                # An answer that is cut off is how HTTP/1.1 says that it is not complete.
                request.transport.abort()
            raise


@contextmanager
def _turn(request: web.Request) -> Iterator[None]:
    """A place among the tenant's batches. Raises `LimitReached`."""
    under_way, tenant = request.app[UNDER_WAY], request[CALLER].tenant
    if under_way[tenant] >= BATCHES_AT_ONCE:
        detail = f"{BATCHES_AT_ONCE} batches are under way: send this one when one has ended"
        raise LimitReached("batches_at_once", BATCHES_AT_ONCE, detail)
    under_way[tenant] += 1
    try:
        yield
    finally:
        under_way[tenant] -= 1
        if not under_way[tenant]:
            del under_way[tenant]


async def _put_lines(
    engine: TenantFace, request: web.Request, results: Results, *, dry_run: bool
) -> None:
    storing: asyncio.Task[bytes] | None = None
    try:
        async for group in _groups(engine, request):
            if storing is not None and not await results.add(await storing):
                storing = None
                await discard(request.content)
                await results.add(_too_many(group[0]))
                return
            if not is_known(request):
                raise unknown()  # Revoked while the lines came.
            # The journal has a thread of its own: it stores this while the next group is read.
            storing = asyncio.create_task(_store(engine, group, dry_run=dry_run))
        if storing is not None:
            await results.add(await storing)
    finally:
        if storing is not None:
            await asyncio.wait([storing])


async def _groups(engine: TenantFace, request: web.Request) -> AsyncIterator[list[_Line]]:
    """The lines of the request as they will be stored together."""
    group: list[_Line] = []
    group_bytes = read_bytes = number = 0
    async for arrived in lines(request.content):
        for data in arrived:
            number += 1
            if data is not None and not data.strip():
                continue
            group.append(await _read_line(engine, number, data))
            group_bytes += len(data or b"")
            read_bytes += len(data or b"")
            if len(group) % READ_AT_ONCE == 0 or read_bytes > READ_AT_ONCE_BYTES:
                read_bytes = 0
                await asyncio.sleep(0)
            if len(group) == STORED_AT_ONCE or group_bytes > STORED_AT_ONCE_BYTES:
                yield group
                group, group_bytes = [], 0
    if group:
        yield group


async def _read_line(engine: TenantFace, number: int, data: bytes | None) -> _Line:
    if data is None:
        return _Line(number=number, name=None, reading=too_large("the line"))
    return await sized(data, partial(_read, engine, number))


def _read(engine: TenantFace, number: int, data: bytes) -> _Line:
    name = None
    try:
        document = parse_json(data)
        name = document.get("name") if type(document) is dict else None
        draft = read_schedule(document, tenant=engine.tenant, subsecond=engine.subsecond)
    except OffbeatError as error:
        shown = name if type(name) is str and len(name) <= NAME_SHOWN_MAX else None
        return _Line(number=number, name=shown, reading=error)
    return _Line(number=number, name=draft.definition.name, reading=draft)


async def _store(engine: TenantFace, group: list[_Line], *, dry_run: bool) -> bytes:
    """Store the drafts among the lines in one commit; the result lines of all of them."""
    drafts = [line.reading for line in group if isinstance(line.reading, Draft)]
    started_ms = engine.clock.now_ms()
    try:
        stored = iter(await engine.schedules.put_many(drafts, dry_run=dry_run) if drafts else ())
    except OffbeatError as error:
        stored = iter([error] * len(drafts))
    return b"".join(
        _result(line, next(stored) if isinstance(line.reading, Draft) else line.reading, started_ms)
        for line in group
    )


def _too_many(first: _Line) -> bytes:
    """The result of the first line that is not stored because results wait unread."""
    detail = (
        f"{UNREAD_BYTES_MAX:,} bytes of results wait to be read: this line and those after it are"
        " not stored; send them in another request, or read while you send"
    )
    return _result(first, LimitReached("unread_bytes_max", UNREAD_BYTES_MAX, detail), 0)


def _result(
    line: _Line, result: tuple[Schedule, bool] | OffbeatError | Problem, started_ms: int
) -> bytes:
    if isinstance(result, tuple):
        schedule, created = result
        # A write that changed nothing left the revision as it was, with its time.
        changed = "updated" if schedule.updated_at_ms >= started_ms else "unchanged"
        status = "created" if created else changed
        # Names need no escaping, and 100,000 lines are rendered this way.
        return f'{{"line":{line.number},"name":"{line.name}","status":"{status}"}}\n'.encode()
    problem = problem_of(result) if isinstance(result, OffbeatError) else result
    error = {"line": line.number, "name": line.name, "status": "error", "code": problem.code}
    return compact_json({**error, "detail": problem.detail, **problem.members}) + b"\n"
