"""Links of the pages lead somewhere, and the map of the house shows the rooms that there are."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "engine"
ARCHITECTURE = ROOT / "docs" / "ARCHITECTURE.md"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PATH = re.compile(r"`((?:engine|examples|loadtest|scripts|tests)/[\w./-]*)")
FILE = re.compile(r"`([a-z_][\w/]*\.(?:py|js|sql))`")
SEARCHED = (ROOT, ENGINE, ENGINE / "web", ENGINE / "web" / "static")
"""From where the page of the architecture names files."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert list(dead_links(page, page.read_text())) == []


@pytest.mark.parametrize("link", ["](nothing.md)", "](README.md#nothing)", "](#nothing)"])
def test_a_link_that_leads_nowhere_is_found(link: str) -> None:
    assert list(dead_links(ROOT / "docs" / "README.md", f"a [text{link}")) == [link]


def test_pages_name_files_that_exist() -> None:
    named = {(page.name, path) for page in PAGES for path in PATH.findall(page.read_text())}
    assert len(named) > 50
    assert {(page, path) for page, path in named if not (ROOT / path).exists()} == set()


def test_the_architecture_names_files_that_exist() -> None:
    named = set(FILE.findall(ARCHITECTURE.read_text()))
    there = {name for name in named for place in SEARCHED if (place / name).is_file()}
    assert named - there == set()


def test_every_room_of_the_engine_is_on_the_map() -> None:
    layout = ARCHITECTURE.read_text().partition("## Layout")[2].partition("\n## ")[0]
    shown = set(re.findall(r"^\| `?engine/(\w+)|`(\w+)\.py`", layout, re.MULTILINE))
    rooms = {path.stem for path in ENGINE.iterdir() if not path.name.startswith("__")}
    assert {one or other for one, other in shown} - {"__init__"} == rooms


def dead_links(page: Path, text: str) -> Iterator[str]:
    for link in LINK.finditer(text):
        path, heading = link.groups()
        target = page.parent / path if path else page
        if not target.exists() or (heading and heading not in anchors(target.read_text())):
            yield link[0]


def anchors(text: str) -> set[str]:
    """As GitHub makes them of headings."""
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in kept}
