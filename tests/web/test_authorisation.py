"""Who may do what: every route, asked by everybody.

The table says what each operation needs, beside `/openapi.json` and not out of it, so that a scope
which was changed by mistake is seen; an operation that is not in it fails the first test.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from engine.core.access import Scope
from engine.web.application import DESCRIPTION
from tests.web.keyed import ADMIN_KEY, TENANTS, Node, keyed_node

OPEN, READ, WRITE, ADMIN = None, Scope.READ, Scope.WRITE, Scope.ADMIN
REPORT = {
    "cron": "0 9 * * *",
    "target": {"url": "http://acme.example/"},
    "flow_key": "acme-flow",
}
NOWHERE = "sch_00000000000000000000000000@2026-11-30T12:00:00Z"
NOTICES = {"target": {"url": "http://h.example/alerts"}}
PLAIN = {"every": 60, "target": {"url": "http://h.example/"}}
SPAN = {"from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z", "dry_run": True}
NDJSON = {"Content-Type": "application/x-ndjson"}


class Case(NamedTuple):
    """A request of acme's, the scope it needs, its status, and a stranger's."""

    route: str
    needs: Scope | None
    status: int
    stranger: int
    path: str = ""
    body: Any = None
    headers: dict[str, str] | None = None


CASES = [
    Case("GET /openapi.json", OPEN, 200, 200),
    Case("GET /docs", OPEN, 200, 200),
    Case("GET /livez", OPEN, 200, 200),
    Case("GET /readyz", OPEN, 200, 200),
    Case("GET /metrics", OPEN, 200, 200),  # On loopback; elsewhere see below.
    Case("GET /v1/secrets", WRITE, 200, 200),
    Case("POST /v1/secrets:rotate", WRITE, 409, 409),
    Case("POST /v1/secrets:retire", WRITE, 200, 200),
    Case("GET /v1/notices", READ, 200, 404),
    Case("PUT /v1/notices", WRITE, 200, 201, body=NOTICES),
    Case("DELETE /v1/notices", WRITE, 204, 404),
    Case("GET /v1/schedules", READ, 200, 200),
    Case("POST /v1/schedules", WRITE, 201, 201, body=PLAIN),
    Case("POST /v1/schedules:batch", WRITE, 200, 200, body=b"", headers=NDJSON),
    Case("POST /v1/schedules:preview", READ, 200, 200, body=PLAIN),
    Case("GET /v1/schedules/{name}", READ, 200, 404, "/v1/schedules/report"),
    Case("PUT /v1/schedules/{name}", WRITE, 200, 201, "/v1/schedules/report", PLAIN),
    Case("PATCH /v1/schedules/{name}", WRITE, 200, 404, "/v1/schedules/report", {"priority": 2}),
    Case("DELETE /v1/schedules/{name}", WRITE, 204, 404, "/v1/schedules/report"),
    Case("GET /v1/schedules/{name}/occurrences", READ, 200, 404,
         "/v1/schedules/report/occurrences"),
    Case("GET /v1/schedules/{name}/runs", READ, 200, 404, "/v1/schedules/report/runs"),
    Case("POST /v1/schedules/{name}:pause", WRITE, 200, 404, "/v1/schedules/report:pause"),
    Case("POST /v1/schedules/{name}:resume", WRITE, 200, 404, "/v1/schedules/report:resume"),
    Case("POST /v1/schedules/{name}:trigger", WRITE, 202, 404, "/v1/schedules/report:trigger"),
    Case("POST /v1/schedules/{name}:backfill", WRITE, 200, 404, "/v1/schedules/report:backfill",
         SPAN),
    Case("GET /v1/runs", READ, 200, 200),
    Case("POST /v1/runs:replay", WRITE, 202, 202),
    Case("POST /v1/runs:delete", WRITE, 200, 200),
    Case("GET /v1/runs/{id}", READ, 200, 404, "/v1/runs/{run}"),
    Case("POST /v1/runs/{id}:cancel", WRITE, 404, 404, f"/v1/runs/{NOWHERE}:cancel"),
    Case("POST /v1/runs/{id}:replay", WRITE, 404, 404, f"/v1/runs/{NOWHERE}:replay"),
    Case("GET /v1/failures", READ, 200, 200),
    Case("GET /v1/events", READ, 200, 200),
    Case("GET /v1/flows", READ, 200, 200),
    Case("GET /v1/flows/{key}", READ, 200, 404, "/v1/flows/acme-flow"),
    Case("PUT /v1/flows/{key}", WRITE, 200, 422, "/v1/flows/acme-flow", {"rate": 9}),
    Case("DELETE /v1/flows/{key}", WRITE, 204, 404, "/v1/flows/acme-flow"),
    Case("GET /v1/audit", READ, 200, 200),
    Case("GET /v1/herd/forecast", READ, 200, 200),
    Case("POST /v1/herd/what-if", READ, 200, 200, body={"rate": 50}),
    Case("GET /v1/herd/advice", READ, 200, 200),
    Case("GET /v1/herd/monitor", ADMIN, 200, 200),
    Case("GET /v1/herd/forecast-audit", ADMIN, 200, 200),
    Case("GET /v1/herd/attribution", READ, 200, 200),
    Case("GET /v1/system", ADMIN, 200, 200),
    Case("GET /v1/tenants", ADMIN, 200, 200),
    Case("GET /v1/tenants/{tenant}", ADMIN, 200, 200, "/v1/tenants/acme"),
    Case("PUT /v1/tenants/{tenant}", ADMIN, 200, 200, "/v1/tenants/acme", {}),
    Case("DELETE /v1/tenants/{tenant}", ADMIN, 409, 409, "/v1/tenants/acme"),
    Case("GET /v1/keys", ADMIN, 200, 200),
    Case("POST /v1/keys", ADMIN, 201, 201, body={"tenant": "acme", "scope": "read"}),
    Case("DELETE /v1/keys/{id}", ADMIN, 404, 404, "/v1/keys/nobody"),
]  # fmt: skip


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with keyed_node(tmp_path_factory.mktemp("node")) as node:
        yield node


def ask(node: Node, case: Case, key: str | None) -> Any:
    """Ask a case with acme's schedule, run, flow and notices in place, and two secrets active."""
    acme = node.keys["acme", WRITE]
    node.ask("PUT", "/v1/schedules/report", key=acme, body=REPORT)
    node.ask("PUT", "/v1/notices", key=acme, body=NOTICES)
    run = node.ask("POST", "/v1/schedules/report:trigger", key=acme).json["id"]
    for secrets in (node.engine.of(tenant).secrets for tenant in TENANTS):
        if len(secrets.active) == 1:
            node.run(secrets.rotate())
    method, _, route = case.route.partition(" ")
    path = (case.path or route).replace("{run}", run)
    answer = node.ask(method, path, key=key, body=case.body, headers=case.headers)
    # What a stranger made under the same name is its own, and would be found the next time.
    for own in ("/v1/schedules/report", "/v1/notices"):
        node.ask("DELETE", own, key=node.keys["globex", WRITE])
    return answer


