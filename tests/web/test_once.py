"""`Idempotency-Key` over the real journal: one effect, one answer, over restarts too."""

import asyncio
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.core.access import Scope
from engine.core.json_text import compact_json
from engine.core.model import Outcome
from engine.store import answers
from engine.web import schedules as schedule_handlers
from engine.web.application import DESCRIPTION
from tests.web.keyed import Node, keyed_node, node_on

TARGET = {"url": "http://h.example/"}
UNNAMED = {"cron": "0 0 1 1 *", "target": TARGET}
KEYS = Draft202012Validator(
    DESCRIPTION.document["paths"]["/v1/schedules"]["post"]["parameters"][0]["schema"]
)
SPAN = {"from": "2026-11-01T00:00:00Z", "to": "2099-01-01T00:00:00Z"}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with keyed_node(tmp_path) as node:
        yield node


def post(node: Node, path: str, body: Any = None, *, once: str, tenant: str = "acme") -> Any:
    key = node.keys[tenant, Scope.ADMIN]
    return node.ask("POST", path, key=key, body=body, headers={"Idempotency-Key": once})


def names(node: Node, tenant: str = "acme") -> list[str]:
    page = node.ask("GET", "/v1/schedules", key=node.keys[tenant, Scope.READ]).json
    return [each["name"] for each in page["data"]]


def test_c35_the_same_post_makes_one_schedule_and_gets_one_answer(node):
    first = post(node, "/v1/schedules", UNNAMED, once="a-1")
    again = post(node, "/v1/schedules", UNNAMED, once="a-1")
    assert (first.status, again.status) == (201, 201)
    assert again.text == first.text
    for header in ("Location", "ETag"):
        assert again.headers[header] == first.headers[header]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert names(node) == [first.json["name"]]
    assert first.headers["Location"] == f"/v1/schedules/{first.json['name']}"


def test_c35_posts_at_the_same_time_make_one_schedule_and_get_one_answer(node):
    headers = {
        "Idempotency-Key": "a-1",
        "Authorization": f"Bearer {node.keys['acme', Scope.WRITE]}",
        "Content-Type": "application/json",
    }
    data = json.dumps(UNNAMED).encode()

    async def together() -> Any:
        return await asyncio.gather(
            *(node._ask("POST", "/v1/schedules", headers, data) for _ in range(8))
        )

    given = node.run(together())
    assert [answer.status for answer in given] == [201] * 8
    assert len({answer.text for answer in given}) == 1
    assert len(names(node)) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/schedules", UNNAMED | {"priority": 2}),
        ("/v1/schedules/report:trigger", None),
        ("/v1/keys", {"tenant": "acme", "scope": "read"}),
    ],
)
def test_another_request_under_a_key_is_refused(node, path, body):
    report = {**UNNAMED, "name": "report"}
    assert post(node, "/v1/schedules", report, once="a-1").status == 201
    answer = post(node, path, body, once="a-1")
    assert (answer.status, answer.json["code"]) == (422, "idempotency_key_taken")
    assert names(node) == ["report"]


def test_tenants_have_keys_of_their_own(node):
    mine = post(node, "/v1/schedules", UNNAMED, once="a-1")
    other = post(node, "/v1/schedules", UNNAMED, once="a-1", tenant="globex")
    assert (mine.status, other.status) == (201, 201)
    assert names(node) == [mine.json["name"]] != names(node, "globex")


def test_what_was_refused_leaves_its_key_free(node):
    assert post(node, "/v1/schedules", UNNAMED | {"cron": "x"}, once="a-1").status == 422
    assert post(node, "/v1/schedules/nobody:trigger", once="a-1").status == 404
    assert post(node, "/v1/schedules", UNNAMED, once="a-1").status == 201


def test_a_name_that_is_taken_is_a_conflict(node):
    named = UNNAMED | {"name": "report"}
    assert post(node, "/v1/schedules", named, once="a-1").status == 201
    answer = post(node, "/v1/schedules", named | {"priority": 2}, once="a-2")
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert "PUT" in answer.json["detail"]


def test_a_trigger_and_a_backfill_are_done_once(node):
    post(node, "/v1/schedules", UNNAMED | {"name": "report"}, once="a-1")
    for path, body in (("report:trigger", None), ("report:backfill", SPAN)):
        first = post(node, f"/v1/schedules/{path}", body, once=path)
        again = post(node, f"/v1/schedules/{path}", body, once=path)
        assert (first.status, again.status) == (202, 202)
        assert (again.text, again.headers.get("Location")) == (
            first.text,
            first.headers.get("Location"),
        )
    runs = node.ask("GET", "/v1/runs", key=node.keys["acme", Scope.READ]).json["data"]
    assert [run["trigger"] for run in runs] == ["manual"]


