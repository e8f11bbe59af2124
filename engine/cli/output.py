"""Data on stdout: JSON for programs, a table for people, plain text when it is piped.

On a terminal a row is a line that fits (`terminal_layout.py`), and instants are shown from now
(`in 5 min`); everywhere else they are as they are.
"""

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import click

from engine.cli.relative_time import from_now
from engine.cli.terminal_layout import table_lines, wrap
from engine.core.errors import Invalid, OffbeatError
from engine.core.identity import parse_instant


@dataclass(frozen=True, slots=True)
class When:
    """An instant in a table, as the API writes it, and what time it was there meanwhile."""

    text: str
    now_ms: int

    def __str__(self) -> str:
        return self.text


def show_json(value: object) -> None:
    """One JSON document, indented; non-ASCII as it is."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Aligned columns under their names; None is shown as a dash."""
    if sys.stdout.isatty():
        _show_fitting(columns, rows)
        return
    texts = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    for row in (columns, *texts):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def show_documents(
    columns: Sequence[str], documents: Iterable[Mapping[str, Any]], now_ms: int
) -> None:
    """A table of these members; those that are named `..._at` are instants, seen from `now_ms`."""
    rows = [[_cell(name, document[name], now_ms) for name in columns] for document in documents]
    show_table(columns, rows)


def show_sentence(text: str, *, label: str = "") -> None:
    """Prose, after a label or alone; on a terminal in lines of whole words."""
    click.echo(wrap(text, terminal_width(), label=label) if sys.stdout.isatty() else label + text)


def terminal_width() -> int:
    """Its columns; COLUMNS goes before what the terminal says."""
    return shutil.get_terminal_size().columns


def show_deleted(name: str, form: str, sentence: str) -> None:
    """That something is gone: JSON for programs, and nothing but talk for people."""
    if form == "json":
        show_json({"deleted": name})
    talk(sentence)


def talk(sentence: str) -> None:
    """What is said beside the data: stderr."""
    click.echo(sentence, err=True)


def sentences_of(error: OffbeatError) -> list[str]:
    """What an error says; the faults of a document each after the member that has it."""
    if not isinstance(error, Invalid):
        return [str(error)]
    return [
        f"{fault.pointer.removeprefix('/')}: {fault.detail}".removeprefix(": ")
        for fault in error.faults
    ]


def sentence_of(error: OffbeatError) -> str:
    """The same as one sentence."""
    return "; ".join(sentences_of(error))


def count_of(number: float, noun: str) -> str:
    """`1 run`, `2 runs`: of a noun that takes an s."""
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"


def local_time(ms: int, timezone: str) -> str:
    """An instant on the wall clock of a zone, with its offset: 2027-03-28 03:00:00 +02:00."""
    text = datetime.fromtimestamp(ms // 1000, ZoneInfo(timezone)).isoformat(" ")
    return f"{text[:19]} {text[19:]}"


def _cell(name: str, value: object, now_ms: int) -> object:
    return When(value, now_ms) if name.endswith("_at") and isinstance(value, str) else value


def _show_fitting(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    texts = [[_shown(cell) for cell in row] for row in rows]
    headings, lines = table_lines(columns, texts, terminal_width())
    for line in headings:
        click.secho(line, bold=True)
    for line in lines:
        click.echo(line)


def _shown(cell: object) -> str:
    if isinstance(cell, When):
        return from_now(parse_instant(cell.text), cell.now_ms)
    return "-" if cell is None else str(cell)
