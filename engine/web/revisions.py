"""Revisions as entity tags: `ETag` on what is answered, `If-Match` and `If-None-Match` on changes.

RFC 9110 §13. Of `If-None-Match` a change needs `*` alone: store it if nothing is there yet.
"""

import re

from aiohttp import web

from engine.core.errors import NotFound, PreconditionFailed
from engine.core.model import Schedule
from engine.web.ports import Schedules
from engine.web.problems import Problem


def etag(schedule: Schedule) -> dict[str, str]:
    return {"ETag": f'"{schedule.revision}"'}


async def read_if_match(request: web.Request, schedules: Schedules, name: str) -> int | None:
    """The revision that must be current, 0 for none at all; None when any will do.

    Raises PreconditionFailed where that can be said at once: `*` for what does not exist, and tags
    that no revision ever had.
    """
    text = request.headers.get("If-Match")
    if _wants_nothing_there(request):
        if text is not None:
            raise Problem(400, "malformed", "write If-Match or If-None-Match: both never hold")
        return 0
    if text is None:
        return None
    if text.strip() == "*":
        await _check_exists(schedules, name)
        return None
    if not _TAG.fullmatch(text.strip()):
        raise Problem(400, "malformed", 'write If-Match as one tag, like "3", or as *')
    revision = _REVISION.fullmatch(text.strip())
    if revision is None:
        raise PreconditionFailed(f"no revision was ever tagged {text.strip()[:64]}")
    return int(revision[1])


def _wants_nothing_there(request: web.Request) -> bool:
    text = request.headers.get("If-None-Match")
    if text is not None and text.strip() != "*":
        raise Problem(400, "malformed", "write If-None-Match as *, or a revision in If-Match")
    return text is not None


async def _check_exists(schedules: Schedules, name: str) -> None:
    try:
        await schedules.get(name)
    except NotFound as error:
        raise PreconditionFailed(str(error)) from None


# RFC 9110 §8.8.3; a weak tag is one, and never matches.
_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_REVISION = re.compile(r'"([1-9][0-9]{0,17})"')