def test_a_run_is_replayed_once_however_often_that_is_sent(tmp_path):
    with node_on(tmp_path) as node:
        run = ended_run(node, "succeeded", attempts=1)
        first = keyless(node, f"/v1/runs/{run}:replay", once="a-1")
        assert first.status == 202, first.text
        wait_for(node, run, "succeeded", attempts=2)
        for _ in range(2):
            assert_given_again(keyless(node, f"/v1/runs/{run}:replay", once="a-1"), first)
        wait_for(node, run, "succeeded", attempts=2)


def test_a_run_is_cancelled_once_however_often_that_is_sent(tmp_path):
    with node_on(tmp_path) as node:
        keyless(node, "/v1/schedules", UNNAMED | {"name": "report"})
        node.ask("PUT", "/v1/flows/h.example:80", body={"paused": True})
        run = keyless(node, "/v1/schedules/report:trigger").json["id"]
        first = keyless(node, f"/v1/runs/{run}:cancel", once="a-1")
        assert (first.status, first.json["state"]) == (200, "cancelled")
        assert_given_again(keyless(node, f"/v1/runs/{run}:cancel", once="a-1"), first)
        assert keyless(node, f"/v1/runs/{run}:cancel", once="a-2").status == 409


@pytest.mark.parametrize(("path", "status"), [("replay", 202), ("delete", 200)])
def test_failed_runs_are_settled_once_however_often_that_is_sent(tmp_path, path, status):
    with node_on(tmp_path, answer=lambda _: Outcome(name="http_error", status=404)) as node:
        run = ended_run(node, "failed", attempts=1)
        first = keyless(node, f"/v1/runs:{path}", once="a-1")
        assert (first.status, first.json["count"]) == (status, 1)
        if path == "replay":
            wait_for(node, run, "failed", attempts=2)
        assert_given_again(keyless(node, f"/v1/runs:{path}", once="a-1"), first)


def test_a_key_is_shown_again_and_kept_nowhere(node, tmp_path):
    asked = {"tenant": "globex", "scope": "write"}
    first = post(node, "/v1/keys", asked, once="a-1")
    again = post(node, "/v1/keys", asked, once="a-1")
    assert again.text == first.text
    text = first.json["key"]
    assert node.ask("GET", "/v1/schedules", key=text).status == 200
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
    assert text.split("_")[1].encode() in stored, "the public part, so that this looks where it is"
    assert text.split("_")[2].encode() not in stored
    other = post(node, "/v1/keys", asked, once="a-2").json["key"]
    assert other != text


def test_a_key_that_was_revoked_is_shown_no_more(node):
    asked = {"tenant": "globex", "scope": "write"}
    first = post(node, "/v1/keys", asked, once="a-1")
    key = node.keys["acme", Scope.ADMIN]
    assert node.ask("DELETE", f"/v1/keys/{first.json['id']}", key=key).status == 204
    again = post(node, "/v1/keys", asked, once="a-1")
    assert (again.status, again.json["code"]) == (409, "conflict")
    assert first.json["key"].split("_")[2] not in again.text
    assert node.ask("GET", "/v1/schedules", key=first.json["key"]).status == 401
    assert post(node, "/v1/keys", asked, once="a-2").status == 201


def test_a_credential_is_in_no_answer_that_is_kept(node, tmp_path):
    canary = "Bearer canary-of-acme-0123456789"
    asked = UNNAMED | {"target": {**TARGET, "headers": {"Authorization": canary}}}
    first = post(node, "/v1/schedules", asked, once="a-1")
    assert first.status == 201, first.text
    assert post(node, "/v1/schedules", asked, once="a-1").text == first.text
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
    assert first.json["name"].encode() in stored
    assert canary.encode() not in stored + first.text.encode()


def test_nobody_can_guess_a_request_from_what_is_kept_of_it(node, tmp_path):
    answer = post(node, "/v1/schedules", UNNAMED, once="a-1")
    assert answer.status == 201, answer.text
    asked = b"POST /v1/schedules\0"
    bodies = [json.dumps(UNNAMED).encode(), compact_json(UNNAMED)]
    guesses = [hashlib.sha256(asked + body).digest() for body in bodies]
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
    assert answer.json["name"].encode() in stored
    assert not any(guess in stored for guess in guesses)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**40])
def test_an_answer_keeps_integers_of_any_size(node, number):
    asked = UNNAMED | {"target": {**TARGET, "json": {"n": number}}}
    first = post(node, "/v1/schedules", asked, once="a-1")
    assert first.status == 201, first.text
    again = post(node, "/v1/schedules", asked, once="a-1")
    assert again.text == first.text
    assert again.json["target"]["json"] == {"n": number}


