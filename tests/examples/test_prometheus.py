"""The rules for Prometheus, and the metrics themselves, as promtool judges them."""

import re
import subprocess
from pathlib import Path

import pytest
from prometheus_client.exposition import generate_latest

from tests.simulation.world import World, put, simulate

EXAMPLES = Path(__file__).parents[2] / "examples" / "prometheus"
RULES = EXAMPLES / "offbeat.rules.yml"
RULES_TEST = EXAMPLES / "offbeat.rules.test.yml"
SUFFIX = re.compile(r"_(bucket|count|sum)$")


def promtool(*arguments: str | Path, text: str = "") -> str:
    """What it says, once it has found no fault; ./scripts/install-promtool brings it."""
    done = subprocess.run(
        ["promtool", *arguments],
        check=False,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def scrape(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What /metrics says of an engine that has worked for a minute."""

    async def main(world: World) -> str:
        async with world.engine() as engine:
            await put(engine, "s", every=10)
            await world.clock.run_for(60_000)
            return generate_latest(engine.registry).decode()

    return simulate(main, tmp_path_factory.mktemp("scrape") / "data", "2026-11-30T12:00:00Z")


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
