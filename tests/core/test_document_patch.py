"""Merge patches of schedules: RFC 7396, and what a patch makes meaningless."""

import json

import pytest

from engine.core.document import merge_patch, patch_schedule, read_schedule
from engine.core.model import IntervalTrigger, Pause, RetryPolicy, Schedule, Target

MINIMAL = {"cron": "0 * * * *", "target": {"url": "http://h/"}}


def patched(patch, **members):
    """The draft after storing a minimal document with `members`, and patching it."""
    draft = read_schedule(MINIMAL | members, tenant="default", name="report")
    schedule = Schedule(
        definition=draft.definition,
        pause=draft.pause if draft.paused else None,
        counted_after_ms=0,
        owed_after_ms=0,
        last_owed_ms=None,
        revision=1,
        created_at_ms=0,
        updated_at_ms=0,
    )
    return read_schedule(patch_schedule(schedule, patch), tenant="default")


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
