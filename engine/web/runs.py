"""`/v1/runs`: the journal, newest first, and one run with its attempts."""

from base64 import b64encode
from codecs import getincrementaldecoder
from typing import TypedDict

from aiohttp import web

from engine.core.attribution import attribute_run
from engine.core.errors import NotFound
from engine.core.fields import Fields
from engine.core.identity import format_instant, idempotency_key, parse_instant, schedule_id
from engine.core.members import Choice, Text
from engine.core.model import Attempt, Outcome, Run, State
from engine.core.once import Record, Reply
from engine.core.target_document import write_target
from engine.web.attribution import attribution_document
from engine.web.json_bodies import json_response, list_response, read_json, refuse_body
from engine.web.once import IDEMPOTENCY_KEY, PROBLEMS_OF_ONCE, replied_once, response_of
from engine.web.operations import NOTHING, Answer, Body, operation
from engine.web.ports import engine_of
from engine.web.queries import (
    CURSOR,
    FROM,
    LIMIT,
    TO,
    Page,
    query_of,
    read_limit,
    read_run_cursor,
    refuse_backwards,
    write_cursor,
)
from engine.web.run_answers import AttemptDocument, RunDocument, RunWithAttemptsDocument

# A name or an id, whichever is longer.
SCHEDULE_LENGTH_MAX = 128


SCHEDULE = Text("schedule", None, longest=SCHEDULE_LENGTH_MAX, about="A schedule's name or id.")
STATE = Choice("state", None, State, about="Runs in this state.")


@operation(
    query=(SCHEDULE, STATE, FROM, TO, LIMIT, CURSOR), answers={200: Answer(Page[RunDocument])}
)
async def list_runs(request: web.Request) -> web.Response:
    """Of one schedule (name or id) or all, in one state or any, `from <= scheduled_for < to`."""
    engine = engine_of(request)
    with query_of(request) as query:
        schedule, page = read_schedule(query, engine.tenant), _read_page(query)
    return await _answer(request, schedule, page)


@operation(
    query=(STATE, FROM, TO, LIMIT, CURSOR),
    answers={200: Answer(Page[RunDocument])},
    problems=("not_found",),
)
async def list_runs_of_schedule(request: web.Request) -> web.Response:
    """Runs of one schedule, newest first, in one state or any, `from <= scheduled_for < to`."""
    engine = engine_of(request)
    with query_of(request) as query:
        page = _read_page(query)
    schedule = await engine.schedules.get(request.match_info["name"])
    return await _answer(request, schedule.definition.schedule_id, page)


@operation(answers={200: Answer(RunWithAttemptsDocument)}, problems=("not_found",))
async def get_run(request: web.Request) -> web.Response:
    """A run with its target and its attempts. The id is `<schedule_id>@<scheduled_for>`."""
    runs, key = engine_of(request).runs, _read_id(request)
    run, attempts = await runs.get(*key)
    return json_response(
        run_document(run)
        | {
            "target": write_target(await runs.target(*key)),
            "attribution": attribution_document(attribute_run(run, attempts)),
            "attempts": list(map(attempt_document, attempts)),
        }
    )


@operation(
    headers=(IDEMPOTENCY_KEY,),
    body=Body(shape=NOTHING),
    answers={200: Answer(RunDocument), 202: Answer(RunDocument)},
    problems=(
        *("not_found", "run_succeeded", "run_failed", "run_skipped", "run_cancelled"),
        *PROBLEMS_OF_ONCE,
    ),
)
async def cancel_run(request: web.Request) -> web.Response:
    """Cancel a run: 200, or 202 while it is attempting, which it stays until that attempt ends.

    The attempt is not broken off. If it ends the run, that end stands; else no other follows.
    """
    refuse_body(await read_json(request))
    runs, key = engine_of(request).runs, _read_id(request)

    async def cancel(record: Record[Run] | None) -> Run:
        return await runs.cancel(*key, record=record)

    return response_of(await replied_once(request, cancel, _cancelled))


