"""The small parts of a schedule's document: labels, the pause and the retry policy."""

from typing import Any

from engine.core.errors import Fault
from engine.core.fields import FAULTS_MAX, Fields, member_pointer
from engine.core.labels import (
    KEY,
    KEY_RULE,
    LABELS_MAX,
    VALUE,
    VALUE_RULE,
    is_key,
    is_value,
)
from engine.core.members import Choice, Flag, Instant, Integer, Judged, Nested, Shape, Text, whole
from engine.core.model import BackoffShape, Pause, RetryPolicy

PAUSE_REASON_LENGTH_MAX = 256
"""`pause_reason`: a sentence for whoever finds the schedule resting."""

ATTEMPTS_MAX = 20
"""`retry.max_attempts`: with the default backoff up to ten hours of trying."""

MULTIPLIER_MAX = 10
"""`retry.multiplier`: tenfold waits go from a second to a day in five steps."""

MAX_AGE_SECONDS_MIN = 60
"""`retry.max_age_seconds`: less than a minute has no room for a retry after a slow attempt."""

MAX_AGE_SECONDS_MAX = 604_800
"""`retry.max_age_seconds`: a week, as long as history is kept by default."""

BACKOFF_SECONDS_MAX = 86_400
"""`retry.max_backoff_seconds`: attempts more than a day apart are a schedule of their own."""


BACKOFF_SHAPES: tuple[BackoffShape, ...] = ("full", "partial", "decorrelated", "none")
MAX_ATTEMPTS = Integer(
    "max_attempts", 8, low=1, high=ATTEMPTS_MAX, about="Attempts before the run has failed."
)
MIN_BACKOFF = Integer(
    "min_backoff_seconds",
    5,
    low=1,
    high=BACKOFF_SECONDS_MAX,
    about="The wait after the first attempt.",
)
MAX_BACKOFF = Integer(
    "max_backoff_seconds", 3_600, low=1, high=BACKOFF_SECONDS_MAX, about="The longest wait."
)
MULTIPLIER = Integer(
    "multiplier",
    2,
    low=1,
    high=MULTIPLIER_MAX,
    about="How many times longer each wait is than the one before.",
)
BACKOFF_JITTER: Choice[BackoffShape, BackoffShape] = Choice(
    "jitter", "full", BACKOFF_SHAPES, about="How waits are spread."
)
MAX_AGE = Integer(
    "max_age_seconds",
    86_400,
    low=MAX_AGE_SECONDS_MIN,
    high=MAX_AGE_SECONDS_MAX,
    about="From the first attempt on; after that none is made.",
)
RETRY = Nested(
    "retry",
    Shape((MAX_ATTEMPTS, MIN_BACKOFF, MAX_BACKOFF, MULTIPLIER, BACKOFF_JITTER, MAX_AGE)),
    about="What follows an attempt that failed.",
)

PAUSED = Flag("paused", None, about="Whether it rests; where it is left out, that stays as it is.")
PAUSE_REASON = Text(
    "pause_reason",
    None,
    longest=PAUSE_REASON_LENGTH_MAX,
    about="Shown to whoever asks why it rests.",
)
PAUSED_UNTIL = Instant("paused_until", about="When it resumes by itself.")

LABELS = Judged(
    "labels",
    {
        "type": "object",
        "maxProperties": LABELS_MAX,
        "propertyNames": {"pattern": whole(KEY)},
        "additionalProperties": {"type": "string", "pattern": whole(VALUE)},
    },
    about="For selecting.",
)


def read_labels(fields: Fields, faults: list[Fault]) -> dict[str, str]:
    """At most `LABELS_MAX` labels of the grammar in `core.labels`."""
    labels = fields.raw("labels")
    if labels is None:
        return {}
    if type(labels) is not dict:
        fields.refuse("labels", 'write a JSON object like {"team": "billing"}')
        return {}
    if len(labels) > LABELS_MAX:
        fields.refuse("labels", f"write at most {LABELS_MAX} labels")
        return {}
    for name, value in labels.items():
        rule = KEY_RULE if not is_key(name) else None if is_value(value) else VALUE_RULE
        if rule and len(faults) < FAULTS_MAX:
            faults.append(Fault(member_pointer("/labels", name), rule))
    return labels


def read_retry(value: object, faults: list[Fault]) -> RetryPolicy:
    """The policy that `value` describes, over the defaults of SPEC §4."""
    if value is None:
        return RetryPolicy()
    fields = Fields(value, pointer="/retry", known=RETRY.shape.names, faults=faults)
    policy = RetryPolicy(
        max_attempts=fields.integer(MAX_ATTEMPTS),
        min_backoff_seconds=fields.integer(MIN_BACKOFF),
        max_backoff_seconds=fields.integer(MAX_BACKOFF),
        multiplier=fields.integer(MULTIPLIER),
        jitter=fields.choice(BACKOFF_JITTER),
        max_age_seconds=fields.integer(MAX_AGE),
    )
    ordered = policy.min_backoff_seconds <= policy.max_backoff_seconds
    if not ordered and fields.sound("min_backoff_seconds", "max_backoff_seconds"):
        fields.refuse(
            "max_backoff_seconds",
            f"write at least min_backoff_seconds, {policy.min_backoff_seconds:,}",
        )
    return policy


def write_retry(policy: RetryPolicy) -> dict[str, Any]:
    """The document that `read_retry` reads as `policy`."""
    return {name: getattr(policy, name) for name in policy.__dataclass_fields__}


def read_pause(fields: Fields) -> tuple[bool | None, Pause]:
    """What a document says of pausing: None when it does not say, and why and until when."""
    paused = fields.flag(PAUSED)
    pause = Pause(reason=fields.text(PAUSE_REASON), until_ms=fields.instant(PAUSED_UNTIL))
    if not paused and fields.sound("paused"):
        for name in fields.given(("pause_reason", "paused_until")):
            fields.refuse(name, "it goes with paused: true")
    return paused, pause
