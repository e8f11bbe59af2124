"""A forecast held against what happened, minute by minute (SPEC §9), and what is kept of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.core.forecast import MINUTE_SECONDS, Forecast
from engine.core.forecast_words import judge
from engine.core.model import Unserved

Cause = Literal[
    "schedules_changed", "downtime", "manual_or_backfill", "catch_up", "retries", Unserved
]
"""Why a minute went otherwise. `schedules_changed`: since the forecast was frozen; `downtime`: the
engine did not run, was suspended, or its clock jumped; the next three are attempts beside the plan,
and `Unserved` are runs that ended without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What was foretold of a full hour's herd, in runs a second and ms."""

    instant_ms: int
    frozen_at_ms: int
    runs: int
    busiest_planned: int
    busiest_served: int
    p99_ms: int
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenMinute:
    """What was foretold of a minute; `p99_ms` of the runs planned for it."""

    start_ms: int
    frozen_at_ms: int
    planned: int
    served: int
    p99_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """A minute as the monitor counted it. `asked` are attempts that somebody asked for, manual
    ones and backfill; `late`: whether the engine saw the minute's end in time; `unserved`: runs
    that ended in it without an attempt."""

    planned: int
    served: int
    asked: int = 0
    catch_ups: int = 0
    retries: int = 0
    late: bool = False
    unserved: Mapping[Cause, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Schedules written since an instant: how many, and the names of some."""

    schedules: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A cause, how many schedules, attempts or runs it is, and the names of some schedules."""

    cause: Cause
    count: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedMinute:
    """What was foretold of a minute, what happened, and why they differ, where that is known."""

    frozen: FrozenMinute
    planned: int
    served: int
    reasons: tuple[Reason, ...]

    @property
    def planned_difference(self) -> int:
        return self.planned - self.frozen.planned

    @property
    def served_difference(self) -> int:
        return self.served - self.frozen.served


def freeze(forecast: Forecast, *, minutes: int, frozen_at_ms: int) -> list[FrozenMinute]:
    """The first `minutes` of a forecast that begins with a full minute."""
    p99_ms = {minute.start_s: minute.delays.p99_ms for minute in forecast.minutes}
    found = []
    for first in range(0, minutes * MINUTE_SECONDS, MINUTE_SECONDS):
        start_s, last = forecast.start_s + first, first + MINUTE_SECONDS
        found.append(
            FrozenMinute(
                start_ms=start_s * 1_000,
                frozen_at_ms=frozen_at_ms,
                planned=sum(forecast.planned[first:last]),
                served=sum(forecast.served[first:last]),
                p99_ms=p99_ms.get(start_s, 0),
            )
        )
    return found


def digest(forecast: Forecast, *, frozen_at_ms: int) -> Digest:
    """Of a forecast that begins with the hour and reaches as far as its herd may be spread."""
    worst = forecast.worst
    return Digest(
        instant_ms=forecast.start_s * 1_000,
        frozen_at_ms=frozen_at_ms,
        runs=sum(forecast.planned),
        busiest_planned=max(forecast.planned),
        busiest_served=max(forecast.served),
        p99_ms=worst.delays.p99_ms if worst else 0,
        verdict=judge(forecast).name,
    )


def compare(frozen: FrozenMinute, happened: Happened, changed: Changed) -> AuditedMinute:
    """The reasons are named where there is a difference to explain."""
    audited = AuditedMinute(
        frozen=frozen, planned=happened.planned, served=happened.served, reasons=()
    )
    if not audited.planned_difference and not audited.served_difference:
        return audited
    counts: dict[Cause, int] = {
        "schedules_changed": changed.schedules,
        "downtime": happened.late,
        "manual_or_backfill": happened.asked,
        "catch_up": happened.catch_ups,
        "retries": happened.retries,
        **happened.unserved,
    }
    reasons = (
        Reason(cause=cause, count=count, names=changed.names if changed.schedules else ())
        if cause == "schedules_changed"
        else Reason(cause=cause, count=count)
        for cause, count in counts.items()
        if count
    )
    return AuditedMinute(
        frozen=frozen,
        planned=happened.planned,
        served=happened.served,
        reasons=tuple(reasons),
    )
