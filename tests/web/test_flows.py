"""`/v1/flows`: which keys can have limits."""

from collections.abc import Iterator

import pytest

from tests.web.keyed import Node, node_on


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with node_on(tmp_path_factory.mktemp("node")) as node:
        yield node


@pytest.mark.parametrize(
    "key", ["h.example:443", "[2001:db8::1]:80", "Mail_out.1", "inproc:report", "x" * 128]
)
def test_a_key_that_a_schedule_can_have_has_limits(node: Node, key: str):
    answer = node.ask("PUT", f"/v1/flows/{key}", body={"rate": 7})
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
