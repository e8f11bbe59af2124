"""Instants at the ends of the calendar, to a real engine: whatever is asked, no answer is a bug."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from engine.web import application
from tests.web.keyed import Answer, Node, node_on

EDGES = (
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00.001Z",
    "2026-11-30T12:00:00Z",
    "9998-12-31T23:59:59.999Z",
    "9999-12-30T23:59:59Z",
    "9999-12-31T23:00:00Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999Z",
    "9999-12-31T23:59:59-23:59",
)
TARGET = {"target": {"url": "https://hooks.example.com/"}}
TRIGGERS = {
    "cron": {"cron": "* * * * *"},
    "zoned": {"cron": "0 5 29 2 *", "timezone": "America/New_York"},
    "every": {"every": 1, "jitter_seconds": 900},
    "rare": {"every": 31_536_000, "phase": 31_535_999, "jitter_seconds": 900},
    "once": {"at": "9998-12-31T23:59:59.999Z", "jitter_seconds": 900},
}
ROUTES = (
    *(f"/v1/schedules/{name}/occurrences" for name in TRIGGERS),
    "/v1/runs",
    "/v1/audit",
    "/v1/herd/forecast",
    "/v1/herd/attribution",
)


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with TemporaryDirectory() as directory, node_on(Path(directory)) as node:
        for name, trigger in TRIGGERS.items():
            answer = ask(node, "PUT", f"/v1/schedules/{name}", {**trigger, **TARGET})
            assert answer.status == 201, answer.text
        yield node


def ask(node: Node, method: str, path: str, body: object = None) -> Answer:
    return node.ask(method, path, body=body)


@pytest.mark.parametrize("route", ROUTES)
def test_a_span_is_answered_or_refused_with_what_is_allowed(node: Node, route: str):
    statuses = set()
    for start, end in product((None, *EDGES), repeat=2):
        bounds = {"from": start, "to": end}
        query = "&".join(f"{name}={text}" for name, text in bounds.items() if text)
        answer = ask(node, "GET", f"{route}?{query}".replace("+", "%2B"))
        assert answer.status in (200, 422), (query, answer.text)
        if answer.status == 422:
            errors = answer.json["errors"]
            assert all(e["parameter"] in bounds and len(e["detail"]) > 20 for e in errors), query
        elif start and end:
            assert start[:4] <= end[:4], f"{query} holds nothing and is not refused"
        statuses.add(answer.status)
    assert statuses == {200, 422}


@pytest.mark.parametrize("path", [r.path for r in application.ROUTES if r.method == "GET"])
def test_no_route_is_broken_by_an_instant(node: Node, path: str):
    """Those above, and whichever is added later."""
    path = re.sub(r"\{\w+\}", "cron", path)
    for name, edge in product(("from", "to", "at", "after"), EDGES):
        assert ask(node, "GET", f"{path}?{name}={edge}").status < 500, (path, name, edge)


@pytest.mark.parametrize("route", ROUTES)
def test_a_span_that_ends_before_it_begins_is_refused(node: Node, route: str):
    later, earlier = "2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
    assert ask(node, "GET", f"{route}?from={later}&to={earlier}").status == 422


@pytest.mark.parametrize("edge", EDGES)
def test_a_run_at_the_edge_is_not_there(node: Node, edge: str):
    identity = ask(node, "GET", "/v1/schedules/once").json["id"]
    assert ask(node, "GET", f"/v1/runs/{identity}@{edge}").status == 404


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("member", ["start_at", "end_at", "at", "paused_until"])
def test_a_schedule_is_stored_with_an_instant_or_refused(node: Node, member: str, edge: str):
    trigger = {"at": edge} if member == "at" else {"every": 3_600, member: edge}
    document = {**trigger, **TARGET, "jitter_seconds": 900}
    if member == "paused_until":
        document["paused"] = True
    answer = ask(node, "PUT", "/v1/schedules/edge", document)
    assert answer.status in (200, 201, 422), answer.text
    if answer.status != 422:
        assert ask(node, "GET", "/v1/schedules/edge/occurrences?limit=3").status == 200
        assert ask(node, "DELETE", "/v1/schedules/edge").status == 204


@pytest.mark.parametrize("edge", EDGES)
def test_spans_in_bodies_are_answered_or_refused(node: Node, edge: str):
    for bounds in ({"from": edge}, {"to": edge}, {"from": edge, "to": EDGES[-2]}):
        for path in ("/v1/herd/what-if", "/v1/schedules/cron:backfill"):
            body = bounds | ({"rate": 7} if "what-if" in path else {"dry_run": True})
            assert ask(node, "POST", path, body).status in (200, 422), (path, body)


def test_a_condition_holds_in_the_journal_too(node: Node):
    """A schedule that is there is not stored again under `If-None-Match: *`."""
    headers = {"If-None-Match": "*"}
    for trigger, status in (({"every": 60}, 201), ({"every": 120}, 412)):
        body = {**trigger, **TARGET}
        path = "/v1/schedules/new"
        answer = node.ask("PUT", path, body=body, headers=headers)
        assert answer.status == status
    assert ask(node, "GET", "/v1/schedules/new").json["every"] == 60
