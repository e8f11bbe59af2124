"""The amplification monitor over HTTP: what is going on, what it means, what was recorded."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from aiohttp import web

from engine.core.amplification import StageFigures
from engine.core.curves import Figures
from engine.core.forecast_audit import AuditedMinute, Digest
from engine.core.herd_record import HerdRecord
from engine.core.identity import format_instant
from engine.web.herd_answers import TopTimetableDocument
from engine.web.json_bodies import json_response
from engine.web.monitor_answers import (
    AuditedMinuteDocument,
    ForecastAuditDocument,
    MonitorDocument,
    StageDocument,
    WindowDocument,
)
from engine.web.operations import Answer, operation
from engine.web.ports import ENGINE
from engine.web.queries import LIMIT, query_of, read_limit

RATIO_DIGITS = 4
"""Of the ratios in answers: finer than any of them means something."""


@operation(query=(LIMIT,), answers={200: Answer(MonitorDocument)})
async def get_monitor(request: web.Request) -> web.Response:
    """The current window and the last hour with their curves, the verdict, the newest records."""
    with query_of(request) as query:
        limit = read_limit(query)
    monitor = request.app[ENGINE].monitor
    sight, hour = monitor.current(), monitor.last_hour()
    verdict = sight.verdict
    return json_response(
        {
            "at": format_instant(sight.at_ms),
            "verdict": {
                "name": verdict.name,
                "period_seconds": verdict.period_seconds,
                "timetables": _shares(await monitor.named(sight.timetables)),
                "sentence": verdict.sentence,
                "advice": verdict.advice,
            },
            "window": {
                **_window_document(sight.figures),
                "volume": round(sight.volume, RATIO_DIGITS),
                "by_second": monitor.by_second(sight.figures),
            },
            "hour": {**_window_document(hour), "by_second": monitor.by_second(hour)},
            "records": list(map(record_document, await monitor.records(limit))),
        }
    )


def record_document(record: HerdRecord) -> dict[str, Any]:
    """A record as the API answers with it."""
    document = asdict(record)
    del document["instant_ms"]
    return (
        {"instant": format_instant(record.instant_ms)}
        | document
        | {
            "offsets": [{"until_seconds": until, "runs": runs} for until, runs in record.offsets],
            "timetables": _shares(record.timetables),
            "amplification": round(record.amplification, RATIO_DIGITS),
            "noise_floor": round(record.noise_floor, RATIO_DIGITS),
            "volume": round(record.volume, RATIO_DIGITS),
            "forecast": _digest_document(record.forecast) if record.forecast else None,
        }
    )


@operation(answers={200: Answer(ForecastAuditDocument)})
async def get_forecast_audit(request: web.Request) -> web.Response:
    """The minutes of the last hour, newest first: what was foretold, what happened, and why not."""
    minutes = request.app[ENGINE].forecast_audit.minutes
    return json_response({"minutes": list(map(_audited_document, minutes))})


def _audited_document(minute: AuditedMinute) -> AuditedMinuteDocument:
    frozen = minute.frozen
    return {
        "minute": format_instant(frozen.start_ms),
        "frozen_at": format_instant(frozen.frozen_at_ms),
        "planned": {
            "forecast": frozen.planned,
            "happened": minute.planned,
            "difference": minute.planned_difference,
        },
        "served": {
            "forecast": frozen.served,
            "happened": minute.served,
            "difference": minute.served_difference,
        },
        "forecast_p99_ms": frozen.p99_ms,
        "reasons": [
            {"reason": reason.cause, "count": reason.count, "schedules": list(reason.names)}
            for reason in minute.reasons
        ],
    }


def _digest_document(digest: Digest) -> dict[str, Any]:
    document = asdict(digest)
    del document["instant_ms"], document["frozen_at_ms"]
    return {"frozen_at": format_instant(digest.frozen_at_ms)} | document


def _window_document(figures: Figures) -> WindowDocument:
    return {
        "from": format_instant(figures.start_ms),
        "seconds": figures.seconds,
        "jitter_seconds": figures.jitter_seconds,
        "stages": {
            "demand": _stage_document(figures.demand),
            "planned": _stage_document(figures.planned),
            "served": _stage_document(figures.served),
        },
        "attempts": figures.attempts,
        "retries": figures.retries,
        "catch_ups": figures.catch_ups,
        "held_seconds": figures.held_seconds,
        "idle_seconds": figures.idle_seconds,
    }


def _stage_document(stage: StageFigures) -> StageDocument:
    return {
        "runs": stage.runs,
        "busiest_second": stage.busiest,
        "busiest_hundredth": stage.busiest_hundredth,
        "amplification": round(stage.amplification, RATIO_DIGITS),
        "noise_floor": round(stage.noise_floor, RATIO_DIGITS),
        "alignment": {
            str(period): round(strength, RATIO_DIGITS)
            for period, strength in stage.alignment.items()
        },
    }


def _shares(timetables: Sequence[tuple[str, int]]) -> list[TopTimetableDocument]:
    return [{"timetable": name, "runs": runs} for name, runs in timetables]
