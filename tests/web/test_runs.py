"""`/v1/runs`: the journal over HTTP."""

from dataclasses import replace

import pytest

from engine.core.errors import Counted
from engine.core.identity import idempotency_key
from engine.core.model import Attempt, CountedRange, Outcome, State

NOW_MS = 1_796_040_000_000
HOUR_MS = 3_600_000
REPORT = "sch_si9ka8a42n538os9a9or3pkki4"


@pytest.fixture
def journal(api, engine):
    """Three hourly runs of `report` and one of `other`, at 12:00, 13:00, 14:00 and 13:00."""
    api.put("report", {"cron": "0 * * * *", "target": {"url": "http://h/"}})
    run = api.post("/v1/schedules/report:trigger") and engine.runs.rows.pop()[0]
    report = replace(run, scheduled_for_ms=NOW_MS, fire_after_ms=NOW_MS + 18_030)
    done = replace(report, state=State.SUCCEEDED, next_attempt_at_ms=None, attempt_count=2)
    later = [replace(report, scheduled_for_ms=NOW_MS + hour * HOUR_MS) for hour in (1, 2)]
    other = replace(later[0], schedule_id="sch_unlike", schedule_name="other", state=State.FAILED)
    engine.runs.rows[:] = [(done, ATTEMPTS), *((run, []) for run in (*later, other))]
    return engine.runs


ATTEMPTS = [
    Attempt(
        number=1,
        started_at_ms=NOW_MS + 18_030,
        ended_at_ms=NOW_MS + 18_040,
        outcome=Outcome(
            name="http_error",
            status=503,
            error="503 Service Unavailable",
            response="grü".encode()[:-1],
            response_cut=True,
        ),
    ),
    Attempt(
        number=2,
        started_at_ms=NOW_MS + 25_000,
        ended_at_ms=NOW_MS + 25_010,
        outcome=Outcome(name="success", status=200, response=b"\xff\x00"),
    ),
    Attempt(number=3, started_at_ms=NOW_MS + 30_000, ended_at_ms=None, outcome=None),
]


def starts(answer):
    return [(run["schedule_name"], run["scheduled_for"][11:16]) for run in answer.json["data"]]


def test_runs_are_listed_newest_first(api, journal):
    assert starts(api.get("/v1/runs")) == [
        ("report", "14:00"),
        ("other", "13:00"),
        ("report", "13:00"),
        ("report", "12:00"),
    ]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("schedule=report", ["14:00", "13:00", "12:00"]),
        (f"schedule={REPORT}", ["14:00", "13:00", "12:00"]),
        ("schedule=nothing", []),
        ("state=failed", ["13:00"]),
        ("from=2026-11-30T13:00:00Z&to=2026-11-30T14:00:00Z", ["13:00", "13:00"]),
        ("from=2026-11-30T15:00:00%2B01:00&schedule=report", ["14:00"]),
    ],
)
def test_runs_are_selected(api, journal, query, found):
    assert [instant for _, instant in starts(api.get(f"/v1/runs?{query}"))] == found


def test_pages_of_runs_follow_each_other(api, journal):
    seen, path = [], "/v1/runs?limit=1"
    while path:
        answer = api.get(path)
        seen += starts(answer)
        cursor = answer.json["next_cursor"]
        path = cursor and f"/v1/runs?limit=1&cursor={cursor}"
    assert seen == starts(api.get("/v1/runs"))


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("state=done", "state"),
        ("state=5", "state"),
        ("from=yesterday", "from"),
        ("from=2026-11-30T12:00:00+01:00", "from"),  # A plus sign is a space in a query.
        ("schedule=" + "a" * 200, "schedule"),
        ("schedule=a%00", "schedule"),
        ("cursor=InJlcG9ydCI", "cursor"),
        ("cursor=WzEuNSwyXQ", "cursor"),
        ("cursor=WzEsMl0", "cursor"),
        ("name=report", "name"),
    ],
)
def test_a_query_that_is_not_understood_is_refused(api, query, parameter):
    answer = api.get(f"/v1/runs?{query}")
    assert answer.status == 422
    assert list(answer.faults) == [parameter]


