"""The checker finds what it is there to find: sound evidence first, then one breach at a time."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.checker import (
    RULES,
    Evidence,
    backoff_ms,
    check,
    key_of,
    ms_of,
    offset_ms,
    owed,
    schedule_id,
    text_of,
)
from tests.end_to_end.journal import AttemptRow, Journal, RunRow
from tests.end_to_end.processes import Call, Request

VECTORS = Path(__file__).parent.parent / "vectors" / "offbeat-v1.json"

CREATED = ms_of("2026-11-30T12:00:00.400Z")
FIRST, SECOND = CREATED + 600, CREATED + 1_600
NAME = "tick"
ID = schedule_id("default", NAME)
RETRY = {"min_backoff_seconds": 1, "max_backoff_seconds": 1, "multiplier": 2}
SCHEDULE: dict[str, Any] = {
    "id": ID,
    "name": NAME,
    "every": 1,
    "phase": 0,
    "jitter_seconds": 0,
    "created_at": text_of(CREATED),
    "retry": RETRY,
}
PUT = Call(
    method="PUT", path=f"/v1/schedules/{NAME}", sent_ms=CREATED, status=201, document=SCHEDULE
)
KILL = SECOND + 300


def request(scheduled_for: int, attempt: int, wall_ms: int, **changes: Any) -> Request:
    key = key_of((ID, scheduled_for))
    headers = (
        ("Idempotency-Key", key),
        ("webhook-id", key),
        ("X-Schedule-Id", ID),
        ("X-Scheduled-For", text_of(scheduled_for)),
        ("X-Fire-After", text_of(scheduled_for)),
        ("X-Attempt", str(attempt)),
    )
    plain = Request(wall_ms, "POST", "/", headers, b"{}", 200)
    return replace(plain, **changes)


def run(scheduled_for: int, *attempts: AttemptRow, **changes: Any) -> RunRow:
    plain = RunRow(
        fire_after_ms=scheduled_for,
        state="succeeded",
        trigger="schedule",
        attempt_count=len(attempts),
        attempts=attempts,
    )
    return replace(plain, **changes)


def attempt(number: int, started_ms: int, outcome: str | None = "success") -> AttemptRow:
    ended_ms = None if outcome in (None, "crash") else started_ms + 50
    return AttemptRow(number=number, started_ms=started_ms, ended_ms=ended_ms, outcome=outcome)


# One run at the first attempt; one that was cut off by a kill and made again.
RUNS = {
    (ID, FIRST): run(FIRST, attempt(1, FIRST + 2)),
    (ID, SECOND): run(SECOND, attempt(1, SECOND + 2, "crash"), attempt(2, SECOND + 900)),
}
LEDGER = (
    request(FIRST, 1, FIRST + 3),
    request(SECOND, 1, SECOND + 4, status=None),
    request(SECOND, 2, SECOND + 901),
)
SOUND = Evidence(
    ledger=LEDGER,
    journal=Journal(runs=RUNS, counted=0, integrity="ok"),
    schedules={ID: SCHEDULE},
    until_ms=SECOND,
    calls=(PUT,),
    kills=(KILL,),
)


def with_runs(runs: dict[tuple[str, int], RunRow]) -> Evidence:
    return replace(SOUND, journal=replace(SOUND.journal, runs={**RUNS, **runs}))


def with_requests(*requests: Request) -> Evidence:
    return replace(SOUND, ledger=(*LEDGER, *requests))


STRANGER = schedule_id("default", "stranger")
FAILED = run(FIRST, attempt(1, FIRST + 2, "timeout"), attempt(2, FIRST + 153))

BREACHES = [
    ("lost", replace(SOUND, until_ms=SECOND + 1_000)),
    ("lost", with_runs({(ID, FIRST): replace(RUNS[ID, FIRST], state="retry_wait")})),
    ("lost", with_runs({(ID, FIRST): replace(RUNS[ID, FIRST], state="failed")})),
    ("lost", replace(SOUND, ledger=LEDGER[1:])),
    ("invented", with_runs({(ID, FIRST + 1): run(FIRST + 1)})),
    ("invented", with_runs({(STRANGER, FIRST): run(FIRST)})),
    ("early", replace(SOUND, ledger=(replace(LEDGER[0], wall_ms=FIRST - 1), *LEDGER[1:]))),
    ("early", with_runs({(ID, FIRST): run(FIRST, attempt(1, FIRST - 1))})),
    ("early", with_runs({(ID, FIRST): replace(RUNS[ID, FIRST], fire_after_ms=FIRST + 1)})),
    ("early", with_runs({(ID, FIRST): FAILED})),
    ("overlapping", with_runs({(ID, FIRST): replace(FAILED, attempts=FAILED.attempts[1:])})),
    (
        "overlapping",
        with_runs({(ID, FIRST): run(FIRST, FAILED.attempts[0], attempt(2, FIRST + 40))}),
    ),
    ("sent_twice", with_requests(LEDGER[0])),
    ("sent_twice", with_requests(replace(request(FIRST, 2, FIRST + 9), headers=LEDGER[2].headers))),
    ("unstable", with_requests(request(FIRST, 2, FIRST + 90, body=b"[]"))),
    ("unstable", with_requests(request(FIRST, 2, FIRST + 90, method="PUT"))),
    ("unjournaled", with_requests(request(FIRST, 2, FIRST + 90))),
    ("unjournaled", with_requests(request(FIRST + 2_000, 1, FIRST + 2_009))),
    ("unjournaled", with_runs({(ID, FIRST): run(FIRST, attempt(1, FIRST + 4))})),
    (
        "unprovoked",
        with_runs({(ID, FIRST): run(FIRST, attempt(1, FIRST + 2), attempt(2, FIRST + 5_000))}),
    ),
    ("unprovoked", replace(SOUND, kills=(KILL + 9_000,))),
    ("over_rate", replace(SOUND, rate=1, burst=1)),
    ("forgotten", replace(SOUND, calls=(replace(PUT, path="/v1/schedules/other"),))),
    ("forgotten", replace(SOUND, calls=(replace(PUT, method="DELETE", status=204),))),
    (
        "forgotten",
        replace(
            SOUND,
            calls=(
                Call(
                    method="POST",
                    path=f"/v1/schedules/{NAME}:trigger",
                    sent_ms=0,
                    status=202,
                    document={"id": "x", "scheduled_for": text_of(FIRST + 7)},
                ),
            ),
        ),
    ),
    (
        "forgotten",
        replace(
            SOUND,
            schedules={},
            calls=(replace(PUT, method="DELETE", status=204, answered_ms=FIRST),),
        ),
    ),
    (
        "misjudged",
        replace(
            with_runs({(ID, FIRST): replace(RUNS[ID, FIRST], trigger="catch_up")}),
            absences=((FIRST - 100, FIRST + 4_000),),
        ),
    ),
    ("corrupt", replace(SOUND, journal=replace(SOUND.journal, integrity="row 1 missing"))),
    ("corrupt", replace(SOUND, journal=replace(SOUND.journal, counted=1))),
]


def test_sound_evidence_has_no_fault() -> None:
    report = check(SOUND)
    assert report.faults == {}
    assert report.counts["requests"] == 3
    assert report.counts["seen twice after a crash"] == 1


def test_a_long_absence_excuses_catching_up() -> None:
    caught_up = with_runs({(ID, FIRST): replace(RUNS[ID, FIRST], trigger="catch_up")})
    assert check(replace(caught_up, absences=((FIRST - 100, FIRST + 12_000),))).faults == {}


@pytest.mark.parametrize(("invariant", "evidence"), BREACHES)
def test_a_breach_is_found(invariant: str, evidence: Evidence) -> None:
    assert invariant in check(evidence).faults


def test_every_invariant_is_broken_once_above() -> None:
    assert {name for name, _ in BREACHES} == {rule.__name__ for rule in RULES}


def test_the_second_opinion_on_identity_agrees_with_the_vectors() -> None:
    vectors = json.loads(VECTORS.read_text())
    for v in vectors["schedule_id"]:
        assert schedule_id(v["tenant"], v["name"]) == v["schedule_id"]
    for v in vectors["jitter"]:
        assert offset_ms(v["schedule_id"], v["jitter_seconds"]) == v["offset_ms"]
    for v in vectors["idempotency_key"]:
        assert key_of((v["schedule_id"], v["scheduled_for_ms"])) == v["idempotency_key"]
    for v in vectors["retry"]:
        policy = {
            "min_backoff_seconds": v["min_backoff_ms"] // 1_000,
            "max_backoff_seconds": v["max_backoff_ms"] // 1_000,
            "multiplier": v["multiplier"],
        }
        waited = backoff_ms(policy, v["idempotency_key"], v["attempt"])
        assert waited == max(100, v["delay_ms"]["full"])


def test_owed_occurrences_are_counted_by_hand() -> None:
    """Created at 12:00:00.400."""
    every_two = {**SCHEDULE, "every": 2, "phase": 1}
    cron = {"cron": "*/3 * * * * *", "created_at": SCHEDULE["created_at"]}
    noon = CREATED - 400
    assert owed(SCHEDULE, noon + 3_000) == [noon + 1_000, noon + 2_000, noon + 3_000]
    assert owed(every_two, noon + 5_999) == [noon + 1_000, noon + 3_000, noon + 5_000]
    assert owed(cron, noon + 6_000) == [noon + 3_000, noon + 6_000]
    assert owed({**cron, "at": text_of(noon + 7)}, noon + 6) == []
    assert owed({**cron, "at": text_of(noon + 7)}, noon + 7) == [noon + 7]
