"""`/v1/notices`: where a tenant is told of runs that failed and of schedules that were paused."""

from typing import TypedDict

from aiohttp import web

from engine.core.model import Schedule
from engine.core.notice_document import NOTICES, read_notices, write_notices
from engine.web.json_bodies import json_response, read_json
from engine.web.operations import Answer, Body, operation
from engine.web.ports import engine_of
from engine.web.revisions import CONDITIONS, etag, read_if_match


class NoticeTargetDocument(TypedDict):
    """The request to make; the engine writes its body."""

    url: str
    method: str
    headers: dict[str, str]
    timeout_seconds: int


class NoticesDocument(TypedDict):
    """Where notices go. They are the runs of `schedule_id`, paused once they are answered 410."""

    target: NoticeTargetDocument
    schedule_id: str
    paused: bool
    pause_reason: str | None
    revision: int


STORED = Answer(NoticesDocument, headers=("ETag",))


@operation(answers={200: STORED}, problems=("not_found",))
async def get_notices(request: web.Request) -> web.Response:
    """Where the tenant's failure notices go. 404 while nobody is told."""
    return _answer(await engine_of(request).notices.get())


@operation(
    headers=CONDITIONS,
    body=Body(shape=NOTICES, required=True),
    answers={200: STORED, 201: STORED},
    problems=("precondition_failed", "limit_reached", "conflict"),
)
async def put_notices(request: web.Request) -> web.Response:
    """Name a target that is told of each run that fails, and of each schedule the engine pauses.

    It gets one request for each, signed and tried again like any other; 201 when it is the first.
    A notice that fails gives no notice. Where they ended in 410, they begin again.
    """
    engine = engine_of(request)
    draft = read_notices(await read_json(request), tenant=engine.tenant)
    schedule, created = await engine.notices.put(draft, if_match=read_if_match(request))
    return _answer(schedule, status=201 if created else 200)


@operation(
    headers=CONDITIONS, answers={204: Answer()}, problems=("not_found", "precondition_failed")
)
async def delete_notices(request: web.Request) -> web.Response:
    """Tell nobody; notices that wait are cancelled."""
    await engine_of(request).notices.delete(if_match=read_if_match(request))
    return web.Response(status=204)


def _answer(schedule: Schedule, *, status: int = 200) -> web.Response:
    document = write_notices(schedule)
    return json_response(document, status=status, headers=etag(schedule.revision))
