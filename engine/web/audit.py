"""`/v1/audit`: whether every occurrence that was owed has a run or is counted."""

from typing import TypedDict

from aiohttp import web

from engine.core.audit import Finding
from engine.core.identity import format_instant
from engine.core.members import InstantText
from engine.web.json_bodies import json_response
from engine.web.operations import Answer, operation
from engine.web.ports import engine_of
from engine.web.queries import FROM, TO, query_of, refuse_backwards

AHEAD_MS_MAX = 86_400_000
"""How far ahead an audit may reach: as a forecast does; without an end it computes years that
nobody owes yet."""


class FindingDocument(TypedDict):
    """Occurrences of a schedule that were owed and have neither run nor count."""

    schedule_id: str
    schedule_name: str
    first: InstantText
    last: InstantText
    count: int


AuditDocument = TypedDict(
    "AuditDocument",
    {
        "from": InstantText,
        "to": InstantText,
        "history_floor": InstantText,
        "schedules": int,
        "owed": int,
        "runs": int,
        "counted": int,
        "pending": int,
        "unaccounted": int,
        "findings": list[FindingDocument],
    },
)


@operation(query=(FROM, TO), answers={200: Answer(AuditDocument)})
async def get_audit(request: web.Request) -> web.Response:
    """`from <= scheduled_for < to`, from the beginning of history until now by default.

    Of what is to come it takes a day: every occurrence there is counted, and pending.

    owed = runs + counted + pending + unaccounted. `findings` names the first of the unaccounted.
    """
    engine = engine_of(request)
    floor_ms, now_ms = await engine.audit.history_floor_ms(), engine.clock.now_ms()
    with query_of(request) as query:
        from_ms, to_ms = query.instant(FROM), query.instant(TO)
        from_ms = floor_ms if from_ms is None else from_ms
        to_ms = now_ms if to_ms is None else to_ms
        if from_ms < floor_ms:
            query.refuse("from", f"history begins at {format_instant(floor_ms)}: not before that")
        elif to_ms > now_ms + AHEAD_MS_MAX:
            latest = format_instant(now_ms + AHEAD_MS_MAX)
            query.refuse("to", f"write an instant not after {latest}: the rest is all pending")
        else:
            refuse_backwards(query, from_ms, to_ms)
    tally = await engine.audit.run(from_ms, to_ms)
    return json_response(
        {
            "from": format_instant(from_ms),
            "to": format_instant(to_ms),
            "history_floor": format_instant(floor_ms),
            "schedules": tally.schedules,
            "owed": tally.owed,
            "runs": tally.runs,
            "counted": tally.counted,
            "pending": tally.pending,
            "unaccounted": tally.unaccounted,
            "findings": list(map(_finding_document, tally.findings)),
        }
    )


def _finding_document(finding: Finding) -> FindingDocument:
    return {
        "schedule_id": finding.schedule_id,
        "schedule_name": finding.schedule_name,
        "first": format_instant(finding.first_ms),
        "last": format_instant(finding.last_ms),
        "count": finding.count,
    }
