"""Demand, planned and served under each other, as wide as the terminal.

A column is a stretch of time, and its height the busiest second in it: a herd is one second, and
an average over a quarter of an hour would hide it. Each curve has its own scale, which is written
beside it, since demand is often sixty times what is planned.
"""

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import click

from engine.cli.output import terminal_width

COLUMNS_MAX = 120
"""Wider charts are no easier to read."""

ROWS = 4
CURVES = {"demand": "red", "planned": "blue", "served": "green"}
"""In the order of the way a run takes, with the colour that a terminal shows."""

_BLOCKS = " ▁▂▃▄▅▆▇█"
_PLAIN = " .:-=+*#@"  # For a pipe: one character is one height there, too.
_LABEL = 18


def show_chart(document: dict[str, Any]) -> None:
    """A forecast's document as a chart; without colour and blocks when it goes into a pipe."""
    is_terminal = sys.stdout.isatty()
    width = min(COLUMNS_MAX, terminal_width()) - _LABEL - 1
    for name, color in CURVES.items():
        peaks = _columns(document["curves"][name]["peak"], max(10, width))
        lines = _bars(peaks, ROWS if is_terminal else 1, _BLOCKS if is_terminal else _PLAIN)
        labels = [f"{name:<8}{max(peaks, default=0):>8,}/s", *[""] * (len(lines) - 1)]
        for label, line in zip(labels, lines, strict=True):
            bars = click.style(line, fg=color) if is_terminal else line
            click.echo(f"{label:<{_LABEL}} {bars}".rstrip())
    places = min(max(10, width), len(document["curves"]["demand"]["peak"]))
    first, last = (document[end][5:16].replace("T", " ") for end in ("from", "to"))
    click.echo(f"{'UTC':<{_LABEL}} {first}{last:>{max(len(last) + 1, places - len(first))}}")


def _columns(values: Sequence[int], width: int) -> list[int]:
    """The largest of each of `width` stretches, or the values themselves when they are fewer."""
    count = min(width, len(values))
    cuts = [len(values) * place // count for place in range(count + 1)] if count else []
    return [max(values[low:high]) for low, high in pairwise(cuts)]


def _bars(values: Sequence[int], rows: int, blocks: str) -> list[str]:
    """Lines from the top down; the largest value fills all rows, and no value but 0 is blank."""
    most, steps = max(values, default=0) or 1, len(blocks) - 1
    heights = [-(-value * rows * steps // most) for value in values]
    return [
        "".join(blocks[min(steps, max(0, height - row * steps))] for height in heights)
        for row in reversed(range(rows))
    ]
