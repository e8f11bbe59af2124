"""What a stage finds: a figure, what it was held against, and whether it will do.

A machine's speed drifts by a factor of two within an hour, so a figure by itself says little. Each
has a reference measured in the same run, by turns with it where both take the same machinery, and
what is compared are medians.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

HEADINGS = ("what", "measured", "reference", "target", "holds")
WIDTHS = (38, 40, 46, 18, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One row of the report. `holds` None: for comparison only."""

    what: str
    measured: str
    reference: str = ""
    target: str = ""
    holds: bool | None = None


def print_headings() -> None:
    """The head of the table, in Markdown."""
    _print_row(HEADINGS)
    _print_row(["-" * width for width in WIDTHS])


def print_finding(finding: Finding) -> None:
    """A row, as soon as it is known."""
    holds = "" if finding.holds is None else "yes" if finding.holds else "NO"
    _print_row((finding.what, finding.measured, finding.reference, finding.target, holds))


def seconds(function: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that `percent` % of them do not exceed (nearest rank)."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def spread(values: Sequence[float], unit: str = "", digits: int = 2) -> str:
    """The median, and the range beside it for whoever wants to see the noise."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f}{unit} ({low:.{digits}f} to {high:.{digits}f})"


def _print_row(cells: Sequence[str]) -> None:
    padded = (cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    print("|", " | ".join(padded), "|", flush=True)
