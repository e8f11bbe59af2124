"""Failure notices: what a tenant is told when a run has failed or the engine has paused a schedule.

A notice is a run like any other, of a schedule that no trigger ever makes due: one for each tenant
that wants to be told, under a name that no tenant can take. So whatever holds for runs holds for
notices, and nothing here says how they are sent. EventBridge and pg-boss put what failed into a
queue for somebody to empty; QStash calls an address with a message like any other, and Svix tells
of the disabled endpoint, too. This is the latter two.

The body is laid out as Standard Webhooks proposes (`type`, `timestamp`, `data`), its members are
named as in `GET /v1/runs`. It has nothing of the target, of a header or of a response. The same end
gives the same bytes: what has been told is known by them.
"""

from typing import Any, Literal, NamedTuple

from engine.core.errors import NO_SCHEDULE, NotFound
from engine.core.identity import MAX_INSTANT_MS, format_instant, schedule_id
from engine.core.json_text import compact_json
from engine.core.model import AtTrigger, Definition, Target

NOTICES = "sch_notices"
"""The name of a tenant's schedule of notices; SPEC §4 lets no tenant's begin with `sch_`."""

DEADLINE_SECONDS = 86_400
"""A failure notice's deadline: what nobody could be told of for a day is in the list of failed
runs."""

WAITING_MAX = 50_000
"""Runs that may wait in the flow of a tenant's notices before further ends are told no more: as
many as memory holds, and at half of the default rate two minutes' work."""

Kind = Literal["run.failed", "schedule.paused"]


class End(NamedTuple):
    """How a run ended, and the reason of the pause that came of it, if one did."""

    schedule_id: str
    schedule_name: str
    scheduled_for_ms: int
    reason: str | None
    attempts: int
    ended_at_ms: int
    outcome: str | None
    status: int | None
    error: str | None
    pause_reason: str | None


def notice_body(kind: Kind, end: End) -> bytes:
    """What is sent. `outcome`, `status`, `error` are the last attempt's, null where none was made.

    Of a pause, the run is the one that brought it about.
    """
    scheduled_for = format_instant(end.scheduled_for_ms)
    data: dict[str, Any] = {
        "schedule_id": end.schedule_id,
        "schedule_name": end.schedule_name,
        "run_id": f"{end.schedule_id}@{scheduled_for}",
        "scheduled_for": scheduled_for,
        "reason": end.reason,
        "attempt_count": end.attempts,
        "outcome": end.outcome,
        "status": end.status,
        "error": end.error,
    }
    if kind == "schedule.paused":
        data["pause_reason"] = end.pause_reason
    return compact_json({"type": kind, "timestamp": format_instant(end.ended_at_ms), "data": data})


def next_instant_ms(now_ms: int, last_ms: int | None) -> int:
    """The `scheduled_for` of the next notice: the first free millisecond that is not 000.

    They are given in order, so a thousand failures at once become due over a second.
    """
    instant = now_ms if last_ms is None else max(now_ms, last_ms + 1)
    return instant if instant % 1_000 else instant + 1


def notices_of(tenant: str, target: Target) -> Definition:
    """The schedule of a tenant's notices: its one instant does not come."""
    return Definition(
        tenant=tenant,
        name=NOTICES,
        schedule_id=schedule_id(tenant, NOTICES),
        trigger=AtTrigger(at_ms=MAX_INSTANT_MS),
        target=target,
        deadline_seconds=DEADLINE_SECONDS,
    )


def identify(tenant: str, name: str) -> str:
    """The id of a tenant's schedule, as those ask for it who may not have its notices.

    Raises `NotFound` for their name.
    """
    if name == NOTICES:
        raise NotFound(NO_SCHEDULE)
    return schedule_id(tenant, name)
