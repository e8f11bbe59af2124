"""A schedule as the API answers with it: what `document.write_schedule` makes, as types."""

from typing import Any, NotRequired, TypedDict

from engine.core.members import InstantText
from engine.core.model import BackoffShape, CatchUp, DstFold, DstGap, JitterSource, Overlap


class TargetDocument(TypedDict):
    """The request to make; at most one of the three bodies is there."""

    url: str
    method: str
    headers: dict[str, str]
    timeout_seconds: int
    json: NotRequired[Any]
    body: NotRequired[str]
    body_base64: NotRequired[str]


class RetryDocument(TypedDict):
    """When to try again."""

    max_attempts: int
    min_backoff_seconds: int
    max_backoff_seconds: int
    multiplier: int
    jitter: BackoffShape
    max_age_seconds: int


class NextDocument(TypedDict):
    """The next run that fires."""

    scheduled_for: InstantText
    fire_after: InstantText


class ScheduleDocument(TypedDict):
    """A schedule as it is stored; of `cron`, `every` and `at` one is there, with what goes with it.

    It can be sent back as it is: what the engine adds is then ignored. Owed are the occurrences
    later than `owed_after`: its creation, the last change of its rules or its resumption.
    """

    id: str
    tenant: str
    name: str
    labels: dict[str, str]
    cron: NotRequired[str]
    timezone: NotRequired[str]
    dst_gap: NotRequired[DstGap]
    dst_fold: NotRequired[DstFold]
    cron_resolved: NotRequired[str]
    every: NotRequired[int]
    phase: NotRequired[int]
    at: NotRequired[InstantText]
    start_at: InstantText | None
    end_at: InstantText | None
    max_runs: int | None
    jitter_seconds: int
    jitter_source: JitterSource
    offset_ms: int
    deadline_seconds: int | None
    overlap: Overlap
    catch_up: CatchUp
    catch_up_window_seconds: int | None
    paused: bool
    pause_reason: str | None
    paused_until: InstantText | None
    target: TargetDocument
    retry: RetryDocument
    flow_key: str | None
    priority: int
    delete_after_completion: bool
    pause_after_failures: int
    next: NextDocument | None
    revision: int
    created_at: InstantText
    updated_at: InstantText
    owed_after: InstantText
