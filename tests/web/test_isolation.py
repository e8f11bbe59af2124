"""Tenants are strangers: a thousand requests for what is another's, and nothing is seen or changed.

The requests are made out of `/openapi.json`: every operation, with the names, ids, runs, cursors,
revisions, idempotency keys, flows, labels and hosts of the other wherever one may be written
(`owned.py`). Each is asked again about what nobody has, and must be answered alike. What an answer
holds of the other's and its request did not carry is a leak; and the other's rows stay as they are.
"""

import json
import random
import sqlite3
from base64 import urlsafe_b64decode
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.core.access import Scope
from tests.web.document_requests import Operation, Request, operations
from tests.web.keyed import TENANTS, Answer, Node, keyed_node
from tests.web.owned import KINDS, Owned, Thing, answer, imagine_all, make_all

REQUESTS = 500
"""About each of two tenants: 1,000 in all."""

SEED = 20_261_130
OPERATIONS = operations()
HOUR = timedelta(hours=1)
SHARED = {"progress", "master_key", "timetable", "downtime", "herd_record"}
"""Tables of the node's: nothing in them is one tenant's."""

LOOK_AHEAD = {"/v1/herd/forecast", "/v1/herd/what-if"}
"""From now on, if nothing is said."""

OWN = "SELECT id FROM schedule WHERE tenant = :tenant"


def words_of(owned: Owned, operation: Operation, seed: int, turn: int) -> dict[str, Any]:
    """What to write where; of the same seed and turn it is the same place with everybody."""
    chance = random.Random(seed)
    thing = owned.spare if is_about_spare(operation, seed) else chance.choice(owned.things)
    hour = datetime.now(UTC).replace(minute=0, second=0)
    either = chance.choice(("If-Match", "If-None-Match"))
    words = {
        "/v1/schedules/{name}": chance.choice([thing.name, thing.schedule_id]),
        "/v1/runs/{id}": thing.run,
        "/v1/flows/{key}": thing.flow,
        "/v1/tenants/{tenant}": "acme",
        "/v1/keys/{id}": "acme",
        "name": thing.name,
        "schedule": chance.choice([thing.name, thing.schedule_id]),
        "labels": {"mark": thing.label},
        "selector": chance.choice([f"mark={thing.label}", "mark", "mark!=none"]),
        "q": thing.name[:-1],
        "host": thing.host,
        "flow_key": thing.flow,
        "url": thing.url,
        "tenant": "acme",
        "cursor": owned.cursors.get(operation.path),
        "verbose": "",
        "every": 31_536_000,
        "rate": 50,
        "paused": chance.choice(["true", "false"]) if operation.method == "GET" else None,
        "state": chance.choice(["succeeded", "failed", "retry_wait"]),
        "bin": 60,
        "types": "runs",
        "limit": chance.choice([1, 2, 1_000]),
        "from": None if operation.path in LOOK_AHEAD else text_of(hour - HOUR),
        "to": text_of(hour + 2 * HOUR),
        "If-Match": chance.choice([*owned.etags, "*"]),
        "If-None-Match": "*",
        "Idempotency-Key": owned.keys[turn],
        "Last-Event-ID": owned.event_id,
    }
    return {**words, either: None}


def text_of(instant: datetime) -> str:
    return instant.isoformat(timespec="seconds")


def is_about_spare(operation: Operation, seed: int) -> bool:
    """What is made is made there, and may be deleted again."""
    return operation.can_make or (operation.method == "DELETE" and seed % 3 == 0)


def request_of(owned: Owned, operation: Operation, seed: int, turn: int) -> Request:
    """`turn`: how many before this may have used an idempotency key, since one serves once."""
    chance = random.Random(seed)
    words = words_of(owned, operation, seed, turn)
    if operation.method == "PUT":  # It takes a name that is its own, and no id.
        words["/v1/schedules/{name}"] = words["name"]
    return operation.request(words, lambda _: chance.random() < 0.5)


def send(node: Node, request: Request, key: str) -> Answer:
    return node.ask(
        request.method, request.path, key=key, body=request.body, headers=request.headers
    )


def verdict(answer: Answer) -> tuple[int, str | None]:
    """What an answer says of whether something is there."""
    is_problem = answer.headers.get("Content-Type") == "application/problem+json"
    return answer.status, answer.json["code"] if is_problem else None


def leaked(answer: Answer, request: Request, other: Owned) -> list[str]:
    """What is the other's, and was not in the request."""
    seen = answer.text + repr(answer.headers)
    # What a stranger has made under another's names is its own.
    known = request.text + " ".join(carried(other.spare))
    return [mark for mark in other.marks if mark in seen and mark not in known]


def carried(spare: Thing) -> tuple[str, ...]:
    return spare.name, spare.url, spare.host, spare.label, spare.flow


def rows_of(database: Path, tenant: str) -> dict[str, list[Any]]:
    """All rows of a tenant's, by table; when a key was last used aside, which is noted later."""
    found = {}
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table not in SHARED and not table.startswith("sqlite_"):
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
                listed = ", ".join(name for name in columns if name != "last_used_at")
                statement = f"SELECT {listed} FROM {table} WHERE {whose(table, columns)}"
                found[table] = sorted(
                    db.execute(statement, {"tenant": tenant}).fetchall(), key=repr
                )
    return found


