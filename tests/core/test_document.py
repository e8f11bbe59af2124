"""Schedules as JSON documents: every field, every refusal, and the way back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.document import patch_schedule, read_schedule, write_schedule
from engine.core.errors import Invalid
from engine.core.identity import format_instant, jitter_offset_ms, schedule_id
from engine.core.model import (
    CronTrigger,
    Definition,
    Draft,
    IntervalTrigger,
    Pause,
    RetryPolicy,
    Schedule,
    Target,
)

NOW_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z
MINIMAL = {"cron": "0 * * * *", "target": {"url": "http://h/"}}


def read(name="report", **members):
    return read_schedule(MINIMAL | members, tenant="default", name=name)


def faults(document=None, *, name="report", **members):
    with pytest.raises(Invalid) as caught:
        read_schedule(
            (MINIMAL | members) if document is None else document, tenant="default", name=name
        )
    return {fault.pointer: fault.detail for fault in caught.value.faults}


def stored(draft, **changes):
    pause = draft.pause if draft.paused else None
    values = {
        "definition": draft.definition,
        "pause": pause,
        "counted_after_ms": NOW_MS,
        "owed_after_ms": NOW_MS,
        "last_owed_ms": None,
        "revision": 3,
        "created_at_ms": NOW_MS,
        "updated_at_ms": NOW_MS,
    }
    return Schedule(**values | changes)


def test_a_minimal_document_takes_every_default():
    draft = read()
    definition = draft.definition
    assert draft.paused is None
    assert definition.tenant == "default"
    assert definition.name == "report"
    assert definition.trigger == CronTrigger(cron="0 * * * *", resolved="0 * * * *")
    assert definition.target == Target(url="http://h/")
    assert definition.retry == RetryPolicy()
    assert (definition.jitter_seconds, definition.jitter_source) == (60, "default")
    assert definition.offset_ms == jitter_offset_ms(definition.schedule_id, 60)
    assert definition.catch_up == "latest"
    assert definition.labels == {}
    assert definition.deadline_seconds is None


def test_every_field_is_read():
    retry = {
        "max_attempts": 3,
        "min_backoff_seconds": 1,
        "max_backoff_seconds": 60,
        "multiplier": 10,
        "jitter": "none",
        "max_age_seconds": 600,
    }
    draft = read_schedule(
        {
            "name": "all",
            "labels": {"team": "billing", "k8s.io/app": "x-y"},
            "every": 90,
            "start_at": "2026-12-01T00:00:00Z",
            "end_at": "2027-01-01T00:00:00+01:00",
            "max_runs": 10,
            "jitter_seconds": 45,
            "deadline_seconds": 600,
            "overlap": "buffer_one",
            "catch_up": "all",
            "catch_up_window_seconds": 7200,
            "paused": True,
            "pause_reason": "freeze",
            "paused_until": "2026-12-24T00:00:00Z",
            "target": {"url": "https://example.com/hook", "method": "PUT", "timeout_seconds": 300},
            "retry": retry,
            "delete_after_completion": True,
            "pause_after_failures": 5,
        },
        tenant="acme",
    )
    identity = schedule_id("acme", "all")
    assert draft == Draft(
        definition=Definition(
            tenant="acme",
            name="all",
            schedule_id=identity,
            trigger=IntervalTrigger(every_seconds=90),
            target=Target(url="https://example.com/hook", method="PUT", timeout_seconds=300),
            labels={"team": "billing", "k8s.io/app": "x-y"},
            start_at_ms=1_796_083_200_000,
            end_at_ms=1_798_758_000_000,
            max_runs=10,
            jitter_seconds=45,
            jitter_source="explicit",
            offset_ms=jitter_offset_ms(identity, 45),
            deadline_seconds=600,
            overlap="buffer_one",
            catch_up="all",
            catch_up_window_seconds=7200,
            retry=RetryPolicy(**retry),
            delete_after_completion=True,
            pause_after_failures=5,
        ),
        paused=True,
        pause=Pause(reason="freeze", until_ms=1_798_070_400_000),
    )


def test_the_sub_second_phase_follows_the_setting():
    draft = read_schedule(MINIMAL, tenant="default", name="report", subsecond=False)
    assert draft.definition.offset_ms % 1000 == 0


@pytest.mark.parametrize(
    ("members", "pointer", "said"),
    [
        ({"cron": None}, "", "exactly one of cron, every and at"),
        ({"cron": "* * * *"}, "/cron", ""),
        ({"start_at": "2026-12-01"}, "/start_at", "2026-11-30T12:00:00Z"),
        ({"start_at": 5}, "/start_at", "text"),
        ({"max_runs": 1_000_001}, "/max_runs", "1,000,000"),
        ({"max_runs": 0}, "/max_runs", "from 1"),
        ({"jitter_seconds": 901}, "/jitter_seconds", "900"),
        ({"jitter_seconds": 60, "deadline_seconds": 59}, "/jitter_seconds", "59 seconds"),
        ({"deadline_seconds": 0}, "/deadline_seconds", "from 1 to 86,400"),
        ({"catch_up": "none"}, "/catch_up", '"latest", "skip", "all"'),
        ({"catch_up_window_seconds": 9}, "/catch_up_window_seconds", "from 10"),
        ({"overlap": "queue"}, "/overlap", '"allow", "skip", "buffer_one"'),
        ({"flow_key": "a b"}, "/flow_key", "write letters, digits"),
        ({"flow_key": "a" * 129}, "/flow_key", "at most 128 characters"),
        ({"priority": 4}, "/priority", "write a whole number from 0 to 3"),
        ({"pause_reason": "x"}, "/pause_reason", "paused: true"),
        (
            {"paused": False, "paused_until": "2026-12-01T00:00:00Z"},
            "/paused_until",
            "paused: true",
        ),
        ({"paused": "yes"}, "/paused", "true or false"),
        ({"paused": 1}, "/paused", "true or false"),
        ({"delete_after_completion": True}, "/delete_after_completion", "end_at or max_runs"),
        ({"pause_after_failures": -1}, "/pause_after_failures", "from 0"),
        ({"labels": {"a b": "x"}}, "/labels/a b", "write a key"),
        ({"labels": {"a": 5}}, "/labels/a", "write a text"),
        ({"labels": {"a": "\x00"}}, "/labels/a", "write a text"),
        ({"labels": []}, "/labels", "JSON object"),
        ({"labels": {f"l{i}": "x" for i in range(33)}}, "/labels", "32"),
        ({"target": None}, "/target", "JSON object"),
        ({"target": {"url": 5}}, "/target/url", "URL to call"),
        ({"retry": []}, "/retry", "JSON object"),
        ({"retry": {"max_attempts": 21}}, "/retry/max_attempts", "from 1 to 20"),
        ({"retry": {"max_backoff_seconds": 4}}, "/retry/max_backoff_seconds", "at least"),
        ({"retry": {"max_age_seconds": 59}}, "/retry/max_age_seconds", "from 60 to 604,800"),
        ({"retry": {"jitter": "half"}}, "/retry/jitter", '"decorrelated"'),
        ({"timezon": "UTC"}, "/timezon", '"timezone"'),
        ({"tx": "UTC"}, "/tx", "timezone"),
    ],
)
def test_a_fault_is_named_with_its_place_and_the_remedy(members, pointer, said):
    assert said in faults(**members)[pointer]


def test_the_order_of_start_and_end_is_checked():
    early, late = "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"
    assert "not before start_at" in faults(start_at=late, end_at=early)["/end_at"]
    assert read(start_at=early, end_at=early).definition.end_at_ms == 1_796_083_200_000
    outside = {"cron": None, "at": late, "end_at": early}
    assert "from start_at to end_at" in faults(**outside)["/at"]


def test_all_faults_of_a_document_are_reported_together():
    found = faults(
        cron="0 0 31 2 *",
        timezone="Mars/Base",
        jitter_seconds=-1,
        retry={"max_attempts": 0, "multiplier": 1.5},
        target={"url": "ftp://h/", "headers": {"Host": "x", "X": "\n"}, "timeout_seconds": "15"},
        surprise=1,
    )
    assert set(found) == {
        "/cron",
        "/timezone",
        "/jitter_seconds",
        "/retry/max_attempts",
        "/retry/multiplier",
        "/target/url",
        "/target/headers/Host",
        "/target/headers/X",
        "/target/timeout_seconds",
        "/surprise",
    }


def test_what_is_misspelt_is_likened_to_what_can_be_written_and_not_to_what_the_engine_adds():
    assert faults(MINIMAL | {"jitter": 5}) == {
        "/jitter": 'unknown field; did you mean "jitter_seconds"?'
    }
    assert read_schedule(MINIMAL | {"jitter_source": "default"}, tenant="default", name="report")


def test_a_hostile_document_gets_a_bounded_answer():
    assert len(faults({f"x{i}": i for i in range(10_000)})) <= 70
    found = faults(MINIMAL | {"y" * 100_000: 1})
    assert set(found) == {""}  # The object: the name is too long to repeat.
    assert "unknown field" in found[""]


@pytest.mark.parametrize("document", [None, [], 1, "x", True])
def test_a_document_is_an_object(document):
    with pytest.raises(Invalid, match="write a JSON object"):
        read_schedule(document, tenant="default", name="report")


@pytest.mark.parametrize("name", ["", "-a", ".a", "a b", "a/b", "ä", "a\x00b", "sch_a", "a" * 129])
def test_a_name_keeps_to_its_grammar(name):
    assert "128 letters" in faults(name=name)["/name"]


def test_a_name_in_the_document_agrees_with_the_address():
    assert 'write "report"' in faults(MINIMAL | {"name": "other"})["/name"]
    assert read_schedule(MINIMAL | {"name": "report"}, tenant="default", name="report")


def test_a_name_is_needed_where_the_address_has_none():
    assert "128 letters" in faults(MINIMAL, name=None)["/name"]
    assert read(name="a" * 128).definition.name == "a" * 128


def test_what_the_engine_adds_is_shown():
    document = write_schedule(stored(read(cron="H * * * *", jitter_seconds=0)), NOW_MS)
    assert document["cron"] == "H * * * *"
    assert document["cron_resolved"] == "10 * * * *"
    assert document["jitter_source"] == "explicit"
    assert document["offset_ms"] == 0
    assert document["next"] == {
        "scheduled_for": "2026-11-30T12:10:00Z",
        "fire_after": "2026-11-30T12:10:00Z",
    }
    assert document["revision"] == 3
    assert document["created_at"] == "2026-11-30T12:00:00Z"


def test_next_is_what_fires_next_though_its_instant_has_passed():
    draft = read()
    offset_ms = draft.definition.offset_ms
    schedule = stored(draft, owed_after_ms=NOW_MS - 1)
    waiting = write_schedule(schedule, NOW_MS + offset_ms - 1)["next"]
    assert waiting["scheduled_for"] == "2026-11-30T12:00:00Z"
    assert waiting["fire_after"] == format_instant(NOW_MS + offset_ms)
    fired = write_schedule(schedule, NOW_MS + offset_ms)["next"]
    assert fired["scheduled_for"] == "2026-11-30T13:00:00Z"


def test_next_waits_for_the_end_of_a_pause():
    paused = stored(read(paused=True))
    assert write_schedule(paused, NOW_MS)["next"] is None
    until = stored(read(paused=True, paused_until="2026-11-30T15:00:00Z"))
    assert write_schedule(until, NOW_MS)["next"]["scheduled_for"] == "2026-11-30T16:00:00Z"


def test_a_default_jitter_that_is_sent_back_stays_a_default():
    document = write_schedule(stored(read()), NOW_MS)
    assert document["jitter_seconds"] == 60
    again = read_schedule(document, tenant="default")
    assert again.definition.jitter_source == "default"
    chosen = read_schedule(document | {"jitter_seconds": 30}, tenant="default").definition
    assert (chosen.jitter_seconds, chosen.jitter_source) == (30, "explicit")


DOCUMENTS = st.fixed_dictionaries(
    {
        "target": st.one_of(
            st.fixed_dictionaries(
                {"url": st.sampled_from(["http://h/", "https://bücher.example/ü"])},
                optional={
                    "method": st.sampled_from(["POST", "PUT", "DELETE"]),
                    "headers": st.dictionaries(
                        st.sampled_from(["X-A", "Content-Type", "content-type", "Accept"]),
                        st.sampled_from(["application/json", "text/plain; charset=utf-8", ""]),
                        max_size=2,
                    ).filter(
                        lambda headers: len({name.lower() for name in headers}) == len(headers)
                    ),
                    "timeout_seconds": st.integers(1, 300),
                    kind: values,
                },
            )
            for kind, values in {
                "json": st.recursive(
                    st.none()
                    | st.booleans()
                    | st.integers()
                    | st.floats(-1e9, 1e9)
                    | st.text("aé"),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner),
                    max_leaves=5,
                ),
                "body": st.text("aé\n\x00"),
                "body_base64": st.sampled_from(["", "AP8=", "AAAA"]),
            }.items()
        ),
        "jitter_seconds": st.none() | st.integers(0, 100),
        "deadline_seconds": st.none() | st.integers(100, 86_400),
        "start_at": st.none() | st.just("2026-12-01T00:00:00.001Z"),
        "max_runs": st.none() | st.integers(1, 1_000_000),
        "labels": st.dictionaries(st.text("ab", min_size=1), st.text("ab")),
        "paused": st.booleans(),
        "retry": st.none() | st.fixed_dictionaries({"max_attempts": st.integers(1, 20)}),
    }
).flatmap(
    lambda document: st.sampled_from(
        [
            document | trigger
            for trigger in (
                {"cron": "H(0-29)/10 H * * *", "timezone": "Europe/Berlin", "dst_gap": "skip"},
                {"cron": "@hourly", "dst_fold": "both"},
                {"every": 90, "phase": 30},
                {"at": "2026-12-24T18:00:00.250Z"},
            )
        ]
    )
)


@given(DOCUMENTS)
def test_what_is_written_back_reads_as_the_same_draft(document):
    draft = read_schedule(document, tenant="default", name="report")
    schedule = stored(draft)
    written = write_schedule(schedule, NOW_MS)
    json.dumps(written)
    again = read_schedule(written, tenant="default")
    assert again == Draft(definition=draft.definition, paused=bool(draft.paused), pause=draft.pause)
    assert write_schedule(stored(again), NOW_MS) == written
    patched = read_schedule(patch_schedule(schedule, {}), tenant="default")
    assert patched == again
