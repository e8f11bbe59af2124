"""Who may do what: every operation of `/openapi.json`, asked by everybody.

The requests are made out of the document (`document_requests.py`), and what is expected follows
from the scope that it names, and from nothing else. Which scope that should be is said once more
below, by address, so that one that was changed by mistake is seen.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from engine.core.access import Scope
from engine.core.model import Outcome
from tests.web.document_requests import Operation, operations
from tests.web.keyed import ADMIN_KEY, OK, TENANTS, Answer, Node, keyed_node

READ, WRITE, ADMIN = Scope.READ, Scope.WRITE, Scope.ADMIN
OPERATIONS = operations()
OF_THE_NODE = ("/v1/tenants", "/v1/keys", "/v1/system", "/v1/herd/monitor", "/v1/herd/forecast-")
# Like a GET they change nothing; their question is too long for an address.
QUESTIONS = {"POST /v1/schedules:preview", "POST /v1/herd/what-if"}
# Whoever looks at the engine asks this first, with a key or without.
OPEN_TO_ALL = "GET /v1/status"

NUMBERS = count()
"""Each request has resources of its own, so none finds what another left."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    directory = tmp_path_factory.mktemp("node")
    with keyed_node(directory, answer=lambda r: FAILED if "fails" in r.url else OK) as node:
        yield node


FAILED = Outcome(name="http_error", status=500)


def schedule(node: Node, path: str = "") -> str:
    """A schedule of acme's."""
    name = f"report-{next(NUMBERS)}"
    node.ask("PUT", f"/v1/schedules/{name}", key=node.keys["acme", WRITE], body={
        "every": 31_536_000,
        "target": {"url": f"http://acme.example/{path}"},
        "flow_key": f"flow-of-{name}",
        "retry": {"min_backoff_seconds": 3_600, "max_backoff_seconds": 3_600, "jitter": "none"},
    })  # fmt: skip
    return name


def run(node: Node, path: str = "", state: str = "succeeded") -> str:
    """A run of acme's that came to rest in that state."""
    key = node.keys["acme", WRITE]
    made = node.ask("POST", f"/v1/schedules/{schedule(node, path)}:trigger", key=key)
    node.until(lambda: node.ask("GET", f"/v1/runs/{made.json['id']}", key=key).json["state"], state)
    return str(made.json["id"])


def tenant(node: Node) -> str:
    name = f"tenant-{next(NUMBERS)}"
    node.ask("PUT", f"/v1/tenants/{name}", key=ADMIN_KEY, body={})
    return name


MAKERS: dict[str, Callable[[Node], str]] = {
    "/v1/schedules/{name}": schedule,
    "/v1/runs/{id}": run,
    "/v1/runs/{id}:cancel": lambda node: run(node, "fails", "retry_wait"),
    "/v1/flows/{key}": lambda node: f"flow-of-{schedule(node)}",
    "/v1/tenants/{tenant}": tenant,
    "/v1/keys/{id}": lambda node: node.create_key("acme", READ).split("_")[1],
}
"""What makes the resource that an operation names, by its path or by what that begins with."""


def prepare(node: Node, operation: Operation) -> dict[str, Any]:
    """What all tenants have, and what an operation names; the words of its request."""
    for name in TENANTS:
        key, secrets = node.keys[name, WRITE], node.engine.of(name).secrets
        target = {"url": "http://h.example/alerts"}
        node.ask("PUT", "/v1/notices", key=key, body={"target": target})
        if operation.path.endswith(":rotate") and len(secrets.active) > 1:
            node.run(secrets.retire())
        if operation.path.endswith(":retire") and len(secrets.active) == 1:
            node.run(secrets.rotate())
    today = datetime.now(UTC)
    words = {
        "name": f"new-{next(NUMBERS)}",
        "tenant": "acme",
        "from": (today - timedelta(days=2)).isoformat(timespec="seconds"),
        "to": (today - timedelta(days=1)).isoformat(timespec="seconds"),
        "rate": 50,
    }
    if operation.place is None:
        return words
    maker = MAKERS.get(operation.path) or MAKERS[operation.place]
    named = maker(node)
    # The name in a document is that in its address.
    return words | {operation.place: named, "name": named}


