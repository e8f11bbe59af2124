"""`/v1/runs:replay` and `:delete`: failed runs, as many as a filter means.

The body says which ones, and each member of it may be left out.
"""

from typing import Protocol, TypedDict, get_args, get_type_hints

from aiohttp import web

from engine.core.errors import Fault, Invalid
from engine.core.failures import NOTHING_SENT
from engine.core.fields import Fields
from engine.core.identity import format_instant
from engine.core.members import Choice, InstantText, Integer, Shape, Text
from engine.core.model import Outcome
from engine.core.once import Record, Reply
from engine.core.policy_document import LABELS, read_labels
from engine.core.replay import Selection
from engine.core.retry import GiveUp
from engine.core.url_rules import URL_LENGTH_MAX
from engine.services.dead_letters import Settled
from engine.web.json_bodies import read_json
from engine.web.once import IDEMPOTENCY_KEY, PROBLEMS_OF_ONCE, replied_once, response_of
from engine.web.operations import Answer, Body, operation
from engine.web.ports import TenantFace, engine_of
from engine.web.queries import FROM, TO, refuse_backwards
from engine.web.runs import SCHEDULE, read_schedule
from engine.web.schedule_actions import DRY_RUN

REASON = Choice(
    "reason", None, get_args(get_type_hints(GiveUp)["reason"]), about="Why the run failed."
)
OUTCOME = Choice(
    "outcome",
    None,
    (*get_args(get_type_hints(Outcome)["name"]), NOTHING_SENT),
    about="How its last attempt ended.",
)
# An URL's host is within its length.
HOST = Text("host", None, longest=URL_LENGTH_MAX, about="The host of its target, with its port.")
STATUS = Integer("status", None, low=100, high=999, about="The status of its last response.")
MEANT = Shape((SCHEDULE, LABELS, HOST, FROM, TO, REASON, OUTCOME, STATUS, DRY_RUN))


class SettledDocument(TypedDict):
    """How many failed runs were replayed or deleted, or would be; `first`, `last`: scheduled_for.

    `passed_over`: those that cannot be sent again, since their deadline has passed or their
    schedule is deleted. Replayed ones become due before `spread_until`.
    """

    count: int
    passed_over: int
    first: InstantText | None
    last: InstantText | None
    spread_until: InstantText | None


@operation(
    headers=(IDEMPOTENCY_KEY,),
    body=Body(shape=MEANT),
    answers={200: Answer(SettledDocument), 202: Answer(SettledDocument)},
    problems=("not_found", "conflict", *PROBLEMS_OF_ONCE),
)
async def replay_failed(request: web.Request) -> web.Response:
    """Send failed runs again, spread over a while: 202 with how many.

    `labels` are equalities, all of which must hold of the schedule; `host`, `reason`, `outcome` and
    `status` are a group's in `/v1/failures`. `dry_run` only counts: 200.
    """
    engine = engine_of(request)
    return await _settle(request, engine.dead_letters.replay, done=202)


@operation(
    headers=(IDEMPOTENCY_KEY,),
    body=Body(shape=MEANT),
    answers={200: Answer(SettledDocument)},
    problems=("not_found", "conflict", *PROBLEMS_OF_ONCE),
)
async def delete_failed(request: web.Request) -> web.Response:
    """Delete failed runs; what was owed stays counted. `dry_run` only counts."""
    engine = engine_of(request)
    return await _settle(request, engine.dead_letters.delete, done=200)


class _Action(Protocol):
    async def __call__(
        self, which: Selection, *, dry_run: bool, record: Record[Settled] | None
    ) -> Settled: ...


async def _settle(request: web.Request, action: _Action, *, done: int) -> web.Response:
    faults: list[Fault] = []
    fields = Fields(await read_json(request), pointer="", known=MEANT.names, faults=faults)
    which, dry_run = _selection(fields, faults, engine_of(request)), fields.flag(DRY_RUN)
    if faults:
        raise Invalid(*faults)

    async def settle(record: Record[Settled] | None) -> Settled:
        return await action(which, dry_run=dry_run, record=record)

    def reply(settled: Settled) -> Reply:
        return Reply(status=200 if dry_run else done, document=_document(settled))

    return response_of(await replied_once(request, settle, reply))


def _selection(fields: Fields, faults: list[Fault], engine: TenantFace) -> Selection:
    from_ms, to_ms = fields.instant(FROM), fields.instant(TO)
    refuse_backwards(fields, from_ms, to_ms)
    return Selection(
        tenant=engine.tenant,
        schedule_id=read_schedule(fields, engine.tenant),
        labels=read_labels(fields, faults),
        host=fields.text(HOST),
        reason=fields.choice(REASON),
        outcome=fields.choice(OUTCOME),
        status=fields.integer(STATUS),
        from_ms=from_ms,
        to_ms=to_ms,
    )


def _document(settled: Settled) -> SettledDocument:
    return {
        "count": settled.count,
        "passed_over": settled.passed_over,
        "first": _instant(settled.first_ms),
        "last": _instant(settled.last_ms),
        "spread_until": _instant(settled.spread_until_ms),
    }


def _instant(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)
