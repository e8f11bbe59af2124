"""A cursor that no list has handed out is refused, whatever JSON it is made of."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator

import pytest

from engine.core.access import Scope
from tests.web.keyed import Node, keyed_node

LISTS_BY_NAME = ("/v1/schedules", "/v1/keys", "/v1/tenants", "/v1/flows")
LISTS_OF_RUNS = ("/v1/runs", "/v1/runs?state=failed", "/v1/schedules/a/runs")

OF_NEITHER = [
    *(
        "null",
        "true",
        "NaN",
        "Infinity",
        "-1e999",
        "1",
        "1" * 300,
        "{}",
        '{"a": 1}',
        "[]",
        "[" * 300,
    ),
    *('["x", 1]', '[[1], "x"]', '[1, ["x"]]', "[1, null]", '[1, "x", 2]', '[{}, "x"]', "[true]"),
    *('[true, "x"]', '[false, "x"]', '[1.0, "x"]', '[1e3, "x"]', '[1e999, "x"]', '[NaN, "x"]'),
    *(f'[{2**63}, "x"]', f'[{-(2**63)}, "x"]', f'[{10**300}, "x"]', '[null, "x"]', '["1", "x"]'),
    *(
        r'[1, "\ud800"]',
        r'"\ud800"',
        r'"\udc00\ud800"',
        '"\ud800"',
        '"\0"',
        "'x'",
        '"x',
        "\xff",
        "",
    ),
]
NAMES, RUNS = (r'"\u0000"', '""', '"é"'), (r'[1, "\u0000"]', '[-1, ""]', f'[{2**63 - 1}, "x"]')


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with keyed_node(tmp_path_factory.mktemp("node")) as node:
        schedule = {"every": 60, "target": {"url": "http://h.example/"}}
        node.ask("PUT", "/v1/schedules/a", key=node.keys["acme", Scope.WRITE], body=schedule)
        yield node


def ask(node: Node, path: str, key: str) -> int:
    cursor = urlsafe_b64encode(key.encode(errors="surrogatepass")).decode().rstrip("=")
    asked = f"{path}{'&' if '?' in path else '?'}cursor={cursor}"
    answer = node.ask("GET", asked, key=node.keys["acme", Scope.ADMIN])
    if answer.status != 200:
        assert answer.json["code"] == "invalid_query"
        assert [error["parameter"] for error in answer.json["errors"]] == ["cursor"]
    return answer.status


@pytest.mark.parametrize("path", LISTS_BY_NAME + LISTS_OF_RUNS)
def test_what_is_no_place_in_a_list_is_refused(node: Node, path: str):
    others = RUNS if path in LISTS_BY_NAME else NAMES
    assert {key: ask(node, path, key) for key in (*OF_NEITHER, *others)} == dict.fromkeys(
        (*OF_NEITHER, *others), 422
    )


@pytest.mark.parametrize("path", LISTS_BY_NAME + LISTS_OF_RUNS)
def test_a_place_that_nothing_has_is_a_place(node: Node, path: str):
    places = NAMES if path in LISTS_BY_NAME else RUNS
    assert [ask(node, path, key) for key in places] == [200] * 3
