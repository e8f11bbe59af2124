"""The dashboard for Grafana asks for what the engine exports, in PromQL that can be read."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.examples.promtool import promtool

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana" / "offbeat.json"

TARGET_LABELS = {"instance", "job"}
"""What Prometheus adds to every series."""

SELECTOR = re.compile(r"(scheduler_\w+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)=~?"([^"]*)"')
GROUPED = re.compile(r"by \(([^)]*)\)")
COLUMNS = 24


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return document


@pytest.fixture(scope="module")
def panels(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = dashboard["panels"]
    return found


@pytest.fixture(scope="module")
def queries(dashboard: dict[str, Any]) -> list[str]:
    """Every expression, with Grafana's variables as it would fill them in."""
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [annotation["expr"] for annotation in dashboard["annotations"]["list"]]
    return [q.replace("$__rate_interval", "1m").replace("$instance", ".*") for q in asked]


@pytest.fixture(scope="module")
def exported(scrape: str) -> dict[str, dict[str, set[str]]]:
    """The values of each label, by the name of the series."""
    series: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(scrape):
        for sample in family.samples:
            labels = series.setdefault(sample.name, {})
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return series


def test_prometheus_can_read_every_query(queries: list[str], tmp_path: Path) -> None:
    rules = [{"record": f"query:{number}", "expr": q} for number, q in enumerate(queries)]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"SUCCESS: {len(queries)} rules found" in promtool("check", "rules", file)


def test_every_series_and_label_that_is_asked_for_is_exported(
    queries: list[str], exported: dict[str, dict[str, set[str]]]
) -> None:
    for query in queries:
        selected = SELECTOR.findall(query)
        assert len(selected) == len(re.findall(r"\bscheduler_\w+", query)), query
        for name, matchers in selected:
            assert name in exported
            for label, value in MATCHER.findall(matchers):
                assert label in TARGET_LABELS or value in exported[name][label], query
        for grouped in GROUPED.findall(query):
            known = set().union(*(exported[name] for name, _ in selected))
            assert set(grouped.split(", ")) <= known, query


def test_legends_name_labels_that_are_left(panels: list[dict[str, Any]]) -> None:
    for panel in panels:
        for target in panel["targets"]:
            left = {name for found in GROUPED.findall(target["expr"]) for name in found.split(", ")}
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= left


def test_the_variable_for_engines_is_made_of_what_is_exported(
    dashboard: dict[str, Any], exported: dict[str, dict[str, set[str]]]
) -> None:
    (asked,) = (
        v["query"]["query"] for v in dashboard["templating"]["list"] if v["type"] == "query"
    )
    assert re.fullmatch(r"label_values\((\w+), instance\)", asked)[1] in exported


def test_each_panel_says_what_it_shows_and_has_a_place_of_its_own(
    panels: list[dict[str, Any]],
) -> None:
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["title"] and panel["description"] for panel in panels)
    for one, other in combinations((panel["gridPos"] for panel in panels), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above
    assert max(panel["gridPos"]["x"] + panel["gridPos"]["w"] for panel in panels) <= COLUMNS


def test_each_panel_asks_the_source_that_is_chosen_in_units_and_by_names_that_grafana_knows(
    dashboard: dict[str, Any], panels: list[dict[str, Any]]
) -> None:
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    for panel in panels:
        assert panel["type"] in {"stat", "timeseries"}
        assert panel["fieldConfig"]["defaults"]["unit"] in {"short", "percentunit", "s", "ops"}
        targets = panel["targets"]
        assert [asked["datasource"] for asked in (panel, *targets)] == [chosen] * (len(targets) + 1)
        assert [target["refId"] for target in targets] == list("ABCDEFG"[: len(targets)])
    defined = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", DASHBOARD.read_text()))
    # `__all` is a value and not a name; `__rate_interval` is Grafana's own.
    assert used == defined | {"__all", "__rate_interval"}
