"""docs/ARCHITECTURE.md is a map: what it names is there, and every room of the engine is on it.

Other pages are held to the paths that they name, from the root of the repository on.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "engine"
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]

PATH = re.compile(r"`((?:engine|examples|loadtest|scripts|tests)/[\w./-]*)")
FILE = re.compile(r"`([a-z_][\w/]*\.(?:py|js|sql))`")
SEARCHED = (ROOT, ENGINE, ENGINE / "web", ENGINE / "web" / "static")
"""From where the page names files."""


def test_pages_name_paths_that_are_there() -> None:
    named = {(page.name, path) for page in PAGES for path in PATH.findall(page.read_text())}
    assert len(named) > 50
    assert {(page, path) for page, path in named if not (ROOT / path).exists()} == set()


def test_files_on_the_page_are_there() -> None:
    named = set(FILE.findall(PAGE))
    assert named
    assert {n for n in named if not any((place / n).is_file() for place in SEARCHED)} == set()


def test_the_map_shows_the_rooms_that_there_are() -> None:
    layout = PAGE.partition("## Layout")[2].partition("\n## ")[0]
    shown = re.findall(r"^\| `engine/(\w+)|`(\w+)\.py`", layout, re.MULTILINE)
    rooms = {path.stem for path in ENGINE.iterdir() if not path.name.startswith("__")}
    assert {one or other for one, other in shown} - {"__init__"} == rooms
