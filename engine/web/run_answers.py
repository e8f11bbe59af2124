"""Runs and attempts as the API answers with them."""

from typing import Literal, NotRequired, TypedDict

from engine.core.members import InstantText
from engine.core.model import RunTrigger, State
from engine.core.schedule_answer import TargetDocument


class RunDocument(TypedDict):
    """The journal's row for one occurrence; its id is `<schedule_id>@<scheduled_for>`."""

    id: str
    schedule_id: str
    schedule_name: str
    scheduled_for: InstantText
    fire_after: InstantText
    next_attempt_at: InstantText | None
    state: State
    reason: str | None
    trigger: RunTrigger
    idempotency_key: str
    attempt_count: int
    first_attempt_at: InstantText | None
    ended_at: InstantText | None


class AttemptDocument(TypedDict):
    """One HTTP request made for a run; `outcome` is null while it is under way.

    The response is kept to 4 KiB: as text when it is UTF-8, in base64 when it is not.
    """

    number: int
    started_at: InstantText
    ended_at: InstantText | None
    outcome: (
        Literal[
            "success",
            "http_error",
            "connect_error",
            "tls_error",
            "dns_error",
            "timeout",
            "protocol_error",
            "blocked",
            "crash",
        ]
        | None
    )
    status: NotRequired[int | None]
    error: NotRequired[str | None]
    response_cut: NotRequired[bool]
    response: NotRequired[str]
    response_base64: NotRequired[str]


class RunAttributionDocument(TypedDict):
    """Where a run's time went: the parts add up to `total_ms`."""

    total_ms: int
    jitter_ms: int
    planning_ms: int
    held_ms: int
    queue_ms: int
    bucket_ms: int
    flow_ms: int
    journal_ms: int
    retry_ms: int
    connect_ms: int
    first_byte_ms: int
    body_ms: int


class RunWithAttemptsDocument(RunDocument):
    """A run, what it sends, its attempts, and where its time went.

    `target` is the run's own: a schedule that was changed meanwhile has another. Of a run that was
    replayed again and again `attempts` has the first one and the newest hundred.
    """

    target: TargetDocument
    attribution: RunAttributionDocument | None
    attempts: list[AttemptDocument]