def ask(node: Node, operation: Operation, key: str | None) -> Answer:
    # A what-if must ask for something, which no schema says.
    request = operation.request(prepare(node, operation), lambda name: name == "rate")
    return node.ask(
        request.method, request.path, key=key, body=request.body, headers=request.headers
    )


every_operation = pytest.mark.parametrize(
    "operation", OPERATIONS, ids=[operation.route for operation in OPERATIONS]
)


@every_operation
def test_its_scope_follows_from_method_and_address(operation: Operation):
    if not operation.path.startswith("/v1/"):
        assert operation.needs is (READ if operation.path == "/metrics" else None)
    elif operation.route == OPEN_TO_ALL:
        assert operation.needs is None
    elif operation.path.startswith(OF_THE_NODE):
        assert operation.needs is ADMIN
    elif operation.path.startswith("/v1/secrets"):
        assert operation.needs is WRITE
    else:
        reads = operation.method == "GET" or operation.route in QUESTIONS
        assert operation.needs is (READ if reads else WRITE)


@every_operation
def test_nobody_gets_in_without_a_key_that_is_known(node: Node, operation: Operation):
    revoked = node.create_key("acme", ADMIN)
    node.run(node.engine.keys.revoke(revoked.split("_")[1]))
    half_right = node.keys["acme", ADMIN][:-1] + "0"
    for key in (None, revoked, half_right, "obk_x_y", "", "é"):
        answer = ask(node, operation, key)
        if operation.needs is None:
            assert answer.status == 200, key
            continue
        assert answer.status == 401, key
        assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="offbeat"')
        assert answer.json["code"] == ("key_required" if key is None else "key_unknown")


def test_a_status_says_how_far_a_key_goes_and_no_more_to_who_has_none(node: Node):
    def told(key: str | None) -> tuple[Any, Any]:
        status = node.ask("GET", "/v1/status", key=key).json
        return status["scope"], status["schedules"]

    _, before = told(node.keys["acme", READ])
    schedule(node)
    for scope in Scope:
        assert told(node.keys["acme", scope]) == (scope, before + 1)
        assert told(node.keys["globex", scope])[0] == scope
    for key in (None, "", "obk_x_y", node.keys["acme", ADMIN][:-1] + "0"):
        assert told(key) == (None, None), key


@pytest.mark.parametrize("tenant", TENANTS)
@pytest.mark.parametrize("scope", Scope)
@every_operation
def test_a_scope_opens_what_it_says_and_no_more_and_nothing_of_anothers(
    node: Node, operation: Operation, scope: Scope, tenant: str
):
    answer = ask(node, operation, node.keys[tenant, scope])
    if operation.needs is not None and not scope.allows(operation.needs):
        assert (answer.status, answer.json["code"]) == (403, "insufficient_scope")
        assert answer.json["scope"] == operation.needs
        assert f'scope="{operation.needs}"' in answer.headers["WWW-Authenticate"]
    elif tenant == "acme" or not operation.names_a_tenants:
        assert 200 <= answer.status < 300, answer.text
    elif operation.method == "PUT":
        # It makes one of the stranger's own, or says that it has none.
        assert answer.status == (201 if "201" in operation.described["responses"] else 422)
    else:
        assert answer.status == 404, answer.text


def test_the_operators_key_acts_for_the_tenant_of_the_settings(node: Node):
    body = {"every": 31_536_000, "target": {"url": "http://acme.example/"}}
    assert node.ask("PUT", "/v1/schedules/own", key=ADMIN_KEY, body=body).status == 201
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


def test_an_operation_that_nobody_taught_this_file_cannot_go_unasked(node: Node):
    described = {"parameters": [{"name": "whose", "in": "query", "required": True,
                                 "schema": {"type": "string"}}]}  # fmt: skip
    new = Operation(method="GET", path="/v1/novelties/{id}", needs=READ, described=described)
    with pytest.raises(KeyError, match="novelties"):
        prepare(node, new)
    with pytest.raises(AssertionError, match="whose"):
        new.request({"/v1/novelties/{id}": "1"})
