"""`/v1/schedules:preview`: what a schedule would be and when it would fire, with nothing stored."""

from typing import TypedDict

from aiohttp import web

from engine.core.document import write_schedule
from engine.core.errors import Fault, Invalid, OffbeatError
from engine.core.json_text import parse_json
from engine.core.schedule_answer import ScheduleDocument
from engine.core.schedule_members import SCHEDULE
from engine.services.occurrences import compute
from engine.web.json_bodies import json_response, read_body, sized
from engine.web.operations import Answer, Body, operation
from engine.web.ports import engine_of
from engine.web.problem_codes import FaultDocument
from engine.web.problems import faults_of
from engine.web.schedules import OccurrenceDocument, occurrence_document, read_new

OCCURRENCES = 10
"""As many as a person reads."""


class PreviewDocument(TypedDict):
    """The schedule as it would be stored now, and its first occurrences.

    Null and none where it would be refused: `errors` lists why, as the 422 of storing it would; at
    `""` what is not the document's fault, as a quota that is used up.
    """

    schedule: ScheduleDocument | None
    occurrences: list[OccurrenceDocument]
    errors: list[FaultDocument]


@operation(body=Body(shape=SCHEDULE, required=True), answers={200: Answer(PreviewDocument)})
async def preview_schedule(request: web.Request) -> web.Response:
    """What PUT would answer, defaults resolved, and the next ten occurrences. Stores nothing.

    That it would be refused is what was asked, and no error of the asking: 200 says so, too.
    """
    engine = engine_of(request)
    body = await read_body(request)
    try:
        draft = await sized(body, lambda data: read_new(parse_json(data), engine))
    except Invalid as error:
        return _refused(error)
    now_ms = engine.clock.now_ms()
    (rehearsed,) = await engine.schedules.put_many([draft], dry_run=True)
    if isinstance(rehearsed, OffbeatError):
        return _refused(rehearsed)
    schedule, _ = rehearsed
    occurrences = await compute(schedule, now_ms, None, OCCURRENCES)
    return json_response(
        {
            "schedule": write_schedule(schedule, now_ms),
            "occurrences": list(map(occurrence_document, occurrences)),
            "errors": [],
        }
    )


def _refused(why: OffbeatError) -> web.Response:
    """What is not the document's fault, as a quota that is used up, is said of the whole of it."""
    invalid = why if isinstance(why, Invalid) else Invalid(Fault("", str(why)))
    return json_response({"schedule": None, "occurrences": [], "errors": faults_of(invalid)})
