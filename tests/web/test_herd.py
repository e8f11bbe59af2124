"""Forecast, what-if and advice over HTTP, their arithmetic the real one."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from engine.core.bucket_simulation import Bucket
from engine.core.errors import Unavailable
from engine.core.forecast import Forecast, foresee
from engine.core.herd_advice import Advice, advise
from engine.core.herd_document import Change, Span
from engine.core.herd_top import Top
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd, Singles, Standing, draw
from engine.core.what_if import Question, WhatIf, answer, select
from tests.web.api_client import Api
from tests.web.conftest import MemoryEngine

HERD = Crowd(
    timetable_id=1,
    trigger=IntervalTrigger(every_seconds=3600, phase_seconds=0),
    counts={second: 150 for second in range(60)},
)
BUCKET = Bucket(rate=100, burst=10)


@dataclass
class FixedForecasts:
    """What services/forecast.py promises, for a herd of 9,000 each hour."""

    asked: list[Any] = field(default_factory=list)
    refusal: Exception | None = None

    async def forecast(self, span: Span) -> tuple[Forecast, Top]:
        self.asked.append(span)
        if self.refusal is not None:
            raise self.refusal
        outlook = draw([HERD], Singles(), span.from_s, span.to_s)
        top = Top(tenants=[("default", 9)], hosts=[("a:1", 8)], timetables=[("every 3600 s", 7)])
        found = foresee(outlook, BUCKET, from_s=span.from_s)
        return replace(found, under_way={span.from_s - 20: 9_000}), top

    async def what_if(self, change: Change, span: Span) -> WhatIf:
        self.asked.append((change, span))
        selected = select([HERD], change, span.from_s, span)
        question = Question(
            change=change,
            span=span,
            start_s=span.from_s,
            standing=Standing(crowds=(HERD,)),
            deadlines={},
            selected=selected,
            changed=None if change.jitter_seconds else selected,
            bucket=BUCKET,
        )
        return answer(question)

    async def advice(self) -> Advice:
        from_s = 1_796_040_000
        outlook = draw([HERD], Singles(), from_s, from_s + 3600)
        return advise(outlook, [HERD], {}, BUCKET, from_s=from_s)


@pytest.fixture
def forecasts(engine: MemoryEngine) -> FixedForecasts:
    engine.forecasts = FixedForecasts()
    return engine.forecasts


HOUR = "from=2026-11-30T13:00:00Z&to=2026-11-30T14:00:00Z"


def test_a_forecast_has_curves_minutes_and_a_verdict(api: Api, forecasts: FixedForecasts):
    answer = api.get(f"/v1/herd/forecast?{HOUR}").json
    assert (answer["from"], answer["to"]) == ("2026-11-30T13:00:00Z", "2026-11-30T14:00:00Z")
    assert answer["curves"]["demand"]["runs"] == [9_000] + [0] * 59
    assert answer["curves"]["planned"]["peak"][0] == 150
    assert answer["curves"]["served"]["runs"][:3] == [6_000, 3_000, 0]
    assert answer["backlog"][0] == 3_000
    assert (answer["flows"], answer["flows_taken_as_unlimited"]) == ([], 0)
    assert answer["busiest"] == {"demand": 9_000, "planned": 150, "served": 100}
    [minute] = answer["minutes"]
    assert (minute["runs"], minute["limit_ms"], minute["met"]) == (9_000, 15_000, False)
    assert answer["worst_minute"] == minute
    assert (answer["verdict"], answer["minutes_missed"]) == ("alignment", 1)
    assert answer["sentence"].startswith("The objective is missed in the only minute")
    assert answer["top"]["hosts"] == [{"host": "a:1", "runs": 8}]
    assert answer["under_way"] == [{"instant": "2026-11-30T12:59:40Z", "runs": 9_000}]


def test_a_day_to_the_second_comes_whole(api: Api, forecasts: FixedForecasts):
    answer = api.get("/v1/herd/forecast?bin=1").json
    demand = answer["curves"]["demand"]["runs"]
    assert len(demand) == 86_400
    assert [second for second, runs in enumerate(demand) if runs][:2] == [3599, 7199]
    assert sum(demand) == 24 * 9_000
    # Of the last herd a second is in the span: the rate, and the burst that was saved.
    assert sum(answer["curves"]["served"]["peak"]) == 23 * 9_000 + 110


def test_by_default_the_next_day_is_forecast_by_the_minute(api: Api, forecasts: FixedForecasts):
    answer = api.get("/v1/herd/forecast").json
    assert (answer["from"], answer["bin_seconds"]) == ("2026-11-30T12:00:01Z", 60)
    assert len(answer["backlog"]) == 1_440


@pytest.mark.parametrize(
    ("query", "parameter", "says"),
    [
        ("to=2026-12-01T12:00:02Z", "to", "24 hours at most"),
        ("from=2026-11-29T12:00:00Z", "from", "write an instant to come"),
        ("bin=0", "bin", "write a whole number from 1 to 3,600"),
        ("bin=3601", "bin", "write a whole number from 1 to 3,600"),
        ("step=1", "step", "unknown field"),
    ],
)
def test_a_forecast_that_cannot_be_is_refused_with_what_can(
    api: Api, forecasts: FixedForecasts, query: str, parameter: str, says: str
):
    refusal = api.get(f"/v1/herd/forecast?{query}")
    assert (refusal.status, refusal.json["code"]) == (422, "invalid_query")
    [error] = refusal.json["errors"]
    assert error["parameter"] == parameter
    assert says in error["detail"]
    assert forecasts.asked == []


def test_too_many_forecasts_at_once_are_told_to_come_back(api: Api, forecasts: FixedForecasts):
    forecasts.refusal = Unavailable("other forecasts are being computed; try again later")
    assert api.get("/v1/herd/forecast").status == 503


def test_a_what_if_tells_both_forecasts_and_what_would_do(api: Api, forecasts: FixedForecasts):
    body = {"jitter_seconds": 90, "from": "2026-11-30T13:00:00Z", "to": "2026-11-30T14:00:00Z"}
    answer = api.post("/v1/herd/what-if", json=body).json
    assert (answer["now"]["verdict"], answer["then"]["verdict"]) == ("alignment", "met")
    assert "curves" not in answer["now"]
    assert answer["then"]["curves"]["planned"]["runs"][:2] == [6_000, 3_000]
    finer = api.post("/v1/herd/what-if", json={**body, "bin": 30}).json["then"]["curves"]
    assert finer["planned"]["runs"][:4] == [3_000, 3_000, 3_000, 0]
    assert (answer["exactness"], answer["selected_schedules"]) == ("expected", 9_000)
    assert 74 <= answer["least_jitter_seconds"] <= 76
    assert answer["least_rate"] == pytest.approx(86, abs=1)


@pytest.mark.parametrize(
    ("body", "pointer", "says"),
    [
        ({}, "", "write what to change"),
        ({"rate": 0}, "/rate", "write a whole number from 1 to 1,000,000"),
        ({"rate": -1}, "/rate", "write a whole number from 1 to 1,000,000"),
        ({"rate": 1, "to": "2027-01-01T00:00:00Z"}, "/to", "24 hours at most"),
        ({"rate": 1, "timetables": ["every 7 s"]}, "/timetables", "there are every 3600 s"),
    ],
)
def test_a_what_if_that_means_nothing_is_refused_with_what_is_allowed(
    api: Api, forecasts: FixedForecasts, body: dict[str, Any], pointer: str, says: str
):
    refusal = api.post("/v1/herd/what-if", json=body)
    assert refusal.status == 422
    [error] = refusal.json["errors"]
    assert error["pointer"] == pointer
    assert says in error["detail"]


def test_advice_names_timetables_and_their_jitter(api: Api, forecasts: FixedForecasts):
    advice = api.get("/v1/herd/advice").json
    [change] = advice["changes"]
    assert (change["timetable"], change["schedules"]) == ("every 3600 s", 9_000)
    assert (change["offsets_below_seconds"], change["jitter_seconds"]) == (60, 120)
    assert (advice["excess"] > 0, advice["excess_left"]) == (True, 0)
    assert api.get("/v1/herd/advice?days=3").status == 422
