"""`/v1/keys`, `/v1/tenants` and the limits of a key, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.core.access import Quotas, Scope
from tests.web.keyed import ADMIN_KEY, Node, keyed_node

EVERY = {"every": 60, "target": {"url": "http://h.example/"}}


class StoppedClock:
    """Time stands still."""

    def __init__(self, ms: int) -> None:
        self._ms = ms

    def now_ms(self) -> int:
        return self._ms

    def monotonic_ms(self) -> int:
        return self._ms


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with keyed_node(tmp_path_factory.mktemp("keys")) as node:
        yield node


def test_a_key_is_shown_once_works_at_once_and_ends_at_once(node: Node):
    body = {"tenant": "acme", "scope": "read", "name": "of the dashboard"}
    answer = node.ask("POST", "/v1/keys", key=ADMIN_KEY, body=body)
    key = answer.json.pop("key")
    created = {k: v for k, v in answer.json.items() if k != "key"}
    assert answer.headers["Cache-Control"] == "no-store"
    assert key.startswith(f"obk_{created['id']}_")
    assert created | body == created
    assert set(created) == {"id", "created_at", "last_used_at", *body}
    listed = node.ask("GET", "/v1/keys?limit=1000", key=ADMIN_KEY)
    assert created in [row | {"last_used_at": None} for row in listed.json["data"]]
    assert key.split("_")[2] not in listed.text
    assert node.ask("GET", "/v1/schedules", key=key).status == 200
    assert node.ask("DELETE", f"/v1/keys/{created['id']}", key=ADMIN_KEY).status == 204
    assert node.ask("GET", "/v1/schedules", key=key).status == 401
    assert node.ask("DELETE", f"/v1/keys/{created['id']}", key=ADMIN_KEY).status == 404


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/tenant", "/scope"]),
        ({"tenant": 1, "scope": "root", "x": 1}, ["/x", "/tenant", "/scope"]),
        ({"tenant": "nobody", "scope": "read"}, ["/tenant"]),
    ],
)
def test_a_key_for_nobody_is_refused(node: Node, body: object, pointers: list[str]):
    answer = node.ask("POST", "/v1/keys", key=ADMIN_KEY, body=body)
    assert answer.status == 422
    assert [error["pointer"] for error in answer.json["errors"]] == pointers


def test_lists_go_on_where_they_ended(node: Node):
    for path, member in (("/v1/keys", "id"), ("/v1/tenants", "name")):
        whole = node.ask("GET", f"{path}?limit=1000", key=ADMIN_KEY).json["data"]
        seen, cursor = [], ""
        while cursor is not None:
            page = node.ask("GET", f"{path}?limit=2{cursor}", key=ADMIN_KEY).json
            seen += page["data"]
            cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
        assert [row[member] for row in seen] == sorted(row[member] for row in whole)


def test_a_tenant_is_made_once_and_its_quotas_are_shown_as_they_hold(node: Node):
    made = node.ask("PUT", "/v1/tenants/initech", key=ADMIN_KEY, body={"schedules_max": 1})
    assert made.status == 201
    limits = (made.json["schedules_max"], made.json["interval_seconds_min"])
    assert (made.json["schedules"], limits) == (0, (1, 1))
    assert made.json["rate"] is None
    quotas = {"interval_seconds_min": 60, "rate": 5}
    again = node.ask("PUT", "/v1/tenants/initech", key=ADMIN_KEY, body=quotas)
    assert again.json["rate"] == 5
    assert again.status == 200
    assert (again.json["schedules_max"], again.json["interval_seconds_min"]) == (1_000_000, 60)
    assert again.json == node.ask("GET", "/v1/tenants/initech", key=ADMIN_KEY).json
    assert node.ask("DELETE", "/v1/tenants/initech", key=ADMIN_KEY).status == 204
    assert node.ask("GET", "/v1/tenants/initech", key=ADMIN_KEY).status == 404


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a%20b", {}),
        ("x" * 129, {}),
        ("acme", {"schedules_max": -1}),
        ("acme", {"interval_seconds_min": 0}),
        ("acme", {"rate": 0}),
        ("acme", {"schedules_mx": 1}),
    ],
)
def test_a_tenant_that_cannot_be_is_refused(node: Node, name: str, body: object):
    answer = node.ask("PUT", f"/v1/tenants/{name}", key=ADMIN_KEY, body=body)
    assert (answer.status, answer.json["code"]) == (422, "invalid")


def test_a_quota_that_is_reached_says_its_name_and_value(node: Node):
    node.run(node.engine.tenants.put("globex", Quotas(schedules_max=1)))
    key = node.keys["globex", Scope.WRITE]
    assert node.ask("PUT", "/v1/schedules/a", key=key, body=EVERY).status == 201
    answer = node.ask("PUT", "/v1/schedules/b", key=key, body=EVERY)
    assert (answer.status, answer.json["code"]) == (409, "limit_reached")
    assert answer.json["limit"] == {"name": "schedules_max", "value": 1}


@pytest.mark.parametrize("path", ["/v1/schedules", "/v1/status", "/metrics"])
def test_a_key_that_asks_too_often_is_told_when_to_come_back(
    path: str, node: Node, monkeypatch: pytest.MonkeyPatch
):
    now_ms = node.engine.clock.monotonic_ms()
    # No token comes in while the request is on its way.
    monkeypatch.setattr(node.engine.keys, "_clock", StoppedClock(now_ms))
    key = node.create_key("acme", Scope.READ)
    known = node.engine.keys.find(key)
    assert known is not None
    assert node.ask("GET", path, key=key, patient=False).status == 200
    asked = 1
    while not node.engine.keys.wait_ms(known):
        asked += 1
    assert asked == 500
    answer = node.ask("GET", path, key=key, patient=False)
    assert (answer.status, answer.json["code"]) == (429, "rate_limited")
    assert answer.json["limit"] == {"name": "requests_per_second", "value": 100}
    assert answer.headers["Retry-After"] == "1"
    assert node.ask("GET", "/v1/status").status == 200, "who has no key spends nobody's"


def test_what_a_key_holds_is_in_no_file_and_no_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    with keyed_node(tmp_path) as node:
        for key in (ADMIN_KEY, *node.keys.values()):
            node.ask("GET", "/v1/schedules", key=key)
            node.ask("GET", f"/v1/schedules/{key}", key=f"{key}x")
        secrets = [key.split("_")[2].encode() for key in (ADMIN_KEY, *node.keys.values())]
    log = b"".join(part.encode() for part in capfd.readouterr())
    assert b"key_created" in log
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "admin.key"]
    texts = [log, *(file.read_bytes() for file in files)]
    assert not [secret for secret in secrets if any(secret in text for text in texts)]