@pytest.mark.parametrize("key", ["", '""', "a b", "é", "x" * 256, '"a', "a\\b"])
def test_what_is_no_key_is_refused(node, key):
    answer = post(node, "/v1/schedules", UNNAMED, once=key)
    assert (answer.status, answer.json["code"]) == (400, "malformed")
    assert names(node) == []
    assert not KEYS.is_valid(key)


def test_quotes_are_not_part_of_the_key(node):
    first = post(node, "/v1/schedules", UNNAMED, once='"a-1"')
    assert post(node, "/v1/schedules", UNNAMED, once="a-1").text == first.text
    assert KEYS.is_valid('"a-1"')
    assert KEYS.is_valid("a-1")


def test_answers_outlive_the_engine_and_go_after_a_day(tmp_path):
    def ask(node: Node, once: str) -> Any:
        headers = {"Idempotency-Key": once}
        return node.ask("POST", "/v1/schedules", body=UNNAMED, headers=headers)

    with node_on(tmp_path) as node:
        first, second = ask(node, "a-1"), ask(node, "a-2")
    with node_on(tmp_path) as node:
        assert ask(node, "a-1").text == first.text
    with sqlite3.connect(tmp_path / "data" / "offbeat.db") as db:
        db.execute("UPDATE answer SET created_at = created_at - 86400000")
    db.close()
    with node_on(tmp_path) as node:
        assert ask(node, "a-1").json["name"] not in {first.json["name"], second.json["name"]}
    with sqlite3.connect(tmp_path / "data" / "offbeat.db") as db:
        assert db.execute("SELECT count(*) FROM answer").fetchall() == [(1,)]
    db.close()


def test_an_answer_that_cannot_be_kept_undoes_what_it_answers(node, monkeypatch):
    monkeypatch.setattr(answers, "IDEMPOTENCY_KEYS_MAX", 2)
    for once in ("a-1", "a-2"):
        assert post(node, "/v1/schedules", UNNAMED, once=once).status == 201
    answer = post(node, "/v1/schedules", UNNAMED, once="a-3")
    assert (answer.status, answer.json["limit"]) == (
        409,
        {"name": "idempotency_keys_max", "value": 2},
    )
    assert len(names(node)) == 2
    assert post(node, "/v1/schedules", UNNAMED, once="a-1").status == 201
    assert post(node, "/v1/schedules", UNNAMED, once="a-1", tenant="globex").status == 201


def test_no_effect_is_stored_without_its_answer(node, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise OverflowError("there is no answer to this")

    monkeypatch.setattr(schedule_handlers, "_created", fails)
    assert post(node, "/v1/schedules", UNNAMED, once="a-1").status == 500
    assert names(node) == []


def test_the_next_owner_of_a_tenants_name_gets_none_of_its_answers(node):
    node.ask("PUT", "/v1/tenants/initech", key=node.keys["acme", Scope.ADMIN], body={})
    for _ in range(2):
        admin = node.create_key("initech", Scope.ADMIN)
        node.keys["initech", Scope.ADMIN] = admin
        answer = post(node, "/v1/keys", {"tenant": "acme", "scope": "read"}, once="a-1",
                      tenant="initech")  # fmt: skip
        assert "Idempotent-Replayed" not in answer.headers
        node.run(node.engine.keys.revoke(admin.split("_")[1]))
        node.ask("DELETE", "/v1/tenants/initech", key=node.keys["acme", Scope.ADMIN])
        node.ask("PUT", "/v1/tenants/initech", key=node.keys["acme", Scope.ADMIN], body={})


def keyless(node: Node, path: str, body: Any = None, *, once: str | None = None) -> Any:
    headers = {} if once is None else {"Idempotency-Key": once}
    return node.ask("POST", path, body=body, headers=headers)


def ended_run(node: Node, state: str, *, attempts: int) -> str:
    """The id of a run that has been triggered and has ended."""
    keyless(node, "/v1/schedules", UNNAMED | {"name": "report"})
    run: str = keyless(node, "/v1/schedules/report:trigger").json["id"]
    wait_for(node, run, state, attempts=attempts)
    return run


def wait_for(node: Node, run: str, state: str, *, attempts: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        found = node.ask("GET", f"/v1/runs/{run}").json
        if (found["state"], found["attempt_count"]) == (state, attempts):
            return
        assert time.monotonic() < deadline, found


def assert_given_again(again: Any, first: Any) -> None:
    assert (again.status, again.text) == (first.status, first.text)
    assert again.headers["Idempotent-Replayed"] == "true"
