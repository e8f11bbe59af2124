"""`/v1/failures`: failed runs by target and error, to see what one replay would mend."""

import asyncio
from collections.abc import Sequence
from heapq import nlargest
from typing import TypedDict

from aiohttp import web

from engine.core.failures import Failures, FailuresOfSchedule
from engine.core.identity import format_instant
from engine.core.members import InstantText
from engine.web.json_bodies import json_response
from engine.web.operations import Answer, operation
from engine.web.ports import engine_of

GROUPS_MAX = 200
"""More than anybody reads; the largest are named."""


class FailuresOfScheduleDocument(TypedDict):
    """A schedule's part in a group; `newest` is the id of a run."""

    name: str
    runs: int
    newest: str


class FailuresDocument(TypedDict):
    """Failed runs that have these four in common; `error` is the newest one's.

    `outcome` is `none` when no attempt was made. `worst` are the schedules with the most.
    """

    host: str
    reason: str
    outcome: str
    status: int | None
    error: str | None
    runs: int
    newest_scheduled_for: InstantText
    schedules: int
    worst: Sequence[FailuresOfScheduleDocument]


class GroupedDocument(TypedDict):
    """The largest groups first. Not `complete`: the newest `runs` failed runs alone are counted."""

    data: Sequence[FailuresDocument]
    groups: int
    runs: int
    complete: bool


@operation(answers={200: Answer(GroupedDocument)})
async def list_failures(request: web.Request) -> web.Response:
    """Failed runs by target and error.

    `host`, `reason`, `outcome` and `status` are members of the filter of `/v1/runs:replay`.
    """
    grouped = await engine_of(request).dead_letters.grouped()
    # Beside the loop: every target may have a host of its own.
    largest = await asyncio.to_thread(
        nlargest, GROUPS_MAX, grouped.groups, lambda group: group.runs
    )
    return json_response(
        {
            "data": list(map(_document, largest)),
            "groups": len(grouped.groups),
            "runs": grouped.runs,
            "complete": grouped.complete,
        }
    )


def _document(group: Failures) -> FailuresDocument:
    return {
        **group.cause._asdict(),  # type: ignore[typeddict-item]  # Its fields have these names.
        "error": group.error,
        "runs": group.runs,
        "newest_scheduled_for": format_instant(group.newest_ms),
        "schedules": len(group.by_schedule),
        "worst": list(map(_part, group.worst)),
    }


def _part(part: FailuresOfSchedule) -> FailuresOfScheduleDocument:
    return {
        "name": part.schedule_name,
        "runs": part.runs,
        "newest": f"{part.schedule_id}@{format_instant(part.newest_ms)}",
    }
