"""`/v1/notices`: who is told of failures, named, read back, sent back and taken away."""

from collections.abc import Iterator

import pytest

from engine.core.access import Scope
from engine.core.identity import schedule_id
from tests.web.keyed import Answer, Node, keyed_node

ALERTS = {"target": {"url": "http://acme.example/alerts"}}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with keyed_node(tmp_path_factory.mktemp("node")) as node:
        yield node


def ask(node: Node, method: str, body: object = None, **headers: str) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return node.ask(
        method, "/v1/notices", key=node.keys["acme", Scope.WRITE], body=body, headers=sent
    )


def faults(answer: Answer) -> dict[str, str]:
    assert answer.status == 422, answer.text
    return {error["pointer"]: error["detail"] for error in answer.json["errors"]}


@pytest.fixture(autouse=True)
def nobody_is_told(node: Node) -> None:
    ask(node, "DELETE")


def test_a_target_is_named_read_and_taken_away(node: Node):
    put = ask(node, "PUT", ALERTS)
    assert put.status == 201
    assert put.json == {
        "target": {
            "url": "http://acme.example/alerts",
            "method": "POST",
            "headers": {},
            "timeout_seconds": 15,
        },
        "schedule_id": schedule_id("acme", "sch_notices"),
        "paused": False,
        "pause_reason": None,
        "revision": put.json["revision"],
    }
    assert ask(node, "GET").json == put.json
    assert ask(node, "PUT", put.json).status == 200
    assert ask(node, "DELETE").status == 204
    for method in ("GET", "DELETE"):
        answer = ask(node, method)
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert "PUT /v1/notices" in answer.json["detail"]


def test_conditions_hold_for_it_too(node: Node):
    first = ask(node, "PUT", ALERTS, If_None_Match="*")
    assert first.status == 201
    assert ask(node, "PUT", ALERTS, If_None_Match="*").status == 412
    assert ask(node, "DELETE", If_Match='"99"').status == 412
    assert ask(node, "DELETE", If_Match=first.headers["ETag"]).status == 204


def test_the_engine_writes_the_body(node: Node):
    for member in ("body", "json", "body_base64"):
        answer = ask(node, "PUT", {"target": {**ALERTS["target"], member: "x"}})
        assert "unknown field" in faults(answer)[f"/target/{member}"]
    answer = ask(node, "PUT", {"target": {**ALERTS["target"], "method": "GET"}})
    assert faults(answer) == {"/target/method": 'write one of "POST", "PUT", "PATCH"'}


def test_its_target_is_judged_like_any_other(node: Node):
    assert list(faults(ask(node, "PUT", {}))) == ["/target"]
    inside = ask(node, "PUT", {"target": {"url": "http://10.0.0.1/"}})
    assert "egress.allow" in faults(inside)["/target/url"]
    handler = ask(node, "PUT", {"target": {"url": "inproc:mine"}})
    assert list(faults(handler)) == ["/target/url"]


def test_its_credentials_are_masked_and_kept(node: Node):
    target = {**ALERTS["target"], "headers": {"Authorization": "Bearer open-sesame"}}
    document = ask(node, "PUT", {"target": target}).json
    assert document["target"]["headers"] == {"Authorization": "********"}
    document["target"]["timeout_seconds"] = 3
    again = ask(node, "PUT", document)
    assert (again.status, again.json["target"]) == (200, document["target"])
    document["target"]["url"] = "http://other.example/"
    assert "mask" in faults(ask(node, "PUT", document))["/target/headers/Authorization"]


def test_the_schedule_behind_it_is_not_among_the_schedules(node: Node):
    ask(node, "PUT", ALERTS)
    key = node.keys["acme", Scope.WRITE]
    assert node.ask("GET", "/v1/schedules", key=key).json["data"] == []
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/runs"),
        ("POST", ":trigger"),
        ("POST", ":pause"),
    ):
        assert node.ask(method, f"/v1/schedules/sch_notices{path}", key=key).status == 404, path


def test_a_target_is_no_schedule_of_the_quota(node: Node):
    admin, path = node.keys["acme", Scope.ADMIN], "/v1/tenants/acme"
    schedule = {"every": 60, "target": {"url": "http://h.example/"}}
    node.ask("PUT", path, key=admin, body={"schedules_max": 1})

    def put(name: str) -> int:
        key = node.keys["acme", Scope.WRITE]
        return node.ask("PUT", f"/v1/schedules/{name}", key=key, body=schedule).status

    assert ask(node, "PUT", ALERTS).status == 201
    assert [put("a"), put("b")] == [201, 409]
    assert node.ask("GET", path, key=admin).json["schedules"] == 1
    assert ask(node, "DELETE").status == 204
    assert [put("b"), put("a")] == [409, 200]
    assert ask(node, "PUT", ALERTS).status == 201, "with no room for a schedule"
    assert node.ask("GET", path, key=admin).json["schedules"] == 1
