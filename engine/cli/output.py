"""Data on stdout: JSON for programs, a table for people, plain text when it is piped."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import click

from engine.core.errors import Invalid, OffbeatError


def show_json(value: object) -> None:
    """One JSON document, indented; non-ASCII as it is."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Aligned columns under their names; None is shown as a dash."""
    texts = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _show_rich(columns, texts)
        return
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    for row in (columns, *texts):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


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


def _show_rich(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    # Imported here: rich costs 50 ms that a pipe does not need.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: names are data, not markup.
    Console(highlight=False).print(table)
