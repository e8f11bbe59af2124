"""What the monitor and the forecast audit see, as the API answers with it."""

from typing import TypedDict

from engine.core.forecast_audit import Cause
from engine.core.members import InstantText
from engine.core.verdict import VerdictName
from engine.web.herd_answers import TopTimetableDocument


class HerdVerdictDocument(TypedDict):
    """What the figures of the window mean, and what to do; `period_seconds` of an alignment."""

    name: VerdictName
    period_seconds: int | None
    timetables: list[TopTimetableDocument]
    sentence: str
    advice: str


class StageDocument(TypedDict):
    """One curve's figures; `alignment` is the vector strength by period in seconds."""

    runs: int
    busiest_second: int
    busiest_hundredth: int
    amplification: float
    noise_floor: float
    alignment: dict[str, float]


class StagesDocument(TypedDict):
    """The three curves."""

    demand: StageDocument
    planned: StageDocument
    served: StageDocument


WindowDocument = TypedDict(
    "WindowDocument",
    {
        "from": InstantText,
        "seconds": int,
        "jitter_seconds": int,
        "stages": StagesDocument,
        "attempts": int,
        "retries": int,
        "catch_ups": int,
        "held_seconds": int,
        "idle_seconds": int,
    },
)


class CurvedWindowDocument(WindowDocument):
    """A window with its three curves by second."""

    by_second: dict[str, list[int]]


class CurrentWindowDocument(CurvedWindowDocument):
    """The current one; `volume` is runs over what can be started."""

    volume: float


class OffsetsDocument(TypedDict):
    """Runs with offsets up to a bound, null: beyond the last."""

    until_seconds: int | None
    runs: int


class DigestDocument(TypedDict):
    """What was foretold of a herd before it."""

    frozen_at: InstantText
    runs: int
    busiest_planned: int
    busiest_served: int
    p99_ms: int
    verdict: str


class HerdRecordDocument(TypedDict):
    """What is kept of a herd or a shock."""

    instant: InstantText
    seconds: int
    runs: int
    offsets: list[OffsetsDocument]
    timetables: list[TopTimetableDocument]
    busiest_demand: int
    busiest_planned: int
    busiest_served: int
    amplification: float
    noise_floor: float
    volume: float
    verdict: str
    period_seconds: int | None
    sentence: str
    advice: str
    forecast: DigestDocument | None


class MonitorDocument(TypedDict):
    """What is going on, what it means, and what was recorded."""

    at: InstantText
    verdict: HerdVerdictDocument
    window: CurrentWindowDocument
    hour: CurvedWindowDocument
    records: list[HerdRecordDocument]


class ComparedDocument(TypedDict):
    """Runs foretold and runs that happened."""

    forecast: int
    happened: int
    difference: int


class ReasonDocument(TypedDict):
    """Why a minute went otherwise: how many schedules, attempts or runs, and some names."""

    reason: Cause
    count: int
    schedules: list[str]


class AuditedMinuteDocument(TypedDict):
    """A minute against the forecast that was frozen before it."""

    minute: InstantText
    frozen_at: InstantText
    planned: ComparedDocument
    served: ComparedDocument
    forecast_p99_ms: int
    reasons: list[ReasonDocument]


class ForecastAuditDocument(TypedDict):
    """The minutes of the last hour, newest first."""

    minutes: list[AuditedMinuteDocument]
