"""Lists of schedules over the real journal: selectors, prefixes, pauses, pages that hold still."""

from collections.abc import Iterator

import pytest

from engine.core.labels import ScheduleFilter, read_selector
from engine.store import selection
from tests.web.keyed import Node, node_on

TARGET = {"url": "http://h.example/"}
ENVIRONMENTS = ("prod", "test", None)
TEAMS = ("web", "data", "", None)


@pytest.fixture
def node(tmp_path) -> Iterator[Node]:
    with node_on(tmp_path) as node:
        yield node


def put(node: Node, name: str, **document: object) -> None:
    answer = node.ask(
        "PUT", f"/v1/schedules/{name}", body={"every": 60, "target": TARGET, **document}
    )
    assert answer.status in (200, 201), answer.text


def names(node: Node, **query: str) -> list[str]:
    """Every name that a list gives, page after page."""
    found: list[str] = []
    cursor = None
    while True:
        given = query | ({"cursor": cursor} if cursor else {})
        page = node.ask("GET", "/v1/schedules?" + "&".join(f"{k}={v}" for k, v in given.items()))
        assert page.status == 200, page.text
        found += [each["name"] for each in page.json["data"]]
        cursor = page.json["next_cursor"]
        if cursor is None:
            return found


def labels_of(index: int) -> dict[str, str]:
    marks = {"env": ENVIRONMENTS[index % 3], "team": TEAMS[index // 3 % 4]}
    return {key: value for key, value in marks.items() if value is not None}


@pytest.mark.parametrize("looked_at", [10_000, 5])
@pytest.mark.parametrize(
    "selector",
    ["env=prod", "env!=prod", "env", "!env", "team=", "team,env!=test", "env=prod,team=web,!gone",
     "env=prod,env=test", "nobody=x", "nobody", "!nobody", "!env,!team"],
)  # fmt: skip
def test_a_selector_gives_what_its_requirements_hold_of(node, monkeypatch, selector, looked_at):
    monkeypatch.setattr(selection, "LOOKED_AT_MAX", looked_at)
    for index in range(24):
        put(node, f"job-{index:02}", labels=labels_of(index))
    which = ScheduleFilter(requirements=read_selector(selector))
    right = [f"job-{i:02}" for i in range(24) if which.holds(labels_of(i), is_paused=False)]
    assert names(node, selector=selector.replace("!", "%21"), limit="3") == right


def test_the_index_follows_edits_deletions_and_returns(node):
    put(node, "a", labels={"env": "prod", "team": "web"})
    put(node, "b", labels={"env": "prod"})
    put(node, "a", labels={"env": "test"})
    assert names(node, selector="env=prod") == ["b"]
    assert names(node, selector="team") == []
    node.ask("PATCH", "/v1/schedules/b", body={"labels": {"env": None, "team": "web"}})
    assert names(node, selector="team=web") == ["b"]
    node.ask("DELETE", "/v1/schedules/a")
    assert names(node, selector="env") == []
    put(node, "a", labels={"env": "test"})
    assert names(node, selector="env") == ["a"]
    put(node, "a")
    assert names(node, selector="env") == []
    assert names(node, selector="!env") == ["a", "b"]


def test_names_begin_as_q_says(node):
    for name in ("report", "report-2", "Report-3", "rep", "2026", "z"):
        put(node, name)
    assert names(node, q="report", limit="1") == ["report", "report-2"]
    assert names(node, q="rep") == ["rep", "report", "report-2"]
    assert names(node, q="2026") == ["2026"]
    assert names(node, q="%7E") == []
    assert len(names(node, q="")) == 6


def test_the_resting_and_the_active_are_told_apart(node):
    for name in "abc":
        put(node, name, labels={"env": "prod"}, paused=name == "b")
    assert names(node, paused="true") == ["b"]
    assert names(node, paused="false") == ["a", "c"]
    assert names(node, paused="true", selector="env=prod", q="b") == ["b"]
    node.ask("POST", "/v1/schedules/b:resume")
    assert names(node, paused="true") == []


def test_a_page_ends_with_as_much_text_as_a_request_may_bring(node):
    for name in "abcde":
        put(node, name, target={**TARGET, "body": "x" * 100_000})
    first = node.ask("GET", "/v1/schedules?limit=1000").json
    assert [each["name"] for each in first["data"]] == ["a", "b", "c"]
    assert names(node, limit="1000") == list("abcde")


def test_pages_hold_still_while_schedules_come_and_go(node):
    for index in range(0, 60, 2):
        put(node, f"job-{index:02}", labels={"env": "prod"})
    stayed, seen, cursor = {f"job-{i:02}" for i in range(0, 60, 2)}, [], ""
    for turn in range(40):
        query = "?selector=env=prod&limit=4" + (f"&cursor={cursor}" if cursor else "")
        page = node.ask("GET", "/v1/schedules" + query).json
        seen += [each["name"] for each in page["data"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        # One comes before the place where the page ended and one behind it; one goes on each side.
        put(node, f"job-{2 * turn + 1:02}", labels={"env": "prod"})
        put(node, f"job-{59 - 2 * turn:02}", labels={"env": "prod"})
        gone = {f"job-{2 * turn:02}", f"job-{58 - 2 * turn:02}"}
        for name in gone:
            node.ask("DELETE", f"/v1/schedules/{name}")
        stayed -= gone
    assert cursor is None
    assert seen == sorted(set(seen))
    assert stayed <= set(seen)


def test_the_last_of_a_page_may_go_before_the_next_is_asked_for(node):
    for name in "abcd":
        put(node, name)
    page = node.ask("GET", "/v1/schedules?limit=2").json
    node.ask("DELETE", "/v1/schedules/b")
    rest = node.ask("GET", f"/v1/schedules?limit=2&cursor={page['next_cursor']}").json
    assert [each["name"] for each in rest["data"]] == ["c", "d"]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("selector=env%20in%20(a)", "selector"),
        ("selector=", "selector"),
        ("selector=a&selector=b", "selector"),
        ("paused=yes", "paused"),
        ("q=" + "x" * 129, "q"),
    ],
)
def test_a_selection_that_is_not_understood_is_refused(node, query, parameter):
    answer = node.ask("GET", f"/v1/schedules?{query}")
    assert answer.status == 422
    assert [each["parameter"] for each in answer.json["errors"]] == [parameter]
