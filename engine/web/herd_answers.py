"""Forecast, what-if and advice as the API answers with them."""

from collections.abc import Sequence
from typing import TypedDict

from engine.core.forecast_words import VerdictName
from engine.core.members import InstantText
from engine.core.what_if import Exactness


class MinuteDocument(TypedDict):
    """The delays of the runs that fall due within a minute, and whether the objective is met."""

    start: InstantText
    runs: int
    p50_ms: int
    p99_ms: int
    limit_ms: int
    met: bool


class BusiestDocument(TypedDict):
    """Runs of the busiest second."""

    demand: int
    planned: int
    served: int


class CurveDocument(TypedDict):
    """By bin: its runs, and those of its busiest second."""

    runs: Sequence[int]
    peak: Sequence[int]


class CurvesDocument(TypedDict):
    """Demand by `scheduled_for`, planned by `fire_after`, served through bucket and limits."""

    demand: CurveDocument
    planned: CurveDocument
    served: CurveDocument


class HeldDocument(TypedDict):
    """A flow that a limit of its own holds back; `longest_wait_ms` null: it does not move."""

    tenant: str
    flow: str
    limited_by: str
    rate: float
    runs: int
    waiting_most: int
    longest_wait_ms: int | None


class TopTenantDocument(TypedDict):
    tenant: str
    runs: int


class TopHostDocument(TypedDict):
    host: str
    runs: int


class TopTimetableDocument(TypedDict):
    timetable: str
    runs: int


class TopDocument(TypedDict):
    """Who brings the most runs."""

    tenants: list[TopTenantDocument]
    hosts: list[TopHostDocument]
    timetables: list[TopTimetableDocument]


ForecastSummaryDocument = TypedDict(
    "ForecastSummaryDocument",
    {
        "from": InstantText,
        "to": InstantText,
        "rate": int,
        "burst": int,
        "verdict": VerdictName,
        "sentence": str,
        "advice": str,
        "runs": int,
        "busiest": BusiestDocument,
        "minutes_with_runs": int,
        "minutes_missed": int,
        "worst_minute": MinuteDocument | None,
        "flows_taken_as_unlimited": int,
    },
)


class ForecastCurvesDocument(ForecastSummaryDocument):
    """What fires, by bins of `bin_seconds`."""

    bin_seconds: int
    curves: CurvesDocument
    backlog: Sequence[int]
    minutes: list[MinuteDocument]
    flows: list[HeldDocument]


class HerdUnderWayDocument(TypedDict):
    """All runs of an instant that is past, of which some are still to come."""

    instant: InstantText
    runs: int


class ForecastDocument(ForecastCurvesDocument):
    """What will fire, and who brings it; `expiring` of it end without an attempt, at least."""

    expiring: int
    under_way: list[HerdUnderWayDocument]
    top: TopDocument


class WhatIfDocument(TypedDict):
    """The forecast as it is and as it would be, and the least jitter and rate that would do."""

    exactness: Exactness
    selected_schedules: int
    least_jitter_seconds: int | None
    least_rate: int | None
    now: ForecastSummaryDocument
    then: ForecastCurvesDocument


class AdvisedChangeDocument(TypedDict):
    """Another jitter for the schedules of a timetable, and what it leaves."""

    timetable: str
    schedules: int
    offsets_below_seconds: int
    jitter_seconds: int
    excess_left: int


class AdviceDocument(TypedDict):
    """Changes in order of what they buy; excess is run-milliseconds beyond the objective."""

    excess: int
    excess_left: int
    changes: list[AdvisedChangeDocument]
