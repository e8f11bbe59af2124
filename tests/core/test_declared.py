"""What files say of schedules."""

from dataclasses import replace
from typing import Any

import pytest

from engine.core.declared import changes, declare
from engine.core.document import read_schedule, write_schedule
from engine.core.model import Schedule

TARGET = {"url": "http://h.example/a"}
DOCUMENTS: list[dict[str, Any]] = [
    {"cron": "0 * * * *", "target": TARGET},
    {"cron": "H 2 * * *", "timezone": "Europe/Berlin", "jitter_seconds": 60, "target": TARGET},
    {"cron": "0 * * * *", "jitter_seconds": 0, "dst_gap": "skip", "priority": 0, "target": TARGET},
    {
        "every": 60,
        "phase": 7,
        "labels": {"a/b": "c"},
        "retry": {"max_attempts": 1},
        "target": TARGET,
    },
    {"at": "2027-03-28T02:30:00.5Z", "delete_after_completion": True, "target": TARGET},
    {"every": 9, "paused": True, "pause_reason": "moving", "target": TARGET},
    {"every": 9, "max_runs": 5, "end_at": "2099-01-01T00:00:00Z", "target": TARGET},
    {"every": 9, "target": TARGET | {"json": {"a": [None, 0, False, ""]}, "method": "PUT"}},
    {"every": 9, "target": TARGET | {"json": 0, "headers": {"X-A": "b"}, "timeout_seconds": 1}},
    {"every": 9, "target": TARGET | {"body": "", "headers": {"Content-Type": "text/csv"}}},
]


def answer(document: dict[str, Any]) -> dict[str, Any]:
    """What the API answers with once it has stored the document."""
    draft = read_schedule(document, tenant="default", name="a")
    schedule = Schedule(
        definition=draft.definition,
        pause=replace(draft.pause, since_ms=0) if draft.paused else None,
        counted_after_ms=0,
        owed_after_ms=0,
        last_owed_ms=None,
        revision=1,
        created_at_ms=0,
        updated_at_ms=0,
    )
    return write_schedule(schedule, 0)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_declared_is_what_was_written_and_reads_as_the_same_schedule(document):
    declared = declare(answer(document))
    said = {"timezone": "UTC"} if "cron" in document else {}
    assert declared == said | document | (
        {"at": "2027-03-28T02:30:00.500Z"} if "at" in document else {}
    )
    once, again = (read_schedule(each, tenant="default", name="a") for each in (document, declared))
    assert once == again


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_schedule_does_not_differ_from_its_own_document(document):
    assert changes(answer(document), {"name": "a"} | document) == []


def test_each_change_has_its_place_what_is_there_and_what_will_be():
    stored = answer({"every": 60, "labels": {"a/b": "c"}, "target": TARGET, "paused": True})
    document = {"cron": "0 * * * *", "target": {"url": "http://h.example/b"}}
    assert changes(stored, document) == [
        ("/labels/a~1b", "c", None),
        ("/every", 60, None),
        ("/phase", 0, None),
        ("/target/url", "http://h.example/a", "http://h.example/b"),
        ("/cron", None, "0 * * * *"),
        ("/timezone", None, "UTC"),
        ("/dst_gap", None, "shift"),
        ("/dst_fold", None, "first"),
    ]
    assert changes(
        stored, {"every": 60, "labels": {"a/b": "c"}, "paused": False, "target": TARGET}
    ) == [("/paused", True, False)]
