"""What a receiver is told of a delivery, and what it can compute without asking the engine."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.document import read_schedule, write_schedule
from engine.core.identity import (
    Signer,
    derive_secret,
    format_instant,
    idempotency_key,
    parse_instant,
    schedule_id,
)
from engine.core.request import attempt_headers
from engine.core.timetable import compile_trigger
from engine.receiver import (
    HeaderMissing,
    NotGenuine,
    Stale,
    WrongSignature,
    expected_keys,
    verify,
)
from tests.simulation.world import World, put, simulate

ENGINE = Path(__file__).parents[1] / "engine"
OLD, NEW = derive_secret(b"m" * 32, "acme", 1), derive_secret(b"m" * 32, "acme", 2)
ID = schedule_id("acme", "nightly")
PLANNED_MS = parse_instant("2026-11-30T12:00:00Z")
SENT_S = 1_796_040_060
BODY = b'{"n":1}'


def delivery(**changes: Any) -> dict[str, str]:
    """The headers of an attempt, signed with the old secret and the new one."""
    request = {
        "key": idempotency_key(ID, PLANNED_MS),
        "schedule_id": ID,
        "schedule_name": "nightly",
        "scheduled_for_ms": PLANNED_MS,
        "fire_after_ms": PLANNED_MS,
        "attempt": 3,
        "trigger": "schedule",
        "now_ms": SENT_S * 1_000,
        "body": BODY,
    }
    return dict(attempt_headers(Signer([NEW, OLD]), [], **request | changes))


@pytest.mark.parametrize("secrets", [[OLD], [NEW], [NEW, OLD]], ids=["old", "new", "both"])
def test_a_delivery_is_verified_by_any_of_the_active_secrets(secrets: list[str]) -> None:
    found = verify(delivery(), BODY, secrets, now_s=SENT_S)
    assert (found.schedule_id, found.scheduled_for_ms, found.sent_s) == (ID, PLANNED_MS, SENT_S)
    assert found.key == idempotency_key(ID, PLANNED_MS)


def test_names_of_headers_may_have_any_case() -> None:
    shouted = {name.upper(): value for name, value in delivery().items()}
    assert verify(shouted, BODY, [OLD], now_s=SENT_S).schedule_id == ID


@pytest.mark.parametrize("seconds", [-300, 300])
def test_five_minutes_either_way_are_fresh_and_a_second_more_is_not(seconds: int) -> None:
    verify(delivery(), BODY, [OLD], now_s=SENT_S + seconds)
    with pytest.raises(Stale, match="300 s are allowed"):
        verify(delivery(), BODY, [OLD], now_s=SENT_S + seconds + (1 if seconds > 0 else -1))


def test_freshness_is_judged_by_the_systems_clock_when_none_is_given() -> None:
    with pytest.raises(Stale):
        verify(delivery(now_ms=0), BODY, [OLD])


@pytest.mark.parametrize(
    "name",
    [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "X-Schedule-Id",
        "X-Scheduled-For",
        "X-Scheduler-Signature",
    ],
)
def test_a_header_that_is_missing_or_beyond_ascii_is_named(name: str) -> None:
    headers = delivery()
    for value in ("", "\udc80é"):
        with pytest.raises(HeaderMissing, match=name.lower()):
            verify(headers | {name: value}, BODY, [OLD], now_s=SENT_S)
    del headers[name]
    with pytest.raises(HeaderMissing, match=name.lower()):
        verify(headers, BODY, [OLD], now_s=SENT_S)


@pytest.mark.parametrize(
    ("change", "body"),
    [
        ({}, b'{"n":2}'),
        ({"X-Schedule-Id": schedule_id("acme", "other")}, BODY),
        ({"X-Scheduled-For": "2026-11-30T13:00:00Z"}, BODY),
        ({"webhook-id": idempotency_key(ID, PLANNED_MS + 1)}, BODY),
        ({"webhook-timestamp": str(SENT_S + 1)}, BODY),
        ({"webhook-signature": "v1,AAAA v2,x"}, BODY),
        ({"X-Scheduler-Signature": "v1=00"}, BODY),
    ],
)
def test_what_was_changed_on_the_way_is_refused(change: dict[str, str], body: bytes) -> None:
    with pytest.raises(WrongSignature):
        verify(delivery() | change, body, [OLD, NEW], now_s=SENT_S)


def test_a_key_that_belongs_to_another_occurrence_is_refused_though_it_is_signed() -> None:
    stranger = delivery(key=idempotency_key(ID, PLANNED_MS + 1))
    with pytest.raises(WrongSignature, match="another occurrence"):
        verify(stranger, BODY, [OLD], now_s=SENT_S)


def test_another_tenants_secret_and_none_at_all_are_not_enough() -> None:
    with pytest.raises(WrongSignature):
        verify(delivery(), BODY, [derive_secret(b"m" * 32, "other", 1)], now_s=SENT_S)
    for short in ("whsec_", "whsec_AA=="):
        with pytest.raises(ValueError, match="24 bytes or more"):
            verify(delivery(), BODY, [short], now_s=SENT_S)
    with pytest.raises(ValueError, match="offbeat secrets"):
        verify(delivery(), BODY, [], now_s=SENT_S)


@given(st.sampled_from(sorted(delivery())), st.text(max_size=40))
def test_whatever_a_header_holds_the_answer_is_an_error_of_ours(name: str, text: str) -> None:
    headers = delivery()
    if headers[name] == text:
        return
    try:
        found = verify(headers | {name: text}, BODY, [OLD], now_s=SENT_S)
    except NotGenuine:
        return
    # What is not signed may hold anything, and is not part of what is returned.
    assert found == verify(headers, BODY, [OLD], now_s=SENT_S)


def row(**members: Any) -> dict[str, Any]:
    """A schedule as the API answers, as far as it counts here."""
    document = {"id": ID, "owed_after": "2026-11-30T12:00:00Z", "start_at": None, "end_at": None}
    return document | members


def instants(document: dict[str, Any], from_: str, to: str) -> list[str]:
    return [instant for _, instant in expected_keys(document, from_, to)]


def test_an_intervals_keys_are_those_that_the_engine_sends() -> None:
    found = dict(
        expected_keys(row(every=3_600, phase=60), "2026-11-30T12:01:00Z", "2026-12-01T00:01:00Z")
    )
    assert list(found.values())[::11] == ["2026-11-30T12:01:00Z", "2026-11-30T23:01:00Z"]
    assert list(found) == [idempotency_key(ID, parse_instant(at)) for at in found.values()]


@given(
    st.integers(1, 100_000),
    st.integers(0, 100_000),
    st.integers(0, 10**12),
    st.integers(0, 10**6),
)
def test_an_intervals_instants_are_the_timetables(
    every: int, phase: int, from_ms: int, steps: int
) -> None:
    phase %= every
    to_ms = from_ms + steps
    document = row(every=every, phase=phase, owed_after="1970-01-01T00:00:00Z")
    target = {"url": "http://h.example/"}
    draft = read_schedule(
        {"name": "n", "every": every, "phase": phase, "target": target}, tenant="acme"
    )
    timetable = compile_trigger(draft.definition.trigger)
    wanted = timetable.between(max(from_ms, 1) - 1, to_ms - 1, 10**6) if to_ms > 1 else []
    found = instants(document, format_instant(from_ms), format_instant(to_ms))
    assert found == [format_instant(ms) for ms in wanted]


def test_nothing_is_expected_before_the_present_rules_nor_outside_start_and_end() -> None:
    day = "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z"
    bounded = row(
        every=3_600, phase=0, start_at="2026-11-30T14:00:00Z", end_at="2026-11-30T16:00:00Z"
    )
    assert instants(bounded, *day) == [f"2026-11-30T{hour}:00:00Z" for hour in (14, 15, 16)]
    assert instants(row(every=43_200, phase=0), *day) == []  # They begin at noon: not later.
    assert instants(row(every=3_600, phase=0), *day)[:1] == ["2026-11-30T13:00:00Z"]


def test_an_edited_schedule_is_expected_by_its_present_rules_from_the_edit_on(
    tmp_path: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            target = {"url": "http://127.0.0.1:9/"}
            await put(engine, "job", every=4, jitter_seconds=0, target=target)
            await world.until("2026-11-30T12:00:10Z")
            edited = await put(engine, "job", every=1, jitter_seconds=0, target=target)
            await world.until("2026-11-30T12:00:16Z")
        span = "2026-11-30T12:00:00Z", "2026-11-30T12:00:15Z"
        expected = dict(expected_keys(write_schedule(edited, 0), *span))
        assert [at[-3:-1] for at in expected.values()] == ["11", "12", "13", "14"]
        assert expected.keys() <= {sent.key for sent in world.sent("job")}

    simulate(main, tmp_path, "2026-11-30T12:00:00Z")


def test_one_instant_is_expected_in_its_span_alone() -> None:
    once = row(at="2026-11-30T12:00:00.500Z")
    assert instants(once, "2026-11-30T12:00:00.500Z", "2026-12-01T00:00:00Z") == [once["at"]]
    assert instants(once, "2026-11-30T00:00:00Z", "2026-11-30T12:00:00.500Z") == []


def test_of_a_cron_the_engines_answer_is_taken_and_the_row_refused() -> None:
    for document in (row(cron="0 * * * *"), row(every=60, phase=0, max_runs=3)):
        with pytest.raises(ValueError, match="/occurrences"):
            expected_keys(document, "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z")
    at = [f"2026-11-30T{hour}:00:00Z" for hour in (12, 13, 14)]
    answer = {"data": [{"scheduled_for": a, "idempotency_key": a[11:13], "owed": True} for a in at]}
    found = expected_keys(answer, "2026-11-30T13:00:00Z", "2026-11-30T14:00:00Z")
    assert list(found) == [("13", "2026-11-30T13:00:00Z")]
    answer["data"][1]["owed"] = False
    assert list(expected_keys(answer, at[0], at[2])) == [("12", "2026-11-30T12:00:00Z")]


def test_two_copied_files_and_the_standard_library_are_all_it_needs(tmp_path: Path) -> None:
    for name in ("receiver.py", "core/identity.py"):
        copy = tmp_path / "engine" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ENGINE / name, copy)
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from engine.receiver import verify
print(verify({delivery()!r}, {BODY!r}, [{OLD!r}], now_s={SENT_S}).schedule_id)
"""
    isolated = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(isolated, check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == ID, done.stderr