def test_the_table_has_every_operation_and_its_scope():
    described = {
        f"{method.upper()} {path}": operation.get("security", [{"key": [OPEN]}])[0]["key"][0]
        for path, methods in DESCRIPTION.document["paths"].items()
        for method, operation in methods.items()
    }
    assert len(CASES) == len(described)
    assert described | {"GET /metrics": OPEN} == {case.route: case.needs for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.route)
def test_nobody_gets_in_without_a_key_that_is_known(node: Node, case: Case):
    revoked = node.create_key("acme", ADMIN)
    node.run(node.engine.keys.revoke(revoked.split("_")[1]))
    half_right = node.keys["acme", ADMIN][:-1] + "0"
    for key in (None, revoked, half_right, "obk_x_y", "", "é"):
        answer = ask(node, case, key)
        assert answer.status == (case.status if case.needs is OPEN else 401), key
        if answer.status == 401:
            assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="offbeat"')
            assert answer.json["code"] == ("key_required" if key is None else "key_unknown")


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.route)
def test_a_scope_opens_what_it_says_and_no_more(node: Node, case: Case, scope: Scope):
    answer = ask(node, case, node.keys["acme", scope])
    if case.needs is OPEN or scope.allows(case.needs):
        assert answer.status == case.status, answer.text
    else:
        assert (answer.status, answer.json["code"]) == (403, "insufficient_scope")
        assert answer.json["scope"] == case.needs
        assert f'scope="{case.needs}"' in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.route)
def test_a_strangers_key_finds_nothing_of_acmes(node: Node, case: Case):
    answer = ask(node, case, node.keys["globex", case.needs or READ])
    assert answer.status == case.stranger, answer.text
    if case.needs is not ADMIN and case.route.startswith("GET"):
        assert "acme" not in answer.text


def test_the_operators_key_acts_for_the_tenant_of_the_settings(node: Node):
    assert node.ask("PUT", "/v1/schedules/own", key=ADMIN_KEY, body=REPORT).status == 201
    assert node.run(node.engine.of("default").schedules.get("own")).definition.tenant == "default"
    assert "operator" not in node.ask("GET", "/v1/keys", key=ADMIN_KEY).text


def test_the_header_is_read_as_rfc_6750_writes_it(node: Node):
    key = node.keys["acme", READ]
    for written in (f"bearer {key}", f"BEARER  {key}"):
        headers = {"Authorization": written}
        assert node.ask("GET", "/v1/schedules", headers=headers).status == 200
    for written in (key, f"Basic {key}", f"Bearer {key} {key}", f"Bearer {key}x"):
        headers = {"Authorization": written}
        assert node.ask("GET", "/v1/schedules", headers=headers).status == 401
    assert node.ask("GET", f"/v1/schedules?key={key}").status == 401
