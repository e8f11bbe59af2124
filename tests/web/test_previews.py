"""`/v1/schedules:preview`: when a schedule would fire, before there is one."""

from pathlib import Path

import pytest

from engine.core.access import Quotas, Scope
from engine.core.identity import schedule_id
from tests.web.keyed import keyed_node

TARGET = {"url": "http://h.example/"}


def test_a_preview_is_of_what_would_be_stored_and_stores_nothing(api):
    document = {"name": "hourly", "cron": "0 * * * *", "target": TARGET}
    previewed = api.request("POST", "/v1/schedules:preview", json=document)
    assert previewed.status == 200
    assert api.get("/v1/schedules").json["data"] == []
    stored = api.put("hourly", document).json
    occurrences = api.get("/v1/schedules/hourly/occurrences?limit=10").json["data"]
    assert previewed.json["occurrences"] == occurrences
    of_storing = {"revision", "created_at", "updated_at"}
    assert {k: v for k, v in previewed.json["schedule"].items() if k not in of_storing} == {
        k: v for k, v in stored.items() if k not in of_storing
    }
    assert stored["id"] == schedule_id("default", "hourly")


def test_a_preview_ends_where_the_schedule_does(api):
    document = {"every": 60, "max_runs": 3, "target": TARGET}
    occurrences = api.request("POST", "/v1/schedules:preview", json=document).json["occurrences"]
    assert [found["scheduled_for"] for found in occurrences] == [
        "2026-11-30T12:01:00Z",
        "2026-11-30T12:02:00Z",
        "2026-11-30T12:03:00Z",
    ]


def test_what_could_not_be_stored_is_previewed_as_that(api):
    document = {"name": "late", "cron": "61 * * * *", "target": {}}
    answer = api.request("POST", "/v1/schedules:preview", json=document)
    refused = api.put("late", document)
    assert (answer.status, refused.status) == (200, 422)
    assert {error["pointer"] for error in answer.json["errors"]} == {"/cron", "/target/url"}
    assert answer.json == {
        "schedule": None,
        "occurrences": [],
        "errors": refused.problem["errors"],
    }


def test_a_preview_that_is_no_json_is_malformed(api):
    headers = {"Content-Type": "application/json"}
    answer = api.request("POST", "/v1/schedules:preview", data=b"{", headers=headers)
    assert answer.status == 400


SECRET = {"url": "http://h.example/", "headers": {"Authorization": "Bearer s3cret-value"}}
MASKED = {"url": "http://h.example/", "headers": {"Authorization": "********"}}


def test_a_preview_says_what_a_put_would(tmp_path: Path):
    """Quotas, least intervals, addresses and masks are judged against what is stored."""
    documents = [
        {"name": "a", "every": 600, "target": TARGET},
        {"name": "c", "every": 600, "target": TARGET},
        {"name": "a", "every": 60, "target": TARGET},
        {"name": "a", "every": 600, "target": {"url": "http://127.0.0.1/"}},
        {"name": "a", "every": 600, "target": MASKED},
        {"name": "b", "every": 600, "target": MASKED},
        {"name": "b", "every": 600, "target": {**MASKED, "url": "http://other.example/"}},
        {"name": "a", "at": "2020-01-01T00:00:00Z", "target": TARGET},
    ]
    with keyed_node(tmp_path) as node:
        write = node.keys["acme", Scope.WRITE]
        quotas = Quotas(schedules_max=2, interval_seconds_min=300)
        node.run(node.engine.tenants.put("acme", quotas))
        for name, target in (("a", TARGET), ("b", SECRET)):
            body = {"every": 600, "target": target}
            assert node.ask("PUT", f"/v1/schedules/{name}", key=write, body=body).status == 201
        statuses = []
        for document in documents:
            key = node.keys["acme", Scope.READ]
            said = node.ask("POST", "/v1/schedules:preview", key=key, body=document)
            path = f"/v1/schedules/{document['name']}"
            put = node.ask("PUT", path, key=write, body=document)
            statuses.append(put.status)
            assert said.status == 200
            if put.status == 200:
                assert said.json["schedule"]["target"] == put.json["target"]
                assert len(said.json["occurrences"]) == 10
                assert said.json["errors"] == []
            else:
                whole = [{"pointer": "", "detail": put.json["detail"]}]
                assert said.json["schedule"] is None
                assert said.json["errors"] == put.json.get("errors", whole)
        assert statuses == [200, 409, 422, 422, 422, 200, 422, 422]


@pytest.mark.parametrize("name", ["new", None])
def test_of_a_preview_nothing_remains(tmp_path: Path, name: str | None):
    with keyed_node(tmp_path) as node:
        key = node.keys["acme", Scope.WRITE]
        document = {"name": name, "every": 60, "target": SECRET, "labels": {"a": "b"}}
        previewed = node.ask("POST", "/v1/schedules:preview", key=key, body=document)
        assert previewed.json["schedule"]["target"]["headers"] == MASKED["headers"]
        for path in ("/v1/schedules", "/v1/runs", "/v1/flows"):
            assert node.ask("GET", path, key=key).json["data"] == []
        admin = node.keys["acme", Scope.ADMIN]
        assert node.ask("GET", "/v1/tenants/acme", key=admin).json["schedules"] == 0
        assert b"s3cret" not in b"".join(f.read_bytes() for f in (tmp_path / "data").iterdir())