def whose(table: str, columns: list[str]) -> str:
    if "tenant" in columns:
        return "tenant = :tenant"
    if "schedule_id" in columns:
        return f"schedule_id IN ({OWN})"
    if table == "target":
        return f"id IN (SELECT target_id FROM job_run WHERE schedule_id IN ({OWN}))"
    assert table == "tenant", f"say of {table} whose its rows are, or that they are shared"
    return "name = :tenant"


@pytest.mark.parametrize("victim", TENANTS)
def test_a_thousand_requests_for_anothers_find_and_change_nothing(tmp_path: Path, victim: str):
    (caller,) = {*TENANTS} - {victim}
    chance, asked, statuses = random.Random(SEED), Counter[str](), Counter[int]()
    with keyed_node(tmp_path, answer=answer) as node:
        other, _ = make_all(node, victim), make_all(node, caller)
        nobodys = imagine_all(other)
        keys = [node.create_key(caller, chance.choice([Scope.READ, Scope.WRITE, Scope.WRITE]))
                for _ in range(8)]  # fmt: skip
        before = rows_of(tmp_path / "data" / "offbeat.db", victim)
        for number in range(REQUESTS):
            operation, key = chance.choice(OPERATIONS), chance.choice(keys)
            seed = chance.getrandbits(64)
            turn = sum(times for route, times in asked.items() if route.startswith("POST"))
            request = request_of(other, operation, seed, turn)
            said = send(node, request, key)
            about = f"seed {SEED}, request {number}: {operation.method} {request}: {said}"
            asked[operation.route] += 1
            statuses[said.status] += 1
            assert said.status < 500, about
            assert leaked(said, request, other) == [], about
            twin = request_of(nobodys, operation, seed, turn)
            # What there is one of, the caller's own, is another after the first request.
            if twin != request and (operation.place or operation.method != "PUT"):
                assert verdict(send(node, twin, key)) == verdict(said), about
            if operation.names_a_tenants and not is_about_spare(operation, seed):
                assert said.status in {403, 404}, about
        assert rows_of(tmp_path / "data" / "offbeat.db", victim) == before, f"seed {SEED}"
    assert {operation.route for operation in OPERATIONS} == asked.keys()
    assert min(statuses[status] for status in (200, 403, 404)) >= REQUESTS // 10, statuses


def test_a_tenants_figures_are_what_they_would_be_if_it_were_alone(tmp_path: Path):
    hour = datetime.now(UTC).replace(minute=0, second=0)
    with keyed_node(tmp_path, answer=answer) as node:
        make_all(node, "acme")
        alone = figures_of(node, hour)
        make_all(node, "globex")
        assert figures_of(node, hour) == alone
    assert len(alone) >= 10
    assert '"schedules":7' in alone["GET /v1/audit"]
    assert '"selected_schedules":5' in alone["POST /v1/herd/what-if"]


def test_a_failure_is_told_to_the_tenant_whose_run_it_was(tmp_path: Path):
    with keyed_node(tmp_path, answer=answer) as node:
        for tenant in TENANTS:
            make_all(node, tenant)
        for tenant in TENANTS:
            runs = node.ask("GET", "/v1/runs?limit=1000", key=node.keys[tenant, Scope.READ]).json
            notices = [run for run in runs["data"] if run["trigger"] == "notice"]
            # Of all runs but the one that succeeded and the one that waits.
            assert [run["state"] for run in notices] == ["succeeded"] * (len(KINDS) - 2)


def test_secrets_are_rotated_from_ones_own_version_on(tmp_path: Path):
    with keyed_node(tmp_path) as node:
        acme, globex = (node.keys[tenant, Scope.WRITE] for tenant in TENANTS)
        for action in ("rotate", "retire", "rotate"):
            node.ask("POST", f"/v1/secrets:{action}", key=acme)
        answer = node.ask("POST", "/v1/secrets:rotate", key=globex)
        assert answer.status == 200, answer.text
        assert len(node.ask("GET", "/v1/secrets", key=acme).json["data"]) == 2


def figures_of(node: Node, hour: datetime) -> dict[str, str]:
    """What acme reads of all it has, over hours that are whole and do not begin now."""
    words = {"rate": 50, "bin": 60}
    ahead = words | {"from": text_of(hour + 2 * HOUR), "to": text_of(hour + 3 * HOUR)}
    behind = words | {"from": text_of(hour - HOUR), "to": text_of(hour)}
    return {
        operation.route: send(
            node,
            operation.request(
                ahead if operation.path in LOOK_AHEAD else behind, ahead.__contains__
            ),
            node.keys["acme", Scope.WRITE],
        ).text
        for operation in OPERATIONS
        if is_figure(operation)
    }


def is_figure(operation: Operation) -> bool:
    """Whether it reads something that a tenant has one of; the stream is that of the moment."""
    reads = operation.method == "GET" or operation.path in LOOK_AHEAD
    is_own = operation.needs in (Scope.READ, Scope.WRITE) and operation.place is None
    return reads and is_own and operation.path not in {"/metrics", "/v1/events"}


def test_a_cursor_of_runs_tells_nothing_of_others(tmp_path: Path):
    """It names the last run by its instant and its schedule's id, which its reader has seen."""
    with keyed_node(tmp_path, answer=answer) as node:
        for tenant in TENANTS:
            make_all(node, tenant)
            page = node.ask("GET", "/v1/runs?limit=1", key=node.keys[tenant, Scope.READ]).json
            cursor = page["next_cursor"]
            _, place = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            assert place == page["data"][0]["schedule_id"]
