"""`/v1/runs`: the journal, newest first, and one run with its attempts."""

from base64 import b64encode
from codecs import getincrementaldecoder

from aiohttp import web

from engine.core.attribution import attribute_run
from engine.core.errors import NotFound
from engine.core.fields import Fields
from engine.core.identity import format_instant, idempotency_key, parse_instant, schedule_id
from engine.core.members import Choice, Text
from engine.core.model import Attempt, Outcome, Run, State
from engine.web.attribution import attribution_document
from engine.web.json_bodies import json_response, list_response
from engine.web.operations import Answer, operation
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


SCHEDULE = Text("schedule", None, longest=SCHEDULE_LENGTH_MAX)
STATE = Choice("state", None, State)


@operation(
    query=(SCHEDULE, STATE, FROM, TO, LIMIT, CURSOR), answers={200: Answer(Page[RunDocument])}
)
async def list_runs(request: web.Request) -> web.Response:
    """Of one schedule (name or id) or all, in one state or any, `from <= scheduled_for < to`."""
    engine = engine_of(request)
    with query_of(request) as query:
        schedule, state = _read_schedule(query, engine.tenant), _read_state(query)
        from_ms, to_ms = query.instant(FROM), query.instant(TO)
        refuse_backwards(query, from_ms, to_ms)
        limit, after = read_limit(query), read_run_cursor(query)
    page, next_key = await engine.runs.page(
        schedule=schedule, state=state, from_ms=from_ms, to_ms=to_ms, limit=limit, after=after
    )
    return await list_response(map(run_document, page), write_cursor(next_key))


@operation(answers={200: Answer(RunWithAttemptsDocument)}, problems=("not_found",))
async def get_run(request: web.Request) -> web.Response:
    """A run with its attempts. The id is `<schedule_id>@<scheduled_for>`."""
    schedule, _, instant = request.match_info["id"].partition("@")
    try:
        scheduled_for_ms = parse_instant(instant)
    except ValueError:
        raise NotFound("a run's id is <schedule_id>@<scheduled_for>") from None
    run, attempts = await engine_of(request).runs.get(schedule, scheduled_for_ms)
    return json_response(
        run_document(run)
        | {
            "attribution": attribution_document(attribute_run(run, attempts)),
            "attempts": list(map(attempt_document, attempts)),
        }
    )


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


def _text(outcome: Outcome) -> str:
    # Cut off, the last character may be half there.
    decoder = getincrementaldecoder("utf-8")()
    return decoder.decode(outcome.response, final=not outcome.response_cut)


def _read_schedule(query: Fields, tenant: str) -> str | None:
    name = query.text(SCHEDULE)
    if name is None or name.startswith("sch_"):
        return name
    return schedule_id(tenant, name)


def _read_state(query: Fields) -> State | None:
    return query.choice(STATE)


def _instant(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)