@operation(
    headers=(IDEMPOTENCY_KEY,),
    body=Body(shape=NOTHING),
    answers={202: Answer(RunDocument)},
    problems=(
        *("not_found", "run_planned", "run_attempting", "run_retry_wait", "run_skipped"),
        *("run_cancelled", "deadline_passed", "schedule_deleted", *PROBLEMS_OF_ONCE),
    ),
)
async def replay_run(request: web.Request) -> web.Response:
    """Send a run again that has succeeded or failed: 202 with the run, which is due now.

    It keeps its key and its bytes, numbers its attempts on, and is granted attempts and age anew.
    """
    refuse_body(await read_json(request))
    runs, key = engine_of(request).runs, _read_id(request)

    async def replay(record: Record[Run] | None) -> Run:
        return await runs.replay(*key, record=record)

    return response_of(await replied_once(request, replay, _replayed))


def read_schedule(query: Fields, tenant: str) -> str | None:
    """The id of the schedule that `schedule` names, by its name or id; None: it names none."""
    name = query.text(SCHEDULE)
    if name is None or name.startswith("sch_"):
        return name
    return schedule_id(tenant, name)


def run_document(run: Run) -> RunDocument:
    """A run as the API answers with it."""
    scheduled_for = format_instant(run.scheduled_for_ms)
    return {
        "id": f"{run.schedule_id}@{scheduled_for}",
        "schedule_id": run.schedule_id,
        "schedule_name": run.schedule_name,
        "scheduled_for": scheduled_for,
        "fire_after": format_instant(run.fire_after_ms),
        "next_attempt_at": _instant(run.next_attempt_at_ms),
        "state": run.state,
        "reason": run.reason,
        "trigger": run.trigger,
        "idempotency_key": idempotency_key(run.schedule_id, run.scheduled_for_ms),
        "attempt_count": run.attempt_count,
        "first_attempt_at": _instant(run.first_attempt_at_ms),
        "ended_at": _instant(run.ended_at_ms),
    }


def attempt_document(attempt: Attempt) -> AttemptDocument:
    """An attempt; `outcome` is null while it is under way."""
    document: AttemptDocument = {
        "number": attempt.number,
        "started_at": format_instant(attempt.started_at_ms),
        "ended_at": _instant(attempt.ended_at_ms),
        "outcome": None,
    }
    outcome = attempt.outcome
    if outcome is None:
        return document
    document |= {
        "outcome": outcome.name,
        "status": outcome.status,
        "error": outcome.error,
        "response_cut": outcome.response_cut,
    }
    try:
        document["response"] = _text(outcome)
    except UnicodeDecodeError:
        document["response_base64"] = b64encode(outcome.response).decode()
    return document


def _cancelled(run: Run) -> Reply:
    status = 202 if run.state is State.ATTEMPTING else 200
    return Reply(status=status, document=run_document(run))


def _replayed(run: Run) -> Reply:
    return Reply(status=202, document=run_document(run))


def _text(outcome: Outcome) -> str:
    # Cut off, the last character may be half there.
    decoder = getincrementaldecoder("utf-8")()
    return decoder.decode(outcome.response, final=not outcome.response_cut)


class _Selected(TypedDict):
    """Which runs a list shows, and of these which page."""

    state: State | None
    from_ms: int | None
    to_ms: int | None
    limit: int
    after: tuple[int, str] | None


def _read_page(query: Fields) -> _Selected:
    from_ms, to_ms = query.instant(FROM), query.instant(TO)
    refuse_backwards(query, from_ms, to_ms)
    return {
        "state": query.choice(STATE),
        "from_ms": from_ms,
        "to_ms": to_ms,
        "limit": read_limit(query),
        "after": read_run_cursor(query),
    }


async def _answer(request: web.Request, schedule: str | None, page: _Selected) -> web.Response:
    runs, next_key = await engine_of(request).runs.page(schedule=schedule, **page)
    return await list_response(request, map(run_document, runs), write_cursor(next_key))


def _read_id(request: web.Request) -> tuple[str, int]:
    schedule, _, instant = request.match_info["id"].partition("@")
    try:
        return schedule, parse_instant(instant)
    except ValueError:
        raise NotFound(
            "a run's id is <schedule_id>@<scheduled_for>: GET /v1/runs (offbeat runs -o json)"
        ) from None


def _instant(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)
