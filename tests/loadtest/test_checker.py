"""The checker must see what it is there for: sound evidence, broken in one way at a time."""

from copy import deepcopy
from dataclasses import replace

import pytest

from loadtest.checker import bucket_excess, check
from loadtest.evidence import ACCEPTED, FORGED, WRONG_KEY, Evidence
from tests.loadtest.experiments import made


@pytest.fixture(scope="module")
def sound() -> Evidence:
    return made()


@pytest.fixture
def evidence(sound: Evidence) -> Evidence:
    return deepcopy(sound)


def faults(evidence: Evidence) -> dict[str, int]:
    _, findings = check(evidence)
    return dict(findings.counts)


def send_again(evidence: Evidence, *, attempt: int, later_ms: int = 10) -> None:
    """The first request once more, under an attempt's number."""
    first = evidence.requests.at(0)
    evidence.requests.add(first._replace(attempt=attempt, arrived_ms=first.arrived_ms + later_ms))


def drop_first_request(evidence: Evidence) -> None:
    requests = evidence.requests
    for name in requests.__slots__:
        getattr(requests, name).pop(0)


def test_sound_evidence_has_no_faults_and_every_run(evidence):
    joined, findings = check(evidence)
    assert findings.counts == {}
    assert len(joined.arrived_ms) == 200
    assert min(joined.arrived_ms) > 0


def test_a_success_that_nobody_received_is_lost(evidence):
    drop_first_request(evidence)
    assert faults(evidence) == {"lost": 1}


def test_a_run_that_the_journal_does_not_have_is_lost_and_its_request_unjournaled(evidence):
    evidence.runs.schedule[0] = 199 if evidence.runs.schedule[0] != 199 else 198
    assert faults(evidence)["lost"] == 1
    assert faults(evidence)["unjournaled"] == 1


def test_an_occurrence_inside_a_counted_span_is_not_lost(evidence):
    first, instant = evidence.requests.at(0), evidence.experiment.from_ms
    drop_first_request(evidence)
    place = list(evidence.runs.schedule).index(first.schedule)
    for name in ("scheduled_for_ms", "schedule", "fire_after_ms", "disposition", "attempts"):
        getattr(evidence.runs, name).pop(place)
    assert faults(evidence) == {"lost": 1}
    assert faults(replace(evidence, counted={first.schedule: [(instant, instant + 1)]})) == {
        "lost": 1
    }
    assert faults(replace(evidence, counted={first.schedule: [(instant - 1, instant)]})) == {}


def test_a_run_that_a_policy_skipped_is_not_lost(evidence):
    first = evidence.requests.at(0)
    drop_first_request(evidence)
    place = list(evidence.runs.schedule).index(first.schedule)
    evidence.runs.dispositions.append(("skipped", "catch_up", "schedule"))
    evidence.runs.disposition[place] = len(evidence.runs.dispositions) - 1
    assert faults(evidence) == {}


def test_a_retry_that_is_overdue_at_the_end_is_lost_and_one_to_come_is_not(evidence):
    evidence.runs.dispositions.append(("retry_wait", None, "schedule"))
    evidence.runs.disposition[0] = len(evidence.runs.dispositions) - 1
    evidence.runs.next_ms[0] = evidence.ended_ms + 1
    assert faults(evidence) == {}
    evidence.runs.next_ms[0] = evidence.ended_ms
    assert faults(evidence) == {"lost": 1}


@pytest.mark.parametrize(("failures", "found"), [(10, {}), (9, {"lost": 1})])
def test_an_overdue_retry_waits_when_its_receivers_breaker_may_be_open(evidence, failures, found):
    evidence.ended_ms += 10_000
    evidence.runs.dispositions.append(("retry_wait", None, "schedule"))
    evidence.runs.disposition[0] = len(evidence.runs.dispositions) - 1
    evidence.runs.next_ms[0] = evidence.ended_ms
    for place in range(200 - failures, 200):
        evidence.requests.flags[place] &= ~ACCEPTED
        run = list(evidence.runs.schedule).index(evidence.requests.schedule[place])
        evidence.runs.disposition[run] = evidence.runs.disposition[0]
        evidence.runs.next_ms[run] = evidence.ended_ms + 1
    _, findings = check(evidence)
    assert (findings.counts, findings.waiting) == (found, failures + 1 - len(found))


