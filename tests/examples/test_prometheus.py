"""The rules for Prometheus, and the metrics themselves, as promtool judges them."""

import re
from pathlib import Path

from tests.examples.promtool import promtool

EXAMPLES = Path(__file__).parents[2] / "examples" / "prometheus"
PAGE = Path(__file__).parents[2] / "docs" / "how-to-prometheus.md"
RULES = EXAMPLES / "offbeat.rules.yml"
RULES_TEST = EXAMPLES / "offbeat.rules.test.yml"
SUFFIX = re.compile(r"_(bucket|count|sum)$")


def test_promtool_finds_no_fault_with_the_metrics(scrape: str) -> None:
    assert promtool("check", "metrics", text=scrape) == ""


def test_promtool_finds_no_fault_with_the_rules() -> None:
    assert "SUCCESS" in promtool("check", "rules", RULES)


def test_each_alert_fires_when_it_should_and_not_before() -> None:
    assert "SUCCESS" in promtool("test", "rules", RULES_TEST)


def test_each_alert_says_what_to_do_and_is_tested() -> None:
    alerts = RULES.read_text().split("- alert: ")[1:]
    for alert in alerts:
        name, _, text = alert.partition("\n")
        assert "summary: " in text
        assert "action: " in text
        assert "severity: page" in text or "severity: ticket" in text
        assert f"{name}" in RULES_TEST.read_text(), "is shown to fire"


def test_the_rules_name_only_metrics_that_there_are(scrape: str) -> None:
    named = set(re.findall(r"\bscheduler_\w+", RULES.read_text()))
    shown = set(re.findall(r"^# TYPE (\w+)", scrape, re.MULTILINE))
    assert {SUFFIX.sub("", name) for name in named} <= shown


def test_there_are_no_more_series_than_the_page_says(scrape: str) -> None:
    (most,) = re.findall(r"under (\d+) series", PAGE.read_text())
    assert len([line for line in scrape.splitlines() if not line.startswith("#")]) < int(most)
