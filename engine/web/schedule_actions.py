"""What can be done to a schedule: `:pause`, `:resume`, `:trigger`, `:backfill`."""

from functools import partial
from typing import TypedDict

from aiohttp import web

from engine.core.backfill import Backfill
from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.identity import format_instant
from engine.core.members import Flag, Instant, InstantText, Shape, Text
from engine.core.model import Pause, Run
from engine.core.once import Record, Reply
from engine.core.policy_document import PAUSE_REASON_LENGTH_MAX
from engine.web.json_bodies import read_json, refuse_body
from engine.web.once import IDEMPOTENCY_KEY, PROBLEMS_OF_ONCE, replied_once, response_of
from engine.web.operations import NOTHING, Answer, Body, operation
from engine.web.ports import MOUNTED_AT, engine_of
from engine.web.queries import FROM, TO
from engine.web.revisions import CONDITIONS, read_if_match
from engine.web.run_answers import RunDocument
from engine.web.runs import run_document
from engine.web.schedules import STORED, answer_schedule

REASON = Text(
    "reason", None, longest=PAUSE_REASON_LENGTH_MAX, about="Shown to whoever asks why it rests."
)
UNTIL = Instant("until", about="When it resumes by itself.")
PAUSE = Shape((REASON, UNTIL))

DRY_RUN = Flag("dry_run", False, about="Only count.")
BACKFILL = Shape((FROM, TO, DRY_RUN), required=frozenset({"from", "to"}))


class BackfillDocument(TypedDict):
    """How many runs were planned, or would be; the last becomes due before `spread_until`."""

    count: int
    first: InstantText | None
    last: InstantText | None
    spread_until: InstantText | None


@operation(
    headers=CONDITIONS,
    body=Body(shape=PAUSE),
    answers={200: STORED},
    problems=("not_found", "precondition_failed"),
)
async def pause_schedule(request: web.Request) -> web.Response:
    """Let a schedule rest. An optional body says why and until when."""
    engine = engine_of(request)
    faults: list[Fault] = []
    fields = Fields(await read_json(request), pointer="", known=PAUSE.names, faults=faults)
    pause = Pause(reason=fields.text(REASON), until_ms=fields.instant(UNTIL))
    if faults:
        raise Invalid(*faults)
    name, if_match = request.match_info["name"], read_if_match(request)
    return answer_schedule(engine, await engine.schedules.pause(name, pause, if_match=if_match))


@operation(
    headers=CONDITIONS,
    body=Body(shape=NOTHING),
    answers={200: STORED},
    problems=("not_found", "precondition_failed"),
)
async def resume_schedule(request: web.Request) -> web.Response:
    """End a schedule's rest. What fell into it is not made up for."""
    engine = engine_of(request)
    refuse_body(await read_json(request))
    name, if_match = request.match_info["name"], read_if_match(request)
    return answer_schedule(engine, await engine.schedules.resume(name, if_match=if_match))


@operation(
    headers=(*CONDITIONS, IDEMPOTENCY_KEY),
    body=Body(shape=NOTHING),
    answers={202: Answer(RunDocument, headers=("Location",))},
    problems=("not_found", "conflict", "precondition_failed", *PROBLEMS_OF_ONCE),
)
async def trigger_schedule(request: web.Request) -> web.Response:
    """A run now, without jitter: 202 with the run, whose progress is at `Location`."""
    engine = engine_of(request)
    refuse_body(await read_json(request))
    name, if_match = request.match_info["name"], read_if_match(request)

    async def trigger(record: Record[Run] | None) -> Run:
        return await engine.schedules.trigger(name, if_match=if_match, record=record)

    answer = partial(_triggered, mounted_at=request[MOUNTED_AT])
    return response_of(await replied_once(request, trigger, answer))


@operation(
    headers=(*CONDITIONS, IDEMPOTENCY_KEY),
    body=Body(shape=BACKFILL, required=True),
    answers={200: Answer(BackfillDocument), 202: Answer(BackfillDocument)},
    problems=("not_found", "conflict", "precondition_failed", *PROBLEMS_OF_ONCE),
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
    name, if_match = request.match_info["name"], read_if_match(request)

    async def backfill(record: Record[Backfill] | None) -> Backfill:
        return await engine.backfills.run(
            name,
            from_ms=from_ms,
            to_ms=to_ms,
            dry_run=dry_run,
            if_match=if_match,
            record=record,
        )

    def reply(done: Backfill) -> Reply:
        return Reply(status=200 if dry_run else 202, document=_backfill(done))

    return response_of(await replied_once(request, backfill, reply))


def _triggered(run: Run, *, mounted_at: str) -> Reply:
    document = run_document(run)
    location = f"{mounted_at}/v1/runs/{document['id']}"
    return Reply(status=202, document=document, headers={"Location": location})


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
