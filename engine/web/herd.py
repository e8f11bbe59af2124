"""`/v1/herd`: what will fire, what would fire if, and what to change."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from engine.core.flow_limits import SCALE
from engine.core.forecast import Forecast, Held, Minute
from engine.core.forecast_words import judge, label
from engine.core.herd_advice import Advice
from engine.core.herd_document import BIN, FROM, TO, WHAT_IF, read_span, read_what_if
from engine.core.herd_top import Top
from engine.core.identity import format_instant
from engine.core.json_text import compact_json
from engine.core.what_if import WhatIf
from engine.web.herd_answers import (
    AdviceDocument,
    CurveDocument,
    ForecastCurvesDocument,
    ForecastDocument,
    ForecastSummaryDocument,
    HeldDocument,
    MinuteDocument,
    TopDocument,
    WhatIfDocument,
)
from engine.web.json_bodies import json_response, read_json
from engine.web.operations import Answer, Body, operation
from engine.web.ports import ENGINE, forecasts_of
from engine.web.queries import query_of

RENDERED_AT_ONCE = 1_000
"""Numbers, or minutes, made into text while the interpreter is held: a millisecond's worth."""


@operation(query=(FROM, TO, BIN), answers={200: Answer(ForecastDocument)})
async def get_forecast(request: web.Request) -> web.Response:
    """Demand, planned and served by `bin` seconds, each minute's delays, and the verdict.

    `expiring`: planned runs, at least, whose deadline goes by before their turn: they are not
    served, and no minute counts them. A what-if lets everybody wait. `under_way`: the largest
    herds before the span of which runs are still to come, each with all of its runs.
    """
    engine = request.app[ENGINE]
    with query_of(request) as query:
        span = read_span(query, engine.clock.now_ms())
        bin_s = query.integer(BIN)
    forecast, top = await forecasts_of(request).forecast(span)
    return await _answer(
        {
            **_forecast(forecast, bin_s),
            "expiring": forecast.expiring,
            "under_way": [
                {"instant": format_instant(second * 1000), "runs": runs}
                for second, runs in sorted(forecast.under_way.items())
            ],
            "top": _top(top),
        }
    )


@operation(body=Body(shape=WHAT_IF, required=True), answers={200: Answer(WhatIfDocument)})
async def post_what_if(request: web.Request) -> web.Response:
    """The forecast with other jitter, rate, burst, or more schedules; and the least that do."""
    engine = request.app[ENGINE]
    change, span, bin_s = read_what_if(await read_json(request), engine.clock.now_ms())
    return await _answer(_what_if(await forecasts_of(request).what_if(change, span), bin_s))


@operation(answers={200: Answer(AdviceDocument)})
async def get_advice(request: web.Request) -> web.Response:
    """The few changes of jitter that buy the most over the next day."""
    return json_response(_advice(await forecasts_of(request).advice()))


def _forecast(forecast: Forecast, bin_s: int) -> ForecastCurvesDocument:
    """Each curve has the runs of a bin and those of its busiest second."""
    return {
        **_summary(forecast),
        "bin_seconds": bin_s,
        "curves": {
            "demand": _curve(forecast.demand, bin_s),
            "planned": _curve(forecast.planned, bin_s),
            "served": _curve(forecast.served, bin_s),
        },
        "backlog": _by_bin(forecast.backlog, bin_s, max),
        "minutes": [_minute(minute) for minute in forecast.minutes],
        "flows": [_held(held) for held in forecast.held],
    }


def _summary(forecast: Forecast) -> ForecastSummaryDocument:
    verdict = judge(forecast)
    return {
        "from": format_instant(forecast.start_s * 1000),
        "to": format_instant((forecast.start_s + len(forecast.planned)) * 1000),
        "rate": forecast.bucket.rate,
        "burst": forecast.bucket.burst,
        "verdict": verdict.name,
        "sentence": verdict.sentence,
        "advice": verdict.advice,
        "runs": sum(forecast.planned),
        "busiest": {
            "demand": max(forecast.demand),
            "planned": max(forecast.planned),
            "served": max(forecast.served),
        },
        "minutes_with_runs": len(forecast.minutes),
        "minutes_missed": forecast.missed,
        "worst_minute": None if forecast.worst is None else _minute(forecast.worst),
        "flows_taken_as_unlimited": forecast.unlimited,
    }


def _minute(minute: Minute) -> MinuteDocument:
    return {
        "start": format_instant(minute.start_s * 1000),
        "runs": minute.runs,
        "p50_ms": minute.delays.p50_ms,
        "p99_ms": minute.delays.p99_ms,
        "limit_ms": minute.limit_ms,
        "met": minute.met,
    }


def _held(held: Held) -> HeldDocument:
    """A flow that a limit of its own holds back."""
    limit = held.limit
    return {
        "tenant": limit.tenant,
        "flow": limit.key,
        "limited_by": limit.cause,
        "rate": limit.millirate / SCALE,
        "runs": held.planned,
        "waiting_most": held.waiting,
        "longest_wait_ms": held.longest_wait_ms if limit.millirate else None,
    }


def _top(top: Top) -> TopDocument:
    return {
        "tenants": [{"tenant": name, "runs": runs} for name, runs in top.tenants],
        "hosts": [{"host": name, "runs": runs} for name, runs in top.hosts],
        "timetables": [{"timetable": name, "runs": runs} for name, runs in top.timetables],
    }


def _what_if(answer: WhatIf, bin_s: int) -> WhatIfDocument:
    return {
        "exactness": answer.exactness,
        "selected_schedules": answer.selected_schedules,
        "least_jitter_seconds": answer.least_jitter_seconds,
        "least_rate": answer.least_rate,
        "now": _summary(answer.now),
        "then": _forecast(answer.then, bin_s),
    }


def _advice(advice: Advice) -> AdviceDocument:
    """`excess` is run-milliseconds beyond the objective."""
    return {
        "excess": advice.excess,
        "excess_left": advice.excess_left,
        "changes": [
            {
                "timetable": label(change.crowd.trigger),
                "schedules": change.crowd.schedules,
                "offsets_below_seconds": change.now_seconds,
                "jitter_seconds": change.jitter_seconds,
                "excess_left": change.excess,
            }
            for change in advice.changes
        ],
    }


def _curve(curve: Sequence[int], bin_s: int) -> CurveDocument:
    return {"runs": _by_bin(curve, bin_s, sum), "peak": _by_bin(curve, bin_s, max)}


def _by_bin(curve: Sequence[int], bin_s: int, combine: Any) -> Sequence[int]:
    if bin_s == 1:
        return curve
    return [combine(curve[place : place + bin_s]) for place in range(0, len(curve), bin_s)]


async def _answer(document: Mapping[str, Any]) -> web.Response:
    """A day at one second is a megabyte of numbers: it is made beside the loop, piece by piece."""
    body = await asyncio.to_thread(lambda: b"".join(_render(document)))
    return web.Response(body=body, content_type="application/json")


def _render(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        yield b"{"
        for place, (name, member) in enumerate(value.items()):
            yield (b"," if place else b"") + compact_json(name) + b":"
            yield from _render(member)
        yield b"}"
    elif isinstance(value, list) and len(value) > RENDERED_AT_ONCE:
        yield b"["
        for place in range(0, len(value), RENDERED_AT_ONCE):
            piece = compact_json(value[place : place + RENDERED_AT_ONCE])
            yield (b"," if place else b"") + piece[1:-1]
        yield b"]"
    else:
        yield compact_json(value)
