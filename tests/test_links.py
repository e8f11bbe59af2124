"""Links of the documents lead to a file of the repository, and to a heading that it has."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_links_to_what_is_there(page: Path) -> None:
    assert dead_links(page, page.read_text()) == []


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("[here](README.md) [there](docs/#x)", ["docs/#x"]),
        ("[gone](docs/gone.md)", ["docs/gone.md"]),
        ("[no heading](README.md#gone)", ["README.md#gone"]),
        ("[a heading](README.md#try-it) and [away](https://example.com/gone)", []),
        ("[this page's](#try-it)", []),
    ],
)
def test_a_dead_link_is_found(text: str, dead: list[str]) -> None:
    assert dead_links(ROOT / "README.md", text) == dead


def dead_links(page: Path, text: str) -> list[str]:
    """The links of `text`, which stands in `page`, that lead nowhere."""
    return [link for link in LINK.findall(text) if not _leads(page, *link.partition("#")[::2])]


def _leads(page: Path, path: str, heading: str) -> bool:
    target = page.parent / path if path else page
    if not heading:
        return target.exists()
    return target.is_file() and heading in map(_anchor, _headings(target.read_text()))


def _headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)


def _anchor(heading: str) -> str:
    """As GitHub makes them of headings."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
