"""docs/security.md is a map: each row of its tables names a test, and each test is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "| shown by |" not in line]
FILES = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:50])
def test_a_threat_names_what_we_do_and_the_test_that_shows_it(row: str) -> None:
    threat, _, shown = (cell.strip() for cell in row.strip()[1:-1].split("|"))
    assert threat
    assert re.search(r"test_\w+\.py|the same|scripts/bench", shown), f"name a test: {shown}"
    for path in re.findall(r"`(?:tests/[\w/]+/)?(test_\w+\.py)`", shown):
        assert path in FILES, f"{path} is not there"


def test_paths_on_the_page_are_there() -> None:
    named = re.findall(r"`(tests/[\w/.]+|(?:core|services|web|store)/\w+\.py)`", PAGE)
    assert named
    missing = [n for n in named if not (ROOT / n).exists() and not (ROOT / "engine" / n).exists()]
    assert missing == []
