"""The members of a schedule's document, with their bounds and what each is for (SPEC §4)."""

import re

from engine.core.fairness import PRIORITIES
from engine.core.members import Choice, Flag, Instant, Integer, Judged, Nested, Shape, Text, whole
from engine.core.model import CatchUp, Overlap
from engine.core.policy_document import LABELS, PAUSE_REASON, PAUSED, PAUSED_UNTIL, RETRY
from engine.core.target_document import TARGET
from engine.core.trigger_document import COMPANIONS, TRIGGER

NAME_RULE = (
    "write a name of 1 to 128 letters, digits, dots, hyphens and underscores, starting with"
    " a letter or digit and not with sch_"
)
_NAME = re.compile(r"(?!sch_)[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

JITTER_SECONDS_MAX = 900
"""`jitter_seconds`: a quarter of an hour. Whoever may wait longer has no time of day in mind."""

DEADLINE_SECONDS_MAX = 86_400
"""`deadline_seconds`: a day. What is worth something for longer needs no deadline."""

CATCH_UP_WINDOW_SECONDS_MIN = 10
"""`catch_up_window_seconds`: a run less late than this is not missed and needs no catching up."""

CATCH_UP_WINDOW_SECONDS_MAX = 2_678_400
"""`catch_up_window_seconds`: the longest month, as far back as a monthly schedule looks."""

RUNS_MAX = 1_000_000
"""`max_runs`: the last occurrence is found by counting up to it when the schedule is written."""

FAILURES_MAX = 1_000
"""`pause_after_failures`: after so many in a row nobody is counting any more."""

FLOW_KEY_LENGTH_MAX = 128
"""`flow_key`: as long as a schedule's name."""

FLOW_KEY_PATTERN = re.compile(r"[A-Za-z0-9._:\[\]-]+")
FLOW_KEY_RULE = "write letters, digits and ._:[]- without blanks or slashes"

OVERLAPS: tuple[Overlap, ...] = ("allow", "skip", "buffer_one")
CATCH_UPS: tuple[CatchUp, ...] = ("latest", "skip", "all")

NAME = Judged(
    "name",
    {"type": "string", "pattern": whole(_NAME)},
    about="Unique in the tenant, and never changed: id, offset and keys are made from it.",
)
START_AT, END_AT = (
    Instant("start_at", about="The first instant that may be owed."),
    Instant("end_at", about="The last instant that may be owed."),
)
MAX_RUNS = Integer(
    "max_runs",
    None,
    low=1,
    high=RUNS_MAX,
    about="The first so many occurrences are owed, and no others.",
)
JITTER_SECONDS = Integer(
    "jitter_seconds",
    None,
    low=0,
    high=JITTER_SECONDS_MAX,
    about="Spread over so long, by the schedule's id; 0: exact; null: its trigger's default.",
)
DEADLINE_SECONDS = Integer(
    "deadline_seconds",
    None,
    low=1,
    high=DEADLINE_SECONDS_MAX,
    about="After so long from scheduled_for no attempt begins: the run has expired.",
)
OVERLAP: Choice[Overlap, Overlap] = Choice(
    "overlap",
    "allow",
    OVERLAPS,
    about="What becomes of a run that is due while the one before it is not over.",
)
CATCH_UP: Choice[CatchUp, CatchUp] = Choice(
    "catch_up",
    "latest",
    CATCH_UPS,
    about="What becomes of occurrences missed while the engine was down.",
)
CATCH_UP_WINDOW_SECONDS = Integer(
    "catch_up_window_seconds",
    None,
    low=CATCH_UP_WINDOW_SECONDS_MIN,
    high=CATCH_UP_WINDOW_SECONDS_MAX,
    about="How far back missed occurrences are caught up.",
)
# It stands in addresses and logs; None: the target's host and port.
FLOW_KEY = Text(
    "flow_key",
    None,
    longest=FLOW_KEY_LENGTH_MAX,
    pattern=FLOW_KEY_PATTERN,
    rule=FLOW_KEY_RULE,
    about="What is limited, fair and broken together; by default the target's host and port.",
)
PRIORITY = Integer(
    "priority", 1, low=0, high=PRIORITIES - 1, about="0 goes first, within a tenant and class."
)
DELETE_AFTER_COMPLETION = Flag(
    "delete_after_completion",
    False,
    about="Delete the schedule when nothing more is owed and all runs have ended.",
)
PAUSE_AFTER_FAILURES = Integer(
    "pause_after_failures",
    0,
    low=0,
    high=FAILURES_MAX,
    about="Pause after so many failed runs in a row; 0 never does.",
)
SCHEDULE = Shape(
    (
        NAME,
        LABELS,
        *TRIGGER,
        START_AT,
        END_AT,
        MAX_RUNS,
        JITTER_SECONDS,
        DEADLINE_SECONDS,
        OVERLAP,
        CATCH_UP,
        CATCH_UP_WINDOW_SECONDS,
        PAUSED,
        PAUSE_REASON,
        PAUSED_UNTIL,
        Nested("target", TARGET, about="The request that is sent."),
        RETRY,
        FLOW_KEY,
        PRIORITY,
        DELETE_AFTER_COMPLETION,
        PAUSE_AFTER_FAILURES,
    ),
    required=frozenset({"target"}),
    one_of=tuple(COMPANIONS),
    ignored=frozenset(
        {
            "id",
            "tenant",
            "cron_resolved",
            "jitter_source",
            "offset_ms",
            "next",
            "revision",
            "created_at",
            "updated_at",
            "owed_after",
        }
    ),
)


def is_name(text: str) -> bool:
    """Whether a schedule may have this name; `NAME_RULE` says which."""
    return _NAME.fullmatch(text) is not None
