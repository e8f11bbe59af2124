"""Rows and sentences as wide as a terminal: what `output.py` prints where people read it.

A column is at least as wide as the longest word of its heading and a few letters of its cells; what
room is left goes to the first column, which says what a row is about, and then to those that need
least to be whole, cells before headings. What is cut ends in `…`; an address, whose end tells more,
loses its scheme and then its middle. Where not even the least fits, a row is a block: a line for
each of its cells, and nothing is cut that a line can hold.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence

GAP = 2

FIRST_LEAST = 30
"""Letters of the first column that are kept before others get room: an instant, most names."""

OTHERS_LEAST = 12
"""Letters of any other cell: a state, a reason, `in 5 min`, the end of an address."""


def fit(natural: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """Widths of columns that take `room` together, none wider than `natural`; None: too narrow."""
    widths = list(least)
    spare = room - sum(widths)
    if spare < 0:
        return None
    for index in sorted(range(len(widths)), key=lambda i: (i > 0, natural[i] - least[i])):
        more = min(spare, natural[index] - least[index])
        widths[index] += more
        spare -= more
    return widths


def table_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> tuple[list[str], list[str]]:
    """The lines of the headings, and those below."""
    # Imported here: rich costs time that a pipe does not need.
    from rich.cells import cell_len  # noqa: PLC0415

    headings = [column.replace("_", " ") for column in columns]
    cells = [max((cell_len(row[i]) for row in rows), default=0) for i in range(len(columns))]
    words = [max(map(len, heading.split())) for heading in headings]
    whole = [max(word, cell) for word, cell in zip(words, cells, strict=True)]
    natural = [max(len(h), cell) for h, cell in zip(headings, cells, strict=True)]
    least = [
        max(word, min(cell, OTHERS_LEAST if i else FIRST_LEAST))
        for i, (word, cell) in enumerate(zip(words, cells, strict=True))
    ]
    # There is no column to follow in a single row, and so no reason to cut it.
    least = whole if len(rows) == 1 else least
    room = width - GAP * (len(columns) - 1)
    widths = fit(whole, least, room)
    if widths is None:
        return [], list(_blocks(headings, rows, width))
    widths = fit(natural, widths, room) or widths
    wrapped = [textwrap.wrap(h, most) for h, most in zip(headings, widths, strict=True)]
    height = max(map(len, wrapped))
    stacked = [[""] * (height - len(lines)) + lines for lines in wrapped]
    return (
        [_line(parts, widths) for parts in zip(*stacked, strict=True)],
        [_line(row, widths) for row in rows],
    )


def wrap(text: str, width: int, *, label: str = "") -> str:
    """A sentence in lines of whole words, those after the first below what follows the label."""
    return textwrap.fill(
        text,
        max(width, len(label) + OTHERS_LEAST),
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,  # A key that is cut in two cannot be copied.
        break_on_hyphens=False,
    )


def _blocks(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    room = max(map(len, headings)) + GAP
    for index, row in enumerate(rows):
        if index:
            yield ""
        for heading, cell in zip(headings, row, strict=True):
            yield from wrap(cell, width, label=f"{heading:<{room}}").split("\n")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return (" " * GAP).join(_cut(cell, width) for cell, width in pairs).rstrip()


def _cut(text: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 (as above)

    shorter = text if cell_len(text) <= width else _SCHEME.sub("", text, count=1)
    if cell_len(shorter) <= width:
        return set_cell_size(shorter, width)
    end = 2 * (width - 1) // 3 if shorter != text else 0
    head = set_cell_size(shorter, width - 1 - end)
    return f"{head}…{set_cell_size(shorter[::-1], end)[::-1]}"


_SCHEME = re.compile(r"\bhttps?://")
