"""The monitor over HTTP."""

from collections.abc import Sequence

import pytest

from engine.core.curves import Curves, Figures
from engine.core.forecast_audit import Changed, Digest, FrozenMinute, Happened, compare
from engine.core.herd_record import HerdRecord
from engine.core.verdict import judge
from engine.services.monitor import Sight
from tests.web.conftest import NOW_MS

RECORD = HerdRecord(
    instant_ms=NOW_MS - 3_600_000,
    seconds=60,
    runs=30_000,
    offsets=((0, 1), (60, 29_999), (None, 0)),
    timetables=(("0 * * * * (UTC)", 30_000),),
    busiest_demand=30_000,
    busiest_planned=540,
    busiest_served=540,
    amplification=1.08,
    noise_floor=1.123456,
    volume=0.4,
    verdict="flattened",
    period_seconds=None,
    sentence="It was flat.",
    advice="Nothing to do.",
    forecast=Digest(
        instant_ms=NOW_MS - 3_600_000,
        frozen_at_ms=NOW_MS - 3_610_000,
        runs=30_001,
        busiest_planned=541,
        busiest_served=541,
        p99_ms=12,
        verdict="met",
    ),
)


class MemoryMonitor:
    """`ports.Monitor` over curves that a test fills."""

    def __init__(self) -> None:
        self.curves = Curves(NOW_MS - 7_200_000)
        self.asked = 0

    def current(self) -> Sight:
        figures = self.curves.herd(NOW_MS, last_ms=NOW_MS, now_ms=NOW_MS + 60_000)
        verdict = judge(figures, rate=1_000, burst=100)
        return Sight(
            at_ms=NOW_MS + 60_000,
            figures=figures,
            verdict=verdict,
            volume=1 / 3,
            timetables=((4, 5_000),),
        )

    def last_hour(self) -> Figures:
        return self.curves.window(NOW_MS - 3_600_000, seconds=3_600, now_ms=NOW_MS)

    def by_second(self, figures: Figures) -> dict[str, list[int]]:
        return {"demand": self.curves.demand.seconds.window(figures.start_ms, 3)}

    async def named(self, timetables: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
        return [(f"timetable {timetable}", runs) for timetable, runs in timetables]

    async def records(self, limit: int) -> list[HerdRecord]:
        self.asked = limit
        return [RECORD]


@pytest.fixture
def monitor(engine) -> MemoryMonitor:
    engine.monitor = MemoryMonitor()
    return engine.monitor


def test_the_monitor_says_what_is_going_on_and_what_it_means(api, monitor):
    monitor.curves.arrive(NOW_MS - 3_600_000, NOW_MS - 3_600_000, 2_500)
    monitor.curves.arrive(NOW_MS, NOW_MS, 5_000)
    answer = api.get("/v1/herd/monitor")
    assert answer.status == 200
    assert answer.json["at"] == "2026-11-30T12:01:00Z"
    verdict = answer.json["verdict"]
    assert (verdict["name"], verdict["period_seconds"]) == ("alignment", 3_600)
    assert verdict["timetables"] == [{"timetable": "timetable 4", "runs": 5_000}]
    assert verdict["advice"] == "Give these timetables jitter_seconds = 60."
    window = answer.json["window"]
    assert (window["from"], window["seconds"]) == ("2026-11-30T12:00:00Z", 60)
    assert window["volume"] == 0.3333
    assert window["by_second"] == {"demand": [5_000, 0, 0]}
    assert answer.json["hour"]["by_second"] == {"demand": [2_500, 0, 0]}
    assert window["stages"]["planned"] == {
        "runs": 5_000,
        "busiest_second": 5_000,
        "busiest_hundredth": 5_000,
        "amplification": 60,
        "noise_floor": 1.3135,
        "alignment": {"3600": 1, "1800": 1, "900": 1, "60": 1, "30": 1, "1": 1},
    }
    assert window["stages"]["served"]["runs"] == 0
    assert answer.json["hour"]["seconds"] == 3_600


def test_records_are_listed_with_the_monitor(api, monitor):
    (record,) = api.get("/v1/herd/monitor?limit=3").json["records"]
    assert monitor.asked == 3
    assert record["instant"] == "2026-11-30T11:00:00Z"
    assert record["offsets"] == [
        {"until_seconds": 0, "runs": 1},
        {"until_seconds": 60, "runs": 29_999},
        {"until_seconds": None, "runs": 0},
    ]
    assert record["timetables"] == [{"timetable": "0 * * * * (UTC)", "runs": 30_000}]
    assert (record["verdict"], record["noise_floor"]) == ("flattened", 1.1235)
    assert record["forecast"] == {
        "frozen_at": "2026-11-30T10:59:50Z",
        "runs": 30_001,
        "busiest_planned": 541,
        "busiest_served": 541,
        "p99_ms": 12,
        "verdict": "met",
    }
    assert "instant_ms" not in record


class MemoryForecastAudit:
    """`ports.ForecastAudit` of one minute."""

    minutes = (
        compare(
            FrozenMinute(
                start_ms=NOW_MS, frozen_at_ms=NOW_MS - 10_000, planned=10, served=10, p99_ms=7
            ),
            Happened(planned=12, served=13, asked=1),
            Changed(schedules=1, names=("edited",)),
        ),
    )


def test_each_minute_is_shown_against_its_forecast_with_the_reasons(api, engine):
    engine.forecast_audit = MemoryForecastAudit()
    answer = api.get("/v1/herd/forecast-audit")
    assert answer.json["minutes"] == [
        {
            "minute": "2026-11-30T12:00:00Z",
            "frozen_at": "2026-11-30T11:59:50Z",
            "planned": {"forecast": 10, "happened": 12, "difference": 2},
            "served": {"forecast": 10, "happened": 13, "difference": 3},
            "forecast_p99_ms": 7,
            "reasons": [
                {"reason": "schedules_changed", "count": 1, "schedules": ["edited"]},
                {"reason": "manual_or_backfill", "count": 1, "schedules": []},
            ],
        }
    ]
    assert api.get("/v1/herd/forecast-audit?limit=5").status == 422


def test_a_strange_limit_is_refused_with_the_bounds(api, monitor):
    answer = api.get("/v1/herd/monitor?limit=0&window=5")
    assert answer.status == 422
    assert set(answer.faults) == {"limit", "window"}
