"""Schedules as JSON documents: every field, every refusal, and the way back."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.document import merge_patch, patch_schedule, read_schedule, write_schedule
from engine.core.errors import Invalid
from engine.core.identity import format_instant, jitter_offset_ms
from engine.core.model import (
    AtTrigger,
    CronTrigger,
    Draft,
    IntervalTrigger,
    Pause,
    RetryPolicy,
    Schedule,
    Target,
)

NOW_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z
MINIMAL = {"cron": "0 * * * *", "target": {"url": "http://h/"}}
CASES = {
    case["id"]: case
    for case in map(
        json.loads, (Path(__file__).parent.parent / "cases/cases.jsonl").read_text().splitlines()
    )
}


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
    draft = read_schedule(
        {
            "name": "all",
            "labels": {"team": "billing", "k8s.io/app": "x y"},
            "cron": "30 2 * * *",
            "timezone": "Europe/Berlin",
            "dst_gap": "skip",
            "dst_fold": "both",
            "start_at": "2026-12-01T00:00:00Z",
            "end_at": "2027-01-01T00:00:00+01:00",
            "max_runs": 10,
            "jitter_seconds": 45,
            "deadline_seconds": 600,
            "overlap": "allow",
            "catch_up": "all",
            "catch_up_window_seconds": 7200,
            "paused": True,
            "pause_reason": "freeze",
            "paused_until": "2026-12-24T00:00:00Z",
            "target": {
                "url": "https://example.com/hook",
                "method": "PUT",
                "headers": {"X-A": "b"},
                "body": "grüß",
                "timeout_seconds": 300,
            },
            "retry": {
                "max_attempts": 3,
                "min_backoff_seconds": 1,
                "max_backoff_seconds": 60,
                "multiplier": 10,
                "jitter": "none",
                "max_age_seconds": 600,
            },
            "delete_after_completion": True,
            "pause_after_failures": 5,
        },
        tenant="default",
    )
    definition = draft.definition
    assert draft.paused is True
    assert draft.pause == Pause(reason="freeze", until_ms=1_798_070_400_000)
    assert definition.trigger == CronTrigger(
        cron="30 2 * * *",
        resolved="30 2 * * *",
        timezone="Europe/Berlin",
        dst_gap="skip",
        dst_fold="both",
    )
    assert definition.labels == {"team": "billing", "k8s.io/app": "x y"}
    assert definition.start_at_ms == 1_796_083_200_000
    assert definition.end_at_ms == 1_798_758_000_000
    assert definition.max_runs == 10
    assert (definition.jitter_seconds, definition.jitter_source) == (45, "explicit")
    assert definition.deadline_seconds == 600
    assert (definition.catch_up, definition.catch_up_window_seconds) == ("all", 7200)
    assert definition.target == Target(
        url="https://example.com/hook",
        method="PUT",
        headers=(("X-A", "b"), ("Content-Type", "text/plain; charset=utf-8")),
        body="grüß".encode(),
        body_kind="text",
        timeout_seconds=300,
    )
    assert definition.retry == RetryPolicy(
        max_attempts=3,
        min_backoff_seconds=1,
        max_backoff_seconds=60,
        multiplier=10,
        jitter="none",
        max_age_seconds=600,
    )
    assert definition.delete_after_completion
    assert definition.pause_after_failures == 5


@pytest.mark.parametrize(
    ("members", "pointer", "said"),
    [
        ({"cron": None}, "", "exactly one of cron, every and at"),
        ({"every": 60}, "/every", "not both"),
        ({"phase": 5}, "/phase", "does not go with cron"),
        ({"cron": None, "every": 60, "timezone": "UTC"}, "/timezone", "does not go with every"),
        ({"cron": None, "every": 60, "phase": 60}, "/phase", "from 0 to 59"),
        ({"cron": None, "every": 0}, "/every", "from 1 to 31,536,000"),
        ({"cron": 5}, "/cron", "as text"),
        ({"cron": "* * * *"}, "/cron", ""),
        ({"timezone": "Europe/Berlim"}, "/timezone", "Europe/Berlin"),
        ({"timezone": 5}, "/timezone", "text"),
        ({"dst_gap": "jump"}, "/dst_gap", '"shift", "skip"'),
        ({"start_at": "2026-12-01"}, "/start_at", "2026-11-30T12:00:00Z"),
        ({"start_at": 5}, "/start_at", "text"),
        ({"max_runs": 1_000_001}, "/max_runs", "1,000,000"),
        ({"max_runs": 0}, "/max_runs", "from 1"),
        ({"jitter_seconds": 901}, "/jitter_seconds", "900"),
        ({"jitter_seconds": 60, "deadline_seconds": 59}, "/jitter_seconds", "59 seconds"),
        ({"deadline_seconds": 0}, "/deadline_seconds", "from 1 to 86,400"),
        ({"catch_up": "none"}, "/catch_up", '"latest", "skip", "all"'),
        ({"catch_up_window_seconds": 9}, "/catch_up_window_seconds", "from 10"),
        ({"overlap": "skip"}, "/overlap", "not supported by this version"),
        ({"flow_key": "a"}, "/flow_key", "not supported by this version"),
        ({"priority": 1}, "/priority", "not supported by this version"),
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
        ({"labels": {"a b": "x"}}, "/labels/a b", "label"),
        ({"labels": {"a": 5}}, "/labels/a", "label"),
        ({"labels": {"a": "\x00"}}, "/labels/a", "label"),
        ({"labels": []}, "/labels", "JSON object"),
        ({"labels": {f"l{i}": "x" for i in range(33)}}, "/labels", "32"),
        ({"target": None}, "/target", "JSON object"),
        ({"target": {}}, "/target/url", "URL to call"),
        ({"target": {"url": 5}}, "/target/url", "URL to call"),
        ({"target": {"url": "http://h/", "methd": "GET"}}, "/target/methd", '"method"'),
        ({"target": {"url": "http://h/", "method": "post"}}, "/target/method", '"POST"'),
        ({"target": {"url": "http://h/", "method": "TRACE"}}, "/target/method", '"POST"'),
        (
            {"target": {"url": "http://h/", "method": "GET", "body": ""}},
            "/target/body",
            "GET carries no body",
        ),
        ({"target": {"url": "http://h/", "json": 1, "body": "x"}}, "/target/body", "not both"),
        ({"target": {"url": "http://h/", "body": {}}}, "/target/body", "use json"),
        ({"target": {"url": "http://h/", "body": "x" * 102_401}}, "/target/body", "102,400"),
        ({"target": {"url": "http://h/", "body_base64": "a b="}}, "/target/body_base64", "base64"),
        (
            {"target": {"url": "http://h/", "timeout_seconds": 301}},
            "/target/timeout_seconds",
            "300",
        ),
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


def test_a_hostile_document_gets_a_bounded_answer():
    found = faults({f"x{i}": i for i in range(10_000)} | {"y" * 100_000: 1})
    assert len(found) <= 70
    assert max(map(len, found)) < 100


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


@pytest.mark.parametrize(("value", "read_as"), [(60, 60), (60.0, 60), (31_536_000, 31_536_000)])
def test_a_whole_number_may_be_written_as_a_float(value, read_as):
    trigger = read(cron=None, every=value).definition.trigger
    assert trigger == IntervalTrigger(every_seconds=read_as)


@pytest.mark.parametrize(
    "value", [True, "60", 60.5, 1e18, 9_223_372_036_854_775_808, 18_446_744_073_709_551_616, -60]
)
def test_what_is_no_whole_number_in_range_is_refused(value):
    assert "whole number" in faults(cron=None, every=value)["/every"]


@pytest.mark.parametrize("case", ["1," * 499_999 + "1 * * * *", "0" * 5_000 + "5 * * * *"])
def test_c14_a_very_long_expression_is_refused_by_its_length(case):
    assert "256" in faults(cron=case)["/cron"]


@pytest.mark.parametrize("headers", CASES["C52"]["input"]["headers"], ids=str)
def test_c52_bad_headers_are_found_when_written(headers):
    found = faults(target={"url": "http://h/", "headers": headers})
    assert all(pointer.startswith("/target/headers/") for pointer in found)


def test_c52_urls_are_refused_or_sent_as_written():
    userinfo, idn, percent, *rest = CASES["C52"]["input"]["urls"]
    accepted = {
        idn: "http://xn--bcher-kva.example/%C3%BC",
        percent: "http://h/a%2Fb?z=%61&y=a+b&e=%E9",
    }
    for url, sent in accepted.items():
        assert read(target={"url": url}).definition.target.url == sent
    for url in (userinfo, userinfo.split()[0], "http://evil\t.com/", *rest):
        assert "/target/url" in faults(target={"url": url})


@pytest.mark.parametrize(
    ("at", "timezone", "fires_at"),
    [
        ("2026-11-30T12:05:00", "America/New_York", "2026-11-30T17:05:00Z"),
        ("2026-11-30T12:00:00.500Z", None, "2026-11-30T12:00:00.500Z"),
        ("2026-11-30T12:00:03Z", None, "2026-11-30T12:00:03Z"),
        ("2026-11-30T12:00:03Z", "America/New_York", "2026-11-30T12:00:03Z"),
        ("2027-03-14T02:30:00", "America/New_York", "2027-03-14T07:00:00Z"),  # The gap's end.
        ("2027-11-07T01:30:00", "America/New_York", "2027-11-07T05:30:00Z"),  # The first pass.
    ],
)
def test_c60_an_instant_has_an_offset_or_a_zone(at, timezone, fires_at):
    trigger = read(cron=None, at=at, timezone=timezone).definition.trigger
    assert isinstance(trigger, AtTrigger)
    assert format_instant(trigger.at_ms) == fires_at


@pytest.mark.parametrize("at", ["2026-11-30T12:05:00", "tomorrow", "2026-02-30T00:00:00Z", ""])
def test_c60_an_instant_without_either_is_refused(at):
    assert set(faults(cron=None, at=at)) == {"/at"}


def test_c60_a_local_instant_names_a_zone_that_exists():
    assert set(faults(cron=None, at="2026-11-30T12:05:00", timezone="Nowhere")) == {"/timezone"}
    found = faults(cron=None, at="2026-11-30T25:05:00", timezone="America/New_York")
    assert set(found) == {"/at"}


def test_json_is_serialised_once_and_keeps_its_numbers():
    target = {"url": "http://h/", "json": {"big": 18_446_744_073_709_551_616, "f": 10.0, "é": None}}
    read_target = read(target=target).definition.target
    assert read_target.body == '{"big":18446744073709551616,"f":10.0,"é":null}'.encode()
    assert read_target.headers == (("Content-Type", "application/json"),)


def test_the_tenants_own_content_type_is_kept():
    headers = {"content-type": "application/cloudevents+json"}
    target = {"url": "http://h/", "headers": headers, "json": {}}
    assert read(target=target).definition.target.headers == tuple(headers.items())


def test_bytes_come_back_as_base64():
    draft = read(target={"url": "http://h/", "body_base64": "AP8="})
    assert draft.definition.target.body == b"\x00\xff"
    assert draft.definition.target.headers == (("Content-Type", "application/octet-stream"),)
    assert write_schedule(stored(draft), NOW_MS)["target"]["body_base64"] == "AP8="


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
        "labels": st.dictionaries(st.text("ab", min_size=1), st.text("aé ")),
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


@pytest.mark.parametrize(
    ("document", "patch", "merged"),
    [  # RFC 7396, appendix A, those whose patch is an object.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_is_rfc_7396(document, patch, merged):
    before = json.dumps(document)
    assert merge_patch(document, patch) == merged
    assert json.dumps(document) == before


def patched(patch, **members):
    document = patch_schedule(stored(read(**members)), patch)
    return read_schedule(document, tenant="default")


def test_a_patch_changes_what_it_names():
    draft = patched({"retry": {"max_attempts": 2}, "target": {"timeout_seconds": 20}})
    assert draft.definition.retry == RetryPolicy(max_attempts=2)
    assert draft.definition.target == Target(url="http://h/", timeout_seconds=20)


def test_a_default_jitter_follows_a_patched_trigger():
    assert patched({"cron": "*/5 * * * *"}).definition.jitter_seconds == 30
    assert patched({"cron": "*/5 * * * *"}, jitter_seconds=60).definition.jitter_seconds == 60


def test_a_patch_may_name_another_trigger_without_removing_the_old_one():
    draft = patched({"every": 60}, timezone="Europe/Berlin", dst_gap="skip")
    assert draft.definition.trigger == IntervalTrigger(every_seconds=60)


def test_a_patched_trigger_of_the_same_kind_keeps_its_zone():
    draft = patched({"cron": "5 * * * *"}, timezone="Europe/Berlin")
    assert draft.definition.trigger.timezone == "Europe/Berlin"


def test_a_patch_may_name_another_kind_of_body():
    draft = patched({"target": {"body": "x"}}, target={"url": "http://h/", "json": {"a": 1}})
    assert draft.definition.target.body == b"x"
    assert draft.definition.target.headers == (("Content-Type", "text/plain; charset=utf-8"),)


def test_a_patch_that_ends_a_pause_drops_its_reason():
    draft = patched({"paused": False}, paused=True, pause_reason="freeze")
    assert draft.paused is False
    assert draft.pause == Pause()
    kept = patched({"labels": {"a": "b"}}, paused=True, pause_reason="freeze")
    assert kept.pause == Pause(reason="freeze")
