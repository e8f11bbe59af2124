"""`Idempotency-Key` on POSTs that have an effect each time: sent again, they get the same answer.

The others do without it. A preview and a what-if change nothing; a line of a batch puts a schedule
by its name; what pauses is paused and what rests is woken, however often that is said; and secrets
that have been rotated, or retired, refuse it a second time.

The draft writes a key as a string in quotes (RFC 8941 §3.3.3); most clients leave them out, and
both are one key. What a request asks for is its method, its address and its body, byte for byte;
its conditions are not part of it, since they have been judged. An answer that is given again says
so: `Idempotent-Replayed: true`.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import web

from engine.core.members import Text
from engine.core.once import Once, Record, Reply
from engine.web.json_bodies import json_response
from engine.web.ports import CALLER, ENGINE
from engine.web.problems import Problem

T = TypeVar("T")

KEY_LENGTH_MAX = 255
"""`Idempotency-Key`: as long as other APIs take them."""

_BARE = r"[\x21\x23-\x5b\x5d-\x7e]+"
_KEY = re.compile(f'"{_BARE}"|{_BARE}')

IDEMPOTENCY_KEY = Text(
    "Idempotency-Key",
    None,
    longest=KEY_LENGTH_MAX,
    pattern=_KEY,
    rule=f"write one Idempotency-Key of at most {KEY_LENGTH_MAX} visible ASCII characters, "
    'like "8e03978e-40d5-43dd-bc93-6894a57f9324"',
    about="Under which the answer is kept for a day: sent again, nothing is done twice.",
)
REPLAYED = "Idempotent-Replayed"
"""The header of an answer that is given again."""

PROBLEMS_OF_ONCE = ("in_progress", "idempotency_key_taken", "limit_reached")


async def replied_once(
    request: web.Request,
    work: Callable[[Record[T] | None], Awaitable[T]],
    answer: Callable[[T], Reply],
) -> Reply:
    """What a request is answered with: `answer` to what `work` makes, or what was kept of it.

    `work` keeps the record, when there is one, with its effect. Raises Problem 400.
    """
    once = await read_once(request)
    if once is None:
        return answer(await work(None))
    made: list[T] = []

    async def noted(record: Record[T]) -> None:
        made.append(await work(record))

    kept = await request.app[ENGINE].answers.once(once, noted, answer)
    return kept if kept is not None else answer(made[0])


async def read_once(request: web.Request) -> Once | None:
    """The request under its key, if it has one; its body must have been read within its bounds."""
    given = request.headers.get("Idempotency-Key")
    if given is None:
        return None
    key = given.strip()
    if len(key) > KEY_LENGTH_MAX or not _KEY.fullmatch(key):
        raise Problem(400, "malformed", IDEMPOTENCY_KEY.rule)
    body = await request.read() if request.body_exists else b""
    asked = f"{request.method} {request.path_qs}\0".encode() + body
    return Once(
        tenant=request[CALLER].tenant,
        key=key.strip('"'),
        fingerprint=hashlib.sha256(asked).digest(),
    )


def response_of(answer: Reply) -> web.Response:
    replayed = {REPLAYED: "true"} if answer.is_repeated else {}
    return json_response(
        answer.document, status=answer.status, headers={**answer.headers, **replayed}
    )
