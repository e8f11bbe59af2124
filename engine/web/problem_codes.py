"""Every code that a problem may have, and what a problem is made of (RFC 9457)."""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

from engine.core.members import InstantText
from engine.core.model import State

# What a run, or its schedule, is in a state for; the code names the state.
WRONG_STATES: Mapping[str, str] = {
    **{f"run_{state}": f"the run is {state}, and does not go there from here" for state in State},
    "deadline_passed": "the run's deadline has passed: no attempt may start",
    "schedule_deleted": "the run's schedule is deleted",
}

# Every code with its status and what it says; a new one is added here, and none is ever changed.
PROBLEMS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "the request, its JSON or a header is not what it claims to be"),
    "key_required": (401, "no API key was sent"),
    "key_unknown": (401, "the key is not of this engine, or was revoked"),
    "insufficient_scope": (403, "the scope of the key does not allow it"),
    "cross_origin": (403, "a web page of another origin asks for a change"),
    "not_found": (404, "it does not exist for this tenant"),
    "method_not_allowed": (405, "the method does nothing at this address"),
    "timeout": (408, "the headers or the body did not come in time"),
    "conflict": (409, "the request contradicts what is stored"),
    **{code: (409, says) for code, says in WRONG_STATES.items()},
    "in_progress": (409, "the same request is under way; wait for Retry-After"),
    "limit_reached": (409, "there is no room for more; `limit` says of what"),
    "precondition_failed": (412, "another revision is the current one"),
    "too_large": (413, "the body is larger than any may be"),
    "unsupported_media_type": (415, "the body's type or encoding is not read here"),
    "expectation_failed": (417, "the Expect header asks for what is not done here"),
    "host_not_allowed": (421, "the Host header names another server"),
    "invalid": (422, "members of the body break rules; `errors` lists them"),
    "idempotency_key_taken": (422, "another request was made under this Idempotency-Key"),
    "invalid_query": (422, "parameters break rules; `errors` lists them"),
    "rate_limited": (429, "the key has asked too often; wait for Retry-After"),
    "crowded": (429, "too much that the tenant asked for waits already; wait for Retry-After"),
    "headers_too_large": (431, "the request line or a header is too long"),
    "internal": (500, "the engine failed; its log says why"),
    "version_not_supported": (505, "the request is not HTTP/1.1 or HTTP/1.0"),
    "not_ready": (503, "deliveries do not go out as planned; `reasons` say why"),
    "too_many_connections": (503, "as many connections are open as may be; try again later"),
    "unavailable": (503, "the journal cannot take a change right now"),
}


class FaultDocument(TypedDict):
    """One thing wrong: `pointer` (RFC 6901) for a body's member, `parameter` for a query's."""

    pointer: NotRequired[str]
    parameter: NotRequired[str]
    detail: str


class LimitDocument(TypedDict):
    """The limit that was reached."""

    name: str
    value: int


class CountedDocument(TypedDict):
    """Occurrences without runs of their own, after < scheduled_for <= until."""

    reason: Literal["paused", "catch_up", "pruned", "deleted"]
    after: InstantText
    until: InstantText
    count: int
    decided_at: InstantText | None


class ProblemDocument(TypedDict):
    """RFC 9457. `code` is for programs and never changes its meaning, `detail` is for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: NotRequired[list[FaultDocument]]
    limit: NotRequired[LimitDocument]
    counted: NotRequired[CountedDocument]
    scope: NotRequired[str]
    reasons: NotRequired[list[str]]
    revision: NotRequired[int | None]
