"""`/v1/audit`: its numbers, its findings and its bounds."""

import pytest

from engine.core.audit import Finding, Tally
from engine.core.identity import format_instant

NOW_MS = 1_796_040_000_000
FLOOR_MS = NOW_MS - 7 * 86_400_000


class MemoryAudit:
    """What services/audit.py promises; it remembers what it was asked."""

    def __init__(self):
        self.asked = []

    async def history_floor_ms(self):
        return FLOOR_MS

    async def run(self, from_ms, to_ms):
        self.asked.append((from_ms, to_ms))
        lost = Finding(
            schedule_id="sch_x",
            schedule_name="report",
            first_ms=NOW_MS,
            last_ms=NOW_MS + 60_000,
            count=2,
        )
        return Tally(schedules=3, owed=20, runs=10, counted=5, pending=3, findings=(lost,))


@pytest.fixture(autouse=True)
def audit(engine):
    engine.audit = MemoryAudit()
    return engine.audit


def test_without_a_span_all_of_history_is_audited(api, audit):
    answer = api.get("/v1/audit")
    assert answer.json == {
        "from": "2026-11-23T12:00:00Z",
        "to": "2026-11-30T12:00:00Z",
        "history_floor": "2026-11-23T12:00:00Z",
        "schedules": 3,
        "owed": 20,
        "runs": 10,
        "counted": 5,
        "pending": 3,
        "unaccounted": 2,
        "findings": [
            {
                "schedule_id": "sch_x",
                "schedule_name": "report",
                "first": "2026-11-30T12:00:00Z",
                "last": "2026-11-30T12:01:00Z",
                "count": 2,
            }
        ],
    }
    assert audit.asked == [(FLOOR_MS, NOW_MS)]


def test_a_span_may_reach_into_the_future(api, audit):
    api.get("/v1/audit?from=2026-11-30T11:00:00Z&to=2026-11-30T14:00:00Z")
    assert audit.asked == [(NOW_MS - 3_600_000, NOW_MS + 7_200_000)]


@pytest.mark.parametrize(
    ("query", "parameter", "detail"),
    [
        ("from=2026-11-23T11:59:59.999Z", "from", format_instant(FLOOR_MS)),
        ("to=2026-11-23T12:00:00Z", "to", "later than from"),
        ("from=2026-11-30T12:00:00Z", "to", "later than from"),
        ("to=2026-12-01T12:00:00.001Z", "to", "not after 2026-12-01T12:00:00Z"),
        ("to=9999-12-31T23:59:59Z", "to", "not after 2026-12-01T12:00:00Z"),
        ("from=noon", "from", "is not an instant"),
        ("since=2026-11-30T12:00:00Z", "since", "unknown field"),
    ],
)
def test_a_span_that_cannot_be_audited_is_422(api, audit, query, parameter, detail):
    answer = api.get(f"/v1/audit?{query}")
    assert answer.status == 422
    assert detail in answer.faults[parameter]
    assert audit.asked == []
