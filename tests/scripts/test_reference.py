"""docs/reference/ is what the code says today, and says all that it should."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from engine.config import Config
from engine.settings import SETTINGS
from engine.web.application import ROUTES
from tests.cli.test_root import ALL
from tests.python_source import ROOT, python_files

REFERENCE = ROOT / "docs" / "reference"
API, COMMAND_LINE, CONFIGURATION, LIMITS, METRICS = (
    (REFERENCE / f"{name}.md").read_text()
    for name in ("api", "command-line", "configuration", "limits", "metrics")
)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_pages_are_what_the_script_writes_today(seed: str, tmp_path: Path):
    # Two seeds of hash(): what came out of a set would be in another order.
    command = [sys.executable, ROOT / "scripts" / "reference", tmp_path]
    subprocess.run(command, check=True, timeout=60, env={**os.environ, "PYTHONHASHSEED": seed})
    assert {path.name for path in tmp_path.iterdir()} == {p.name for p in REFERENCE.iterdir()}
    for path in tmp_path.iterdir():
        assert (REFERENCE / path.name).read_text() == path.read_text(), "run scripts/reference"


def test_every_operation_has_its_heading():
    assert sorted(re.findall("^### `(.+)`", API, re.M)) == sorted(
        f"{route.method} {route.path}" for route in ROUTES
    )


def test_links_within_a_page_lead_somewhere():
    headings = {
        re.sub("[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall("^#+ (.+)", API, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", API)) <= headings


def test_every_command_has_its_heading_and_every_option_its_row():
    for path, command in ALL.items():
        part = COMMAND_LINE.partition(f" `offbeat {path}`\n")[2].partition("\n#")[0]
        for option in command.params:
            if isinstance(option, click.Option):
                assert f"{option.opts[-1]}" in part, path


def test_every_setting_has_a_place_in_the_table_and_on_the_page():
    assert {field.name for field in fields(Config)} == SETTINGS.keys()
    for setting in SETTINGS.values():
        assert f"| {setting.purpose} |" in CONFIGURATION
        assert setting.environment is None or f"`{setting.environment}`" in CONFIGURATION


def test_every_limit_that_an_answer_names_is_on_the_page():
    named = set(limits_reached())
    assert "schedules_max" in named
    assert {name for name in named if f".{name.upper()}`" not in LIMITS} == set()


def test_every_metric_of_the_catalogue_is_on_the_page():
    catalogue = set(re.findall('"(scheduler_[a-z_]+)"', (ROOT / METRICS_PATH).read_text()))
    shown = re.findall("^[|] `(scheduler_[a-z_]+)`", METRICS, re.M)
    assert {name.removesuffix("_total") for name in shown} == catalogue


METRICS_PATH = "engine/services/metrics.py"


def limits_reached() -> Iterator[str]:
    """The first argument of each `LimitReached(...)` in the engine."""
    for source in python_files():
        for node in ast.walk(source.tree) if source.path.startswith("engine/") else ():
            match node:
                case ast.Call(
                    func=ast.Name(id="LimitReached"), args=[ast.Constant(value=str(name)), *_]
                ):
                    yield name
