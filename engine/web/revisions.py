"""Revisions as entity tags: `ETag` on what is answered, `If-Match` and `If-None-Match` on changes.

RFC 9110 §13. Of `If-None-Match` a change needs `*` alone: store it if nothing is there yet. What
would be refused anyway is refused for its own reason (§13.2.1): a condition on a schedule that does
not exist is a 404, except where a PUT would have made it.
"""

import re

from aiohttp import web

from engine.core.members import Judged
from engine.core.revision import ANYTHING, NEVER, NOTHING, Condition
from engine.web.problems import Problem

TAGS_LENGTH_MAX = 1_024
"""`If-Match`, all its lines together: a hundred revisions, read in a fraction of a millisecond."""

# RFC 9110 §8.8.3; a weak tag is one, and never matches.
_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*")
_REVISION = re.compile(r'(?<!W/)"([1-9][0-9]{0,17})"')

CONDITIONS = (
    Judged(
        "If-Match",
        {
            "type": "string",
            "pattern": rf"^(?:\*|{_TAGS.pattern})$",
            "maxLength": TAGS_LENGTH_MAX,
        },
        about="The revision that the change is meant for, as `ETag` gave it, or several.",
    ),
    Judged(
        "If-None-Match",
        {"type": "string", "pattern": r"^\*$"},
        about="`*`: only if it is not there.",
    ),
)


def etag(revision: int) -> dict[str, str]:
    return {"ETag": f'"{revision}"'}


def read_if_match(request: web.Request) -> Condition:
    """What a change asks of the current revision (`core.revision`); None when any will do."""
    text = _list_of(request, "If-Match")
    if _wants_nothing_there(request):
        if text is not None:
            raise Problem(400, "malformed", "write If-Match or If-None-Match: both never hold")
        return NOTHING
    if text is None:
        return None
    if text == "*":
        return ANYTHING
    if len(text) > TAGS_LENGTH_MAX or not _TAGS.fullmatch(text):
        detail = f'write If-Match as tags, like "3", in {TAGS_LENGTH_MAX:,} characters, or as *'
        raise Problem(400, "malformed", detail)
    return frozenset(map(int, _REVISION.findall(text))) or NEVER


def _wants_nothing_there(request: web.Request) -> bool:
    text = _list_of(request, "If-None-Match")
    if text not in (None, "*"):
        raise Problem(400, "malformed", "write If-None-Match as *, or a revision in If-Match")
    return text is not None


def _list_of(request: web.Request, name: str) -> str | None:
    """A header that is a list: in several lines it is one all the same (RFC 9110 §5.3)."""
    lines = request.headers.getall(name, [])
    return ", ".join(lines).strip() if lines else None
