"""What the engine speaks of, as values (SPEC §1, §4, §5).

Instants are whole milliseconds since the Unix epoch and end in `_ms`; durations carry their unit
in the name. Everything here is frozen: a change is a new value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

DEFAULT_TENANT = "default"

DstGap = Literal["shift", "skip"]
DstFold = Literal["first", "both"]
Overlap = Literal["allow", "skip", "buffer_one"]
CatchUp = Literal["latest", "skip", "all"]
JitterSource = Literal["default", "explicit"]
BackoffShape = Literal["full", "partial", "decorrelated", "none"]
BodyKind = Literal["none", "text", "json", "base64"]


class State(StrEnum):
    """Where a run stands; `lifecycle.py` holds the moves."""

    PLANNED = "planned"
    ATTEMPTING = "attempting"
    RETRY_WAIT = "retry_wait"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class RunTrigger(StrEnum):
    """What made a run; the header `X-Trigger`."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    BACKFILL = "backfill"
    CATCH_UP = "catch_up"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class CronTrigger:
    """A cron expression on the wall clock of a zone.

    `cron` is the text as written (it may hold `H`); `resolved` the same with every `H` replaced
    and nicknames expanded: what the timetable is compiled from.
    """

    cron: str
    resolved: str
    timezone: str = "UTC"
    dst_gap: DstGap = "shift"
    dst_fold: DstFold = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalTrigger:
    """Occurrences at `phase + k * every` seconds since the epoch."""

    every_seconds: int
    phase_seconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTrigger:
    """One instant."""

    at_ms: int


Trigger = CronTrigger | IntervalTrigger | AtTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The request to make. Content-addressed: equal targets are one row, and none ever changes."""

    url: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    body_kind: BodyKind = "none"
    timeout_seconds: int = 15
    sealed: tuple[tuple[str, str], ...] = ()
    """Credentials by header, encrypted; `headers` has a mask there, until the target is opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When to try again (SPEC §7)."""

    max_attempts: int = 8
    min_backoff_seconds: int = 5
    max_backoff_seconds: int = 3_600
    multiplier: int = 2
    jitter: BackoffShape = "full"
    max_age_seconds: int = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A schedule as its tenant wrote it, checked and resolved: nothing in it depends on when."""

    tenant: str
    name: str
    schedule_id: str
    trigger: Trigger
    target: Target
    labels: Mapping[str, str] = field(default_factory=dict)
    start_at_ms: int | None = None
    end_at_ms: int | None = None
    max_runs: int | None = None
    jitter_seconds: int = 0
    jitter_source: JitterSource = "default"
    offset_ms: int = 0
    deadline_seconds: int | None = None
    overlap: Overlap = "allow"
    catch_up: CatchUp = "latest"
    catch_up_window_seconds: int | None = None
    retry: RetryPolicy = RetryPolicy()
    flow_key: str | None = None
    priority: int = 1
    delete_after_completion: bool = False
    pause_after_failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Since when, why and until when a schedule rests; `until_ms` None: until it is resumed.

    `since_ms` is set by whoever stores the pause; a wish to pause does not know it.
    """

    since_ms: int = 0
    reason: str | None = None
    until_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A document after reading: the definition, and what it says of pausing (None: keep)."""

    definition: Definition
    paused: bool | None = None
    pause: Pause = Pause()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A stored schedule.

    `counted_after_ms`: `max_runs` counts what is later (than creation or the last trigger
    change, or than an edit before the first `start_at` had come).
    `owed_after_ms`: occurrences later than this are owed (that, or resumption).
    `last_owed_ms`: the occurrence after which `end_at` or `max_runs` ends it; None: no end.
    """

    definition: Definition
    pause: Pause | None
    counted_after_ms: int
    owed_after_ms: int
    last_owed_ms: int | None
    revision: int
    created_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One planned instant of a schedule: canonical and jittered."""

    scheduled_for_ms: int
    fire_after_ms: int


class Outcome(NamedTuple):
    """How one attempt ended. `name` is a value of `scheduler_attempts_total{outcome}`.

    Not a dataclass: made for each delivery.
    """

    name: Literal[
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
    status: int | None = None
    error: str | None = None
    response: bytes = b""
    response_cut: bool = False
    retry_after: str | None = None


class Timing(NamedTuple):
    """Where an attempt's time went, in milliseconds (`core.attribution` says how it is read).

    `waited_ms`: from when it was due to its start. Of that, `held_ms` it was not to go (another run
    of its schedule, its flow's breaker or pause), `flow_ms` its flow was at a limit, `bucket_ms` no
    token was there, `journal_ms` its claim was being committed. `connect_ms` and `first_byte_ms`
    count from its start, to when the connection was there and the first byte of the response.
    """

    waited_ms: int = 0
    held_ms: int = 0
    flow_ms: int = 0
    bucket_ms: int = 0
    journal_ms: int = 0
    connect_ms: int = 0
    first_byte_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One HTTP request made for a run, as the journal remembers it."""

    number: int
    started_at_ms: int
    ended_at_ms: int | None
    outcome: Outcome | None
    timing: Timing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRange:
    """Occurrences without a run of their own, after < scheduled_for <= until (SPEC §4)."""

    reason: Literal["paused", "catch_up", "pruned", "deleted"]
    after_ms: int
    until_ms: int
    count: int
    decided_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The journal's row for one occurrence."""

    schedule_id: str
    schedule_name: str
    scheduled_for_ms: int
    fire_after_ms: int
    next_attempt_at_ms: int | None
    state: State
    reason: str | None
    trigger: RunTrigger
    attempt_count: int
    first_attempt_at_ms: int | None
    ended_at_ms: int | None
    planned_at_ms: int | None = None


Unserved = Literal["expired", "overlap", "superseded", "paused"]
"""Why a run ends when its turn comes, without an attempt (SPEC §5)."""


class Finished(NamedTuple):
    """A run that ended when its turn came, without an attempt; `attempts`: those before."""

    state: State
    reason: Unserved
    tenant: str
    schedule_id: str
    schedule_name: str
    scheduled_for_ms: int
    attempts: int
