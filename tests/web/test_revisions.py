"""Conditions over the real journal: `If-Match` and `If-None-Match` on all that is written."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from engine.core.access import Scope
from tests.web.keyed import Node, keyed_node

REPORT = {"cron": "0 0 1 1 *", "target": {"url": "http://h.example/"}, "flow_key": "mine"}
SPAN = {"from": "2026-11-01T00:00:00Z", "to": "2099-01-01T00:00:00Z"}


class Change(NamedTuple):
    """A change of something that is there, where it is read, and its status."""

    method: str
    path: str
    body: Any
    status: int
    of: str = "/v1/schedules/report"


CHANGES = [
    Change("PUT", "/v1/schedules/report", REPORT | {"priority": 2}, 200),
    Change("PATCH", "/v1/schedules/report", {"priority": 2}, 200),
    Change("DELETE", "/v1/schedules/report", None, 204),
    Change("POST", "/v1/schedules/report:pause", None, 200),
    Change("POST", "/v1/schedules/report:resume", None, 200),
    Change("POST", "/v1/schedules/report:trigger", None, 202),
    Change("POST", "/v1/schedules/report:backfill", SPAN, 202),
    Change("POST", "/v1/schedules/report:backfill", SPAN | {"dry_run": True}, 200),
    Change("PUT", "/v1/flows/mine", {"rate": 7}, 200, "/v1/flows/mine"),
    Change("PUT", "/v1/tenants/initech", {"schedules_max": 7}, 200, "/v1/tenants/initech"),
    Change("DELETE", "/v1/tenants/initech", None, 204, "/v1/tenants/initech"),
]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with keyed_node(tmp_path_factory.mktemp("node")) as node:
        yield node


def ask(node: Node, method: str, path: str, body: Any = None, **headers: str) -> Any:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    key = node.keys["acme", Scope.ADMIN]
    return node.ask(method, path, key=key, body=body, headers=given)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.method} {change.path}")
def test_a_change_is_made_to_the_revision_that_it_names_and_to_no_other(node, change):
    ask(node, "PUT", "/v1/tenants/initech", {})
    ask(node, "PUT", "/v1/schedules/report", REPORT)
    before = ask(node, "GET", change.of)
    revision, tag = before.json["revision"], before.headers["ETag"]
    assert tag == f'"{revision}"'
    wrong = (
        {"If_Match": '"999"'},
        {"If_Match": 'W/"1"'},
        {"If_Match": '"x"'},
        {"If_None_Match": "*"},
    )
    for condition in wrong:
        answer = ask(node, change.method, change.path, change.body, **condition)
        assert (answer.status, answer.json["code"]) == (412, "precondition_failed"), condition
        assert answer.json["revision"] == revision
        assert ask(node, "GET", change.of).json == before.json
    answer = ask(node, change.method, change.path, change.body, If_Match=tag)
    assert answer.status == change.status, answer.text
    if "ETag" in answer.headers:
        assert answer.headers["ETag"] == ask(node, "GET", change.of).headers["ETag"]


@pytest.mark.parametrize("path", ["/v1/flows/fresh-{}", "/v1/tenants/fresh-{}"])
def test_what_is_not_there_can_be_asked_not_to_be_there(node, path):
    first, second = path.format(1), path.format(2)
    assert ask(node, "PUT", first, {}, If_None_Match="*").status in (200, 201)
    assert ask(node, "PUT", first, {}, If_None_Match="*").status == 412
    missing = ask(node, "PUT", second, {}, If_Match="*")
    assert (missing.status, missing.json["revision"]) == (412, None)
    assert ask(node, "GET", second).status == 404
    assert ask(node, "PUT", first, {}, If_Match="*").status == 200


@pytest.mark.parametrize(
    ("path", "limit"),
    [("/v1/flows/counted", "parallelism"), ("/v1/tenants/counted", "schedules_max")],
)
def test_a_revision_grows_with_each_change_and_with_nothing_else(node, path, limit):
    first = ask(node, "PUT", path, {limit: 5}, If_None_Match="*").json["revision"]
    assert ask(node, "PUT", path, {limit: 5}).headers["ETag"] == f'"{first}"'
    assert ask(node, "PUT", path, {limit: 6}).headers["ETag"] == f'"{first + 1}"'
    assert ask(node, "PUT", path, {}).headers["ETag"] == f'"{first + 2}"'
    assert ask(node, "GET", path).json["revision"] == first + 2


def test_a_tenant_that_is_made_again_repeats_no_revision(node):
    path = "/v1/tenants/initech"
    earlier = {ask(node, "PUT", path, {"rate": rate}).headers["ETag"] for rate in (1, 2, 3)}
    assert ask(node, "DELETE", path).status == 204
    again = {ask(node, "PUT", path, {"rate": rate}).headers["ETag"] for rate in (4, 5, 6)}
    assert earlier & again == set()
    for tag in earlier:
        assert ask(node, "PUT", path, {"rate": 7}, If_Match=tag).status == 412


def test_a_condition_on_what_does_not_exist_is_a_404(node):
    for method, path in (
        ("DELETE", "/v1/schedules/nobody"),
        ("POST", "/v1/schedules/nobody:pause"),
    ):
        assert ask(node, method, path, If_Match='"1"').status == 404
