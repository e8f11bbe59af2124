"""The picture of a herd in the README is drawn from the arithmetic that the engine uses."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_picture_is_what_the_script_draws_today():
    drawn = subprocess.run(
        [sys.executable, ROOT / "scripts" / "herd"], check=True, capture_output=True, text=True
    ).stdout

    assert (ROOT / "docs" / "herd.svg").read_text() == drawn, "run scripts/herd > docs/herd.svg"
    assert "fire_after, magnified: 1,075 in the busiest second" in drawn
