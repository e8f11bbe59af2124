"""Errors as RFC 9457 problem details: one shape, and a `code` that stays the same for ever.

`title` is HTTP's own phrase, `code` is for programs, `detail` is for people. Where members of a
document are at fault, `errors` lists all of them: `{pointer, detail}` for a body, `{parameter,
detail}` for a query.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from engine.core.errors import (
    Conflict,
    Counted,
    Crowded,
    Fault,
    InProgress,
    Invalid,
    KeyTaken,
    LimitReached,
    Malformed,
    NotFound,
    OffbeatError,
    PreconditionFailed,
    Unavailable,
    WrongState,
)
from engine.core.fields import FAULTS_MAX
from engine.core.identity import format_instant
from engine.core.json_text import compact_json
from engine.core.model import CountedRange
from engine.web.problem_codes import PROBLEMS, CountedDocument, FaultDocument

# How long a client should leave alone what could not take its change, or is still making it.
RETRY_AFTER_SECONDS = 1

INTERNAL = "the engine failed to answer; its log says why"

_log = structlog.get_logger()


class Problem(Exception):
    """An answer that is not what was asked for, with its status and `code`."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        assert PROBLEMS[code][0] == status, "a code has one status"
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers
        self.members = members

    def document(self) -> dict[str, Any]:
        title = HTTPStatus(self.status).phrase
        head = {"type": "about:blank", "title": title, "status": self.status, "code": self.code}
        return {**head, "detail": self.detail, **self.members}


def problem_of(error: OffbeatError) -> Problem:
    """The problem that tells of an expected error."""
    match error:
        case Invalid(faults=faults):
            return Problem(422, "invalid", _summary(faults), errors=faults_of(error))
        case Malformed():
            return Problem(400, "malformed", str(error))
        case Counted(counted=counted):
            return Problem(404, "not_found", str(error), counted=_range(counted))
        case NotFound():
            return Problem(404, "not_found", str(error))
        case WrongState(code=code):
            return Problem(409, code, str(error))
        case KeyTaken():
            return Problem(422, "idempotency_key_taken", str(error))
        case Conflict():
            return Problem(409, "conflict", str(error))
        case LimitReached(name=name, value=value):
            limit = {"name": name, "value": value}
            return Problem(409, "limit_reached", str(error), limit=limit)
        case PreconditionFailed(current=current):
            return Problem(412, "precondition_failed", str(error), revision=current)
        case InProgress() | Crowded() | Unavailable():
            return _later(error)
        case _:
            raise error


def faults_of(invalid: Invalid) -> list[FaultDocument]:
    """What is wrong with a document, each with its pointer."""
    return list(map(_entry, invalid.faults[:FAULTS_MAX]))


def problem_response(problem: Problem) -> web.Response:
    """The answer that tells of a problem."""
    return web.Response(
        status=problem.status,
        body=compact_json(problem.document()),
        content_type="application/problem+json",
        headers=problem.headers,
    )


def http_problem(error: web.HTTPException) -> Problem:
    """The problem in place of an answer that aiohttp makes by itself."""
    match error:
        case web.HTTPNotFound():
            return Problem(404, "not_found", "there is nothing at this address")
        case web.HTTPMethodNotAllowed():
            allowed = ", ".join(sorted(error.allowed_methods))
            detail = f"{error.method} does nothing here; use {allowed}"
            return Problem(405, "method_not_allowed", detail, headers={"Allow": allowed})
        case web.HTTPExpectationFailed():
            return Problem(417, "expectation_failed", error.reason)
        case _:
            return Problem(500, "internal", INTERNAL)


@web.middleware
async def answer_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every error into a problem; what nobody expected is logged and becomes a 500."""
    try:
        return await handler(request)
    except Problem as problem:
        return problem_response(problem)
    except OffbeatError as error:
        return problem_response(problem_of(error))
    except web.HTTPException as error:
        return problem_response(http_problem(error))
    except ConnectionError:
        # The client went away: the server finds nobody to send this to, and drops it.
        return problem_response(
            Problem(400, "malformed", "the connection ended before the request")
        )
    except Exception:  # The last resort: no bug of ours may look like a broken connection.
        _log.exception("request failed", method=request.method, path=request.path)
        return problem_response(Problem(500, "internal", INTERNAL))


def _later(error: InProgress | Crowded | Unavailable) -> Problem:
    """What the same request, sent again after a while, need not be answered with."""
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    match error:
        case InProgress():
            return Problem(409, "in_progress", str(error), headers=headers)
        case Crowded(name=name, value=value):
            limit = {"name": name, "value": value}
            return Problem(429, "crowded", str(error), headers=headers, limit=limit)
        case Unavailable():
            return Problem(503, "unavailable", str(error), headers=headers)


def _range(counted: CountedRange) -> CountedDocument:
    decided = counted.decided_at_ms
    return {
        "reason": counted.reason,
        "after": format_instant(counted.after_ms),
        "until": format_instant(counted.until_ms),
        "count": counted.count,
        "decided_at": None if decided is None else format_instant(decided),
    }


def _summary(faults: Sequence[Fault]) -> str:
    """One fault in its own words; from `FAULTS_MAX` on nobody has counted."""
    if len(faults) == 1:
        return faults[0].detail
    if len(faults) < FAULTS_MAX:
        return f"{len(faults)} things are wrong"
    return f"{FAULTS_MAX} things are wrong, or more"


def _entry(fault: Fault) -> FaultDocument:
    return {"pointer": fault.pointer, "detail": fault.detail}
