"""The report as a page of HTML."""

from pathlib import Path

from loadtest.figures import Figures


def write_report(results: list[Figures], path: Path) -> None:
    """Write the page."""
    path.write_text(str(results))