@pytest.mark.parametrize(("later_ms", "found"), [(0, {}), (1, {"lost": 1})])
def test_an_attempt_under_way_at_the_end_is_lost_only_when_it_should_have_ended(
    evidence, later_ms, found
):
    last = evidence.requests.at(199)
    evidence.runs.dispositions.append(("attempting", None, "schedule"))
    place = list(evidence.runs.schedule).index(last.schedule)
    evidence.runs.disposition[place] = len(evidence.runs.dispositions) - 1
    assert faults(replace(evidence, ended_ms=last.arrived_ms + 2_000 + later_ms)) == found


def test_a_request_before_its_time_is_early(evidence):
    evidence.requests.arrived_ms[0] = evidence.requests.fire_after_ms[0] - 1
    assert faults(evidence) == {"early": 1}


def test_two_clocks_are_given_their_grain(evidence):
    evidence = replace(evidence, grain_ms=2)
    evidence.requests.arrived_ms[0] = evidence.requests.fire_after_ms[0] - 2
    assert faults(evidence) == {}


def test_a_wrong_offset_is_misplaced_wherever_it_stands(evidence):
    evidence.runs.fire_after_ms[0] += 1
    evidence.requests.fire_after_ms[0] -= 1
    assert faults(evidence) == {"misplaced": 2}


def test_an_attempt_that_arrives_twice_is_a_duplicate(evidence):
    send_again(evidence, attempt=1)
    assert faults(evidence) == {"duplicate": 1, "needless": 1}


def test_a_further_attempt_after_a_success_is_needless(evidence):
    evidence.runs.attempts[list(evidence.runs.schedule).index(evidence.requests.schedule[0])] = 2
    send_again(evidence, attempt=2)
    assert faults(evidence) == {"needless": 1}


def test_a_further_attempt_after_a_failure_is_not(evidence):
    evidence.runs.attempts[list(evidence.runs.schedule).index(evidence.requests.schedule[0])] = 2
    send_again(evidence, attempt=2)
    evidence.requests.flags[0] &= ~ACCEPTED
    assert faults(evidence) == {}


def test_a_crash_explains_a_second_request_only_when_it_came_just_after_the_first(evidence):
    evidence.runs.attempts[list(evidence.runs.schedule).index(evidence.requests.schedule[0])] = 2
    send_again(evidence, attempt=2)
    arrived_ms = evidence.requests.arrived_ms[0]
    assert faults(replace(evidence, killed_ms=[arrived_ms + 50])) == {}
    assert faults(replace(evidence, killed_ms=[arrived_ms + 60_000])) == {"needless": 1}


def test_an_attempt_that_the_journal_does_not_know_is_unjournaled(evidence):
    evidence.requests.attempt[0] = 2
    assert faults(evidence) == {"unjournaled": 1}


@pytest.mark.parametrize(("flag", "kind"), [(FORGED, "forged"), (WRONG_KEY, "wrong_key")])
def test_bad_signatures_and_keys_are_counted(evidence, flag, kind):
    evidence.requests.flags[0] |= flag
    assert faults(evidence) == {kind: 1}


def test_an_occurrence_that_nobody_owes_is_invented(evidence):
    evidence.runs.add(
        evidence.runs.at(0)._replace(scheduled_for_ms=evidence.experiment.from_ms + 60_000)
    )
    assert faults(evidence)["invented"] == 1


def test_what_passes_the_bucket_is_bounded_over_every_window(evidence):
    starts = evidence.starts_ms
    crowd = 40
    for _ in range(crowd):
        starts.insert(0, starts[0])
    assert faults(evidence)["over_rate"] > 0


@pytest.mark.parametrize(
    ("starts_ms", "excess"),
    [
        ([0] * 10, 0),
        ([0] * 11, 1),
        ([0] * 10 + [9], 1),
        ([0] * 10 + [10], 0),
        ([0, 1_000] + [1_500] * 12, 2),
        ([0] * 10 + [100] * 10, 0),
        ([0] * 10 + [100] * 11, 1),
        ([], 0),
    ],
)
def test_the_excess_is_that_of_the_worst_window(starts_ms, excess):
    assert bucket_excess(starts_ms, rate=100, burst=10, grain_ms=0) == excess
