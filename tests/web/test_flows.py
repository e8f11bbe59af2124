"""`/v1/flows`: which keys can have limits."""

from collections.abc import Iterator

import pytest

from engine.store import flows
from tests.web.keyed import Node, node_on

NEW = {"If-None-Match": "*"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with node_on(tmp_path_factory.mktemp("node")) as node:
        yield node


@pytest.mark.parametrize(
    "key", ["h.example:443", "[2001:db8::1]:80", "Mail_out.1", "inproc:report", "x" * 128]
)
def test_a_key_that_a_schedule_can_have_has_limits(node: Node, key: str):
    answer = node.ask("PUT", f"/v1/flows/{key}", body={"rate": 7}, headers=NEW)
    assert (answer.status, answer.json["key"], answer.json["rate"]) == (200, key, 7)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("two%20words", "write letters, digits and ._:[]- without blanks or slashes"),
        ("%C3%BCber", "write letters, digits"),
        ("a%0Ab", "write letters, digits"),
        ("50%25", "write letters, digits"),
        ("x" * 129, "at most 128 characters"),
    ],
)
def test_a_key_that_none_can_have_is_refused_with_the_rule(node: Node, path: str, says: str):
    answer = node.ask("PUT", f"/v1/flows/{path}", body={"rate": 7})
    assert answer.status == 422
    [fault] = answer.json["errors"]
    assert says in fault["detail"]
    assert node.ask("GET", f"/v1/flows/{path}").status == 404


def test_a_flow_that_no_schedule_has_named_is_limited_only_when_that_is_meant(node: Node):
    path = "/v1/flows/api.example.com"
    answer = node.ask("PUT", path, body={"rate": 7})
    assert answer.status == 422
    [fault] = answer.json["errors"]
    assert "GET /v1/flows lists those that there are" in fault["detail"]
    assert node.ask("GET", path).status == 404
    assert node.ask("PUT", path, body={"rate": 7}, headers=NEW).status == 200
    assert node.ask("PUT", path, body={"rate": 8}).json["rate"] == 8  # It is known from now on.
    assert node.ask("PUT", path, body={"rate": 9}, headers=NEW).status == 412


def test_a_flow_that_a_schedule_has_named_is_known(node: Node):
    target = {"url": "http://named.example/hook"}
    document = {"every": 60, "target": target}
    assert node.ask("PUT", "/v1/schedules/names-it", body=document).status == 201
    assert node.ask("PUT", "/v1/flows/named.example:80", body={"rate": 7}).status == 200


def test_deleted_limits_are_the_defaults_and_a_flow_without_schedules_is_forgotten(node: Node):
    target = {"url": "http://h.example/"}
    schedule = {"cron": "0 0 1 1 *", "target": target, "flow_key": "named"}
    assert node.ask("PUT", "/v1/schedules/job", body=schedule).status == 201
    node.ask("PUT", "/v1/flows/named", body={"rate": 7, "parallelism": 3, "paused": True})
    before = node.ask("GET", "/v1/flows/named").json
    assert before["rate"] == 7
    assert node.ask("DELETE", "/v1/flows/named").status == 204
    after = node.ask("GET", "/v1/flows/named").json
    assert (after["rate"], after["parallelism"], after["paused"]) == (None, 20, False)
    assert after["effective_rate"] is None
    assert after["revision"] == before["revision"] + 1
    first = node.ask("PUT", "/v1/flows/alone", body={"rate": 7}, headers=NEW).headers["ETag"]
    stale = {"If-Match": '"1"'}
    assert node.ask("DELETE", "/v1/flows/alone", headers=stale).status == 412
    assert node.ask("DELETE", "/v1/flows/alone").status == 204
    assert node.ask("GET", "/v1/flows/alone").status == 404
    assert node.ask("DELETE", "/v1/flows/alone").status == 404
    assert (
        node.ask("PUT", "/v1/flows/alone", body={"rate": 7}, headers=NEW).headers["ETag"] != first
    )


def test_flows_that_no_schedule_names_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(flows, "UNNAMED_FLOWS_MAX", 2)
    with node_on(tmp_path) as node:

        def put(key: str, headers: dict[str, str] = NEW) -> tuple[int, object]:
            answer = node.ask("PUT", f"/v1/flows/{key}", body={"rate": 1}, headers=headers)
            return answer.status, answer.json.get("limit")

        assert (put("a"), put("b"), put("a", {})) == ((200, None),) * 3
        assert put("c") == (409, {"name": "unnamed_flows_max", "value": 2})
        schedule = {"cron": "0 0 1 1 *", "target": {"url": "http://h.example/"}, "flow_key": "a"}
        assert node.ask("PUT", "/v1/schedules/job", body=schedule).status == 201
        assert (put("c"), put("d")[0]) == ((200, None), 409)
        assert node.ask("DELETE", "/v1/flows/b").status == 204
        assert put("d") == (200, None)
