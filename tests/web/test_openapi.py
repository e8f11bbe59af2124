"""The description of the interface: whole, valid, and true of what is answered.

That it is true is checked at every answer of the tests of this folder (`described.py`), and with
requests that nobody thought of in `test_schemathesis.py`.
"""

import ast
import json
import re
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

import engine.web
from engine.web.application import DESCRIPTION, ROUTES, create_app
from engine.web.operations import Answer, operation
from engine.web.problem_codes import PROBLEMS, WRONG_STATES
from tests.web.described import check_described, is_dashboard, resolved

DOCUMENT = DESCRIPTION.document
OPERATIONS = [
    (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def test_the_document_is_valid_openapi_3_1():
    assert DOCUMENT["openapi"] == "3.1.0"
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_every_route_is_in_it_with_its_method_and_scope(engine):
    served = {
        (route.method, route.resource.canonical)
        for route in create_app(engine).router.routes()
        if route.method != "HEAD" and not is_dashboard(route.resource.canonical)
    }
    assert {(method.upper(), path) for method, path, _ in OPERATIONS} == served
    scopes = {
        (method.upper(), path): operation.get("security", [{"key": [None]}])[0]["key"][0]
        for method, path, operation in OPERATIONS
    }
    assert scopes == {(route.method, route.path): route.scope for route in ROUTES}


def test_every_operation_says_what_it_does_under_a_name_of_its_own():
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(names)) == len(names)
    for _, _, described in OPERATIONS:
        assert described["summary"].endswith((".", ":"))


def members(schema, path):
    for name, member in schema.get("properties", {}).items():
        if not member.get("readOnly"):
            yield f"{path} {name}", member
            yield from members(member, f"{path} {name}")


def test_every_parameter_and_every_member_of_a_body_says_what_it_is_for():
    silent = set()
    for method, path, described in OPERATIONS:
        silent |= {
            f"{method} {path} {each['name']}"
            for each in described["parameters"]
            if not (each.get("description") or each["schema"].get("description"))
        }
        for content in described.get("requestBody", {}).get("content", {}).values():
            schema = content["schema"]
            found = members(schema.get("items", schema), f"{method} {path}")
            silent |= {name for name, member in found if not member.get("description")}
    assert silent == set()


def test_every_code_is_in_it_with_its_status():
    described = {
        (int(status), code)
        for _, _, operation in OPERATIONS
        for status, answer in operation["responses"].items()
        if int(status) >= 400
        for code in codes_of(resolved(answer))
    }
    # An address and a method that are not in the document have problems of their own.
    described |= {(404, "not_found"), (405, "method_not_allowed")}
    assert described == {(status, code) for code, (status, _) in PROBLEMS.items()}
    assert DOCUMENT["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == sorted(
        PROBLEMS
    )


def test_every_problem_in_the_code_is_in_the_table():
    raised = set()
    for path in Path(engine.web.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Problem":
                if ast.unparse(node.args[1]) == "code":  # A `WrongState`'s own.
                    raised |= {(409, code) for code in WRONG_STATES}
                else:
                    raised.add(tuple(ast.literal_eval(argument) for argument in node.args[:2]))
    assert raised == {(status, code) for code, (status, _) in PROBLEMS.items()}


def test_what_is_said_of_a_member_is_what_is_enforced(api):
    body = DOCUMENT["paths"]["/v1/schedules/{name}"]["put"]["requestBody"]
    members = body["content"]["application/json"]["schema"]["properties"]
    target = {"url": "http://h/"}
    for name in ("max_runs", "priority", "pause_after_failures", "catch_up_window_seconds"):
        low, high = members[name]["minimum"], members[name]["maximum"]
        for value, status in ((low, 200), (high, 200), (low - 1, 422), (high + 1, 422)):
            api.put("edge", {"every": 60, "target": target})
            answer = api.put("edge", {"every": 60, "target": target, name: value})
            assert answer.status == status, (name, value)
    for name in ("overlap", "catch_up"):
        for word in (*members[name]["enum"], "else"):
            answer = api.put("word", {"every": 60, "target": target, name: word})
            assert (answer.status < 300) == (word != "else"), (name, word)


def test_it_is_served_to_everybody_and_the_same_each_time(api):
    first, second = api.get("/openapi.json"), api.get("/openapi.json")
    assert first.json == DOCUMENT
    assert first.body == second.body


def test_the_page_lists_every_operation_and_takes_nothing_from_elsewhere(api):
    answer = api.get("/docs")
    page = answer.body.decode()
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    for method, path, described in OPERATIONS:
        assert f'<h3 id="{described["operationId"]}"><code>{method.upper()} {path}</code>' in page
    for name in DOCUMENT["components"]["schemas"]:
        assert f'<h3 id="schema-{name}">' in page
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "<script" not in page
    assert not re.search(r"(src|href)=.?(https?:|//)", page)


def test_every_route_but_those_of_health_may_find_too_many_connections():
    def told(path: str) -> str:
        return json.dumps(DESCRIPTION.document["paths"][path]["get"]["responses"].get("503"))

    assert "too_many_connections" in told("/openapi.json")
    assert "too_many_connections" in told("/docs")
    assert "too_many_connections" in told("/v1/schedules")
    assert "too_many_connections" not in told("/livez")


def test_an_answer_that_is_not_described_is_seen():
    good = b'{"live":true}'
    headers = {"Content-Type": "application/json"}
    check_described("GET", "/livez", 200, headers, good)
    for wrong in (
        ("GET", "/livez", 418, headers, good),
        ("GET", "/livez", 200, {"Content-Type": "text/plain"}, good),
        ("GET", "/nowhere", 200, headers, good),
    ):
        with pytest.raises(AssertionError, match="is not described"):
            check_described(*wrong)
    with pytest.raises(Exception, match="False is not one of"):
        check_described("GET", "/livez", 200, headers, b'{"live":false}')


def test_a_code_that_nobody_wrote_down_is_refused():
    with pytest.raises(AssertionError, match="give the code a line in PROBLEMS"):
        operation(answers={200: Answer()}, problems=("no_such_code",))(lambda request: None)


def codes_of(answer):
    content = answer["content"]["application/problem+json"]
    return content["schema"]["allOf"][1]["properties"]["code"]["enum"]
