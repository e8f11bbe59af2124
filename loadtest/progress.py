"""A bar on a terminal; beside it, or without one, a line for each stage."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Advance = Callable[[int], None]
"""Says how far a stage has come, in its own units."""


@contextmanager
def stage(title: str, total: int) -> Iterator[Advance]:
    """Show a stage of `total` steps while it lasts."""
    if not sys.stderr.isatty():
        began = time.monotonic()
        yield lambda _done: None
        print(f"{title}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)
