"""How far a long command has come: a bar on stderr, where a person watches it on a terminal.

It is gone when the work is done, and anywhere else nothing is written: what a command says there is
the same however long it took.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STEPS_MIN = 1_000
"""Less is over before a bar can be read: an engine stores some ten thousand schedules a second."""

Advance = Callable[[int], None]
"""Says how many more steps are done."""


@contextmanager
def progress(title: str, steps: int | None) -> Iterator[Advance]:
    """Show work of so many steps while it lasts; None: nobody knows how many there are."""
    if not sys.stderr.isatty() or (steps is not None and steps < STEPS_MIN):
        yield lambda _: None
        return
    # Imported here: rich costs time that nothing else needs.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    count = () if steps is None else (MofNCompleteColumn(),)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *count,
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=steps)
        yield lambda more: bar.advance(task, more)
