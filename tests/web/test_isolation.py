"""Tenants are strangers: a thousand requests for what is another's, and nothing is seen or changed.

Each tenant's names, labels, targets, flows and timetables carry a mark of its own. A stranger's
request may name another's resource, since names can be guessed, and its answer must not hold the
mark. What both may have (a schedule of the same name) is the stranger's own.
"""

import json
import random
import re
import time
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from engine.core.access import Scope
from tests.web.keyed import TENANTS, Node, keyed_node

REQUESTS = 1_000
SEED = 20_261_130
MARKS = {"acme": "amethyst", "globex": "gneiss"}
NDJSON = {"Content-Type": "application/x-ndjson"}


class Owned(NamedTuple):
    """What a stranger may know of another tenant: names and ids, and none of the marks."""

    name: str
    schedule_id: str
    run: str
    flow: str


class Wish(NamedTuple):
    method: str
    path: str
    body: Any = None
    headers: dict[str, str] | None = None
    finds: bool = True
    """Whether it names a resource, which there would be, were it the caller's own."""
    makes: bool = False
    """Whether it makes a schedule of its own, under another's name."""


def document(tenant: str, number: int) -> dict[str, Any]:
    mark = MARKS[tenant]
    return {
        "cron": f"{number} 9 * * *",
        "labels": {"mark": f"{mark}-label"},
        "target": {"url": f"http://{mark}.example/", "headers": {"X-Mark": mark}},
        "flow_key": f"f{number}-of-{tenant}",
    }


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with keyed_node(tmp_path_factory.mktemp("isolation")) as node:
        yield node


@pytest.fixture(scope="module")
def owned(node: Node) -> dict[str, list[Owned]]:
    found: dict[str, list[Owned]] = {}
    for tenant in TENANTS:
        key = node.keys[tenant, Scope.WRITE]
        found[tenant] = []
        for number in range(5):
            name = f"report-{number}-of-{tenant}"
            path = f"/v1/schedules/{name}"
            node.ask("PUT", path, key=key, body=document(tenant, number))
            run = node.ask("POST", f"{path}:trigger", key=key).json
            flow = f"f{number}-of-{tenant}"
            found[tenant].append(Owned(name, run["schedule_id"], run["id"], flow))
            end(node, run["id"], key)
    return found


def end(node: Node, run: str, key: str) -> None:
    """Wait for the end of a run, behind which nothing changes by itself."""
    deadline = time.monotonic() + 30
    while node.ask("GET", f"/v1/runs/{run}", key=key).json["ended_at"] is None:
        assert time.monotonic() < deadline


def wish(chance: random.Random, caller: str, other: Owned, cursors: dict[str, str]) -> Wish:
    """A request for what is another's."""
    schedule = f"/v1/schedules/{other.name}"
    by_id = f"/v1/schedules/{other.schedule_id}"
    patch = {"priority": 3, "flow_key": other.flow}
    span = {"from": "2026-11-01T00:00:00Z", "to": "2026-11-03T00:00:00Z"}
    lines = (json.dumps({**document(caller, 9), "name": other.name}) + "\n").encode()
    return chance.choice([
        Wish("GET", schedule),
        Wish("GET", by_id),
        Wish("GET", f"{schedule}/occurrences?limit=5"),
        Wish("PATCH", schedule, patch),
        Wish("DELETE", chance.choice([schedule, by_id])),
        *(Wish("POST", f"{schedule}:{action}") for action in ("pause", "resume", "trigger")),
        Wish("POST", f"{schedule}:backfill", span),
        Wish("GET", f"/v1/runs/{other.run}"),
        Wish("GET", f"/v1/flows/{other.flow}"),
        Wish("GET", f"/v1/runs?schedule={chance.choice(other[:2])}", finds=False),
        Wish("GET", f"/v1/runs?limit=2&cursor={cursors['runs']}", finds=False),
        Wish("GET", f"/v1/schedules?limit=2&cursor={cursors['schedules']}", finds=False),
        Wish("GET", "/v1/schedules", finds=False),
        Wish("GET", "/v1/flows", finds=False),
        Wish("GET", "/v1/runs?limit=1000", finds=False),
        Wish("GET", "/v1/audit", finds=False),
        Wish("GET", "/v1/secrets", finds=False),
        Wish("GET", "/v1/keys", finds=False),
        Wish("GET", "/v1/tenants", finds=False),
        Wish("GET", "/v1/herd/monitor", finds=False),
        Wish("GET", "/v1/herd/forecast", finds=False),
        Wish("PUT", schedule, document(caller, 9), finds=False, makes=True),
        Wish("POST", "/v1/schedules:batch", lines, NDJSON, finds=False, makes=True),
    ])  # fmt: skip


def everything_of(node: Node, tenant: str, owned: list[Owned]) -> list[str]:
    """Its own schedules, runs and secrets as it sees them."""
    key = node.keys[tenant, Scope.WRITE]
    paths = [f"/v1/schedules/{each.name}" for each in owned]
    paths += [f"/v1/runs/{each.run}" for each in owned] + ["/v1/secrets"]
    return [node.ask("GET", path, key=key).text for path in paths]


def test_a_thousand_requests_for_anothers_find_and_change_nothing(
    node: Node, owned: dict[str, list[Owned]]
):
    chance = random.Random(SEED)
    keys = {
        tenant: [node.create_key(tenant, scope) for scope in (Scope.READ, Scope.WRITE)] * 2
        for tenant in TENANTS
    }
    cursors = {
        tenant: {
            what: node.ask("GET", f"/v1/{what}?limit=1", key=keys[tenant][0]).json["next_cursor"]
            for what in ("runs", "schedules")
        }
        for tenant in TENANTS
    }
    secrets = {tenant: node.engine.of(tenant).secrets.active[0] for tenant in TENANTS}
    before = {tenant: everything_of(node, tenant, owned[tenant]) for tenant in TENANTS}
    own: dict[str, set[str]] = {tenant: set() for tenant in TENANTS}
    statuses: Counter[int] = Counter()
    for _ in range(REQUESTS):
        caller, other = chance.sample(TENANTS, 2)
        target = chance.choice(owned[other])
        wanted = wish(chance, caller, target, cursors[other])
        answer = node.ask(
            wanted.method,
            wanted.path,
            key=chance.choice(keys[caller]),
            body=wanted.body,
            headers=wanted.headers,
        )
        statuses[answer.status] += 1
        assert answer.status < 500, answer.text
        if wanted.makes and answer.status in {200, 201}:
            own[caller] |= {target.name, target.flow}
        if wanted.finds and target.name not in own[caller]:
            assert answer.status in {403, 404}, (wanted, answer.text)
        seen = answer.text + repr(answer.headers)
        assert MARKS[other] not in seen, wanted
        assert secrets[other] not in seen, wanted
        assert set(re.findall(rf"[\w-]+-of-{other}", answer.text)) <= own[caller], wanted
    assert before == {tenant: everything_of(node, tenant, owned[tenant]) for tenant in TENANTS}
    assert statuses[404] > REQUESTS // 5
    assert statuses[200] > REQUESTS // 5


def test_a_cursor_of_runs_tells_nothing_of_others(node, owned):
    """It names the last run by its instant and its schedule's id, which its reader has seen."""
    for tenant in TENANTS:
        page = node.ask("GET", "/v1/runs?limit=1", key=node.keys[tenant, Scope.READ]).json
        cursor = page["next_cursor"]
        _, place = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        assert place == page["data"][0]["schedule_id"]
