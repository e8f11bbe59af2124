"""`/v1/herd/attribution` and a run's own: documents and bounds."""

import pytest

from engine.core.attribution import Attribution
from engine.core.delay_shares import Shares, Tally
from engine.core.errors import Unavailable
from engine.core.identity import format_instant, schedule_id
from engine.core.model import Attempt, Outcome, State, Timing
from tests.web.api_client import Api
from tests.web.conftest import NOW_MS, MemoryEngine, planned

NOTHING = Attribution(*[0] * len(Attribution._fields))


class MemoryAttributions:
    """What services/attribution.py promises, for one run; it remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.refusal: Exception | None = None

    async def shares(self, from_ms: int, to_ms: int) -> Shares:
        if self.refusal is not None:
            raise self.refusal
        self.asked.append((from_ms, to_ms))
        tally = Tally()
        tally.add(NOTHING._replace(jitter=600, bucket=300, body=100))
        return tally.shares(complete=False)


@pytest.fixture(autouse=True)
def attributions(engine: MemoryEngine) -> MemoryAttributions:
    engine.attributions = MemoryAttributions()
    return engine.attributions


def test_by_default_it_is_the_last_hours(api: Api, attributions: MemoryAttributions):
    answer = api.get("/v1/herd/attribution").json
    assert attributions.asked == [(NOW_MS - 3_600_000, NOW_MS)]
    assert (answer["from"], answer["to"]) == ("2026-11-30T11:00:00Z", "2026-11-30T12:00:00Z")
    assert (answer["runs"], answer["complete"], answer["total_ms"]) == (1, False, 1_000)
    assert answer["objective_ms"] == 15_000
    assert answer["lateness"] == {"sum_ms": 300, "p50_ms": 300, "p99_ms": 300}
    assert "The largest eater is bucket" in answer["sentence"]
    assert [each["name"] for each in answer["components"]] == list(Attribution._fields)
    by_name = {each.pop("name"): each for each in answer["components"]}
    figures = {"sum_ms": 600, "p50_ms": 600, "p99_ms": 600}
    assert by_name["jitter"] == {"ate_objective": False, "share": 0.6, **figures}
    assert by_name["bucket"]["ate_objective"] is True


def test_a_span_may_be_given_by_either_end(api: Api, attributions: MemoryAttributions):
    api.get("/v1/herd/attribution?from=2026-11-30T11:30:00Z")
    api.get("/v1/herd/attribution?from=2026-11-20T00:00:00Z")
    api.get("/v1/herd/attribution?to=2026-11-30T11:00:00Z")
    assert [(format_instant(low), format_instant(high)) for low, high in attributions.asked] == [
        ("2026-11-30T11:30:00Z", "2026-11-30T12:00:00Z"),
        ("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"),
        ("2026-11-30T10:00:00Z", "2026-11-30T11:00:00Z"),
    ]


@pytest.mark.parametrize(
    ("query", "parameter", "says"),
    [
        ("from=2026-11-30T12:00:00Z", "from", "write an instant that is past"),
        ("from=2026-11-28T12:00:00Z&to=2026-11-30T12:00:00Z", "to", "24 hours at most"),
        (
            "from=2026-11-30T11:00:00Z&to=2026-11-30T11:00:00Z",
            "to",
            "write an instant after 2026-11-30T11:00:00Z and not after 2026-12-01T11:00:00Z",
        ),
        ("from=noon", "from", "is not an instant"),
        ("span=1h", "span", "unknown"),
    ],
)
def test_a_span_that_cannot_be_is_refused_with_what_can(
    api: Api, query: str, parameter: str, says: str
):
    refusal = api.get(f"/v1/herd/attribution?{query}")
    assert (refusal.status, refusal.json["code"]) == (422, "invalid_query")
    assert says in refusal.faults[parameter]


def test_while_another_one_runs_it_is_refused_for_now(api: Api, attributions: MemoryAttributions):
    attributions.refusal = Unavailable("another attribution is running")
    assert api.get("/v1/herd/attribution").status == 503


def test_a_run_says_where_its_time_went(api: Api, engine: MemoryEngine):
    run = planned("x", NOW_MS, fire_after_ms=NOW_MS + 2_000, state=State.SUCCEEDED)
    timing = Timing(waited_ms=500, bucket_ms=300, journal_ms=4, connect_ms=10, first_byte_ms=90)
    outcome = Outcome(name="success", status=200)
    attempt = Attempt(
        number=1,
        started_at_ms=NOW_MS + 2_500,
        ended_at_ms=NOW_MS + 2_600,
        outcome=outcome,
        timing=timing,
    )
    engine.runs.rows.append((run, [attempt]))
    engine.runs.rows.append((planned("y", NOW_MS), []))
    identity = f"{schedule_id('default', 'x')}@2026-11-30T12:00:00Z"
    assert api.get(f"/v1/runs/{identity}").json["attribution"] == {
        "total_ms": 2_600,
        "jitter_ms": 2_000,
        "planning_ms": 0,
        "held_ms": 0,
        "queue_ms": 196,
        "bucket_ms": 300,
        "flow_ms": 0,
        "journal_ms": 4,
        "retry_ms": 0,
        "connect_ms": 10,
        "first_byte_ms": 80,
        "body_ms": 10,
    }
    waiting = f"{schedule_id('default', 'y')}@2026-11-30T12:00:00Z"
    assert api.get(f"/v1/runs/{waiting}").json["attribution"] is None