def test_a_run_is_shown_with_its_attempts(api, journal):
    run = api.get(f"/v1/runs/{REPORT}@2026-11-30T12:00:00Z").json
    assert run["id"] == f"{REPORT}@2026-11-30T12:00:00Z"
    assert run["fire_after"] == "2026-11-30T12:00:18.030Z"
    assert run["state"] == "succeeded"
    assert run["idempotency_key"] == idempotency_key(REPORT, NOW_MS)
    assert run["target"]["url"] == "http://h/then", "its own, and not what the schedule has now"
    first, second, third = run["attempts"]
    assert first == {
        "number": 1,
        "started_at": "2026-11-30T12:00:18.030Z",
        "ended_at": "2026-11-30T12:00:18.040Z",
        "outcome": "http_error",
        "status": 503,
        "error": "503 Service Unavailable",
        "response_cut": True,
        "response": "gr",
    }
    assert second["response_base64"] == "/wA="
    assert (third["outcome"], third["ended_at"]) == (None, None)


def test_an_occurrence_that_was_counted_says_where(api, engine):
    engine.runs.refusal = Counted(
        CountedRange(
            reason="paused",
            after_ms=NOW_MS,
            until_ms=NOW_MS + HOUR_MS,
            count=1_200,
            decided_at_ms=None,
        )
    )
    problem = api.get(f"/v1/runs/{REPORT}@2026-11-30T12:30:00Z").problem
    assert (problem["status"], problem["code"]) == (404, "not_found")
    assert "the schedule was paused (1,200 in all after 2026" in problem["detail"]
    assert problem["counted"] == {
        "reason": "paused",
        "after": "2026-11-30T12:00:00Z",
        "until": "2026-11-30T13:00:00Z",
        "count": 1_200,
        "decided_at": None,
    }


@pytest.mark.parametrize(
    "identity", ["x", "sch_x@", f"{REPORT}@2026-11-30T12:00:01Z", f"{REPORT}@noon", "@", "%00@%FF"]
)
def test_a_run_that_does_not_exist_is_not_found(api, journal, identity):
    assert api.get(f"/v1/runs/{identity}").problem["code"] == "not_found"


@pytest.mark.parametrize(
    ("state", "action", "answers"),
    [
        (State.PLANNED, "cancel", (200, "cancelled")),
        (State.RETRY_WAIT, "cancel", (200, "cancelled")),
        (State.ATTEMPTING, "cancel", (202, "attempting")),
        (State.SUCCEEDED, "cancel", (409, "run_succeeded")),
        (State.SUCCEEDED, "replay", (202, "retry_wait")),
        (State.FAILED, "replay", (202, "retry_wait")),
        (State.ATTEMPTING, "replay", (409, "run_attempting")),
        (State.CANCELLED, "replay", (409, "run_cancelled")),
    ],
)
def test_a_run_is_cancelled_or_replayed_or_its_state_says_why_not(
    api, journal, state, action, answers
):
    run, attempts = journal.rows[0]
    journal.rows[0] = (replace(run, state=state), attempts)
    answer = api.post(f"/v1/runs/{REPORT}@2026-11-30T12:00:00Z:{action}")
    assert (answer.status, answer.json.get("code", answer.json.get("state"))) == answers


@pytest.mark.parametrize("action", ["cancel", "replay"])
def test_what_is_asked_of_a_run_stands_in_the_address_alone(api, journal, action):
    path = f"/v1/runs/{REPORT}@2026-11-30T14:00:00Z:{action}"
    assert list(api.post(path, json={"force": True}).faults) == ["/force"]
    assert api.post(f"/v1/runs/nothing@noon:{action}").problem["code"] == "not_found"
