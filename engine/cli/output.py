"""Data on stdout: JSON for programs, a table for people, plain text when it is piped.

On a terminal a row is a line, as wide as the terminal at most: what does not fit is cut, the first
column, which says what the row is about, last. Instants are shown from now there (`in 5 min`), and
as they are everywhere else.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import click

from engine.cli.relative_time import from_now
from engine.clock import SystemClock
from engine.core.errors import Invalid, OffbeatError
from engine.core.identity import parse_instant


@dataclass(frozen=True, slots=True)
class When:
    """An instant in a table, as the API writes it."""

    text: str

    def __str__(self) -> str:
        return self.text


def show_json(value: object) -> None:
    """One JSON document, indented; non-ASCII as it is."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Aligned columns under their names; None is shown as a dash."""
    if sys.stdout.isatty():
        _show_rich(columns, rows)
        return
    texts = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    for row in (columns, *texts):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def show_documents(columns: Sequence[str], documents: Iterable[Mapping[str, Any]]) -> None:
    """A table of these members; those that are named `..._at` are instants."""
    show_table(
        columns, [[_cell(name, document[name]) for name in columns] for document in documents]
    )


def show_deleted(name: str, form: str, sentence: str) -> None:
    """That something is gone: JSON for programs, and nothing but talk for people."""
    if form == "json":
        show_json({"deleted": name})
    talk(sentence)


def talk(sentence: str) -> None:
    """What is said beside the data: stderr."""
    click.echo(sentence, err=True)


def sentence_of(error: OffbeatError) -> str:
    """What an error says; the faults of a document each after the member that has them."""
    if not isinstance(error, Invalid):
        return str(error)
    parts = (
        f"{fault.pointer.removeprefix('/')}: {fault.detail}".removeprefix(": ")
        for fault in error.faults
    )
    return "; ".join(parts)


def local_time(ms: int, timezone: str) -> str:
    """An instant on the wall clock of a zone, with its offset: 2027-03-28 03:00:00 +02:00."""
    text = datetime.fromtimestamp(ms // 1000, ZoneInfo(timezone)).isoformat(" ")
    return f"{text[:19]} {text[19:]}"


def _cell(name: str, value: object) -> object:
    return When(value) if name.endswith("_at") and isinstance(value, str) else value


def _show_rich(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    # Imported here: rich costs 50 ms that a pipe does not need.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    now_ms = SystemClock().now_ms()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        # Made narrower when all the others are: what says which one the row is about.
        table.add_column(Text(column, no_wrap=True, overflow="ellipsis"), no_wrap=index == 0)
    for row in rows:
        texts = (_shown(cell, now_ms) for cell in row)
        # Text: names are data, not markup.
        table.add_row(*(Text(text, no_wrap=True, overflow="ellipsis") for text in texts))
    Console(highlight=False).print(table)


def _shown(cell: object, now_ms: int) -> str:
    if isinstance(cell, When):
        return from_now(parse_instant(cell.text), now_ms)
    return "-" if cell is None else str(cell)
