"""Markdown: a page's opening, tables, and text that is shown as it is written."""

from collections.abc import Iterable, Sequence


def opening(title: str, source: str, prose: str) -> str:
    """Title, where the page comes from, and what it is about."""
    return f"# {title}\n\n{prose}\n\nMade by `scripts/reference` from {source}; change it there.\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; an empty text without rows."""
    lines = [_row(row) for row in rows]
    return "\n".join([_row(headings), _row(["---"] * len(headings)), *lines, ""]) if lines else ""


def code(text: object) -> str:
    """Text as it is written, in a table, too."""
    return f"`{text}`"


def one_line(text: str) -> str:
    """Prose of several lines as one."""
    return " ".join(text.split())


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(one_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"
