"""The names of an engine's schedules, for whoever types one: behind Tab, and after a wrong one.

Somebody who presses Tab waits for the shell, and wants to hear of nothing but names. So there is
half a second for all of it, and whatever prevents an answer is no answer: no engine, no key, none
that may read. The deadline is an alarm and not the client's own: a server of names that is silent
would hold this process in a thread that it waits for before it exits.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches

import click

from engine.cli.client import PAGE_ROWS, Client
from engine.core.errors import NotFound

WAIT_SECONDS = 0.5
"""For names, from Tab on: longer, and a shell seems to hang."""


def schedule_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names that begin so; none where there are more than a page, since what a shell takes for the
    beginning of them all would be that of the first."""
    server = context.params.get("server")
    if server is None:
        return []
    _give_up_after(WAIT_SECONDS)
    try:
        with Client(server) as client:
            page = client.get("/v1/schedules", q=incomplete, limit=PAGE_ROWS)
        return [row["name"] for row in page["data"]] if page["next_cursor"] is None else []
    except Exception:  # Whatever it is, nobody asked to hear of it.
        return []
    finally:
        _give_up_after(0)


@contextmanager
def meant(client: Client, name: str | None) -> Iterator[None]:
    """Where a schedule is asked for, or perhaps one: of one that is not there, NotFound names the
    nearest that begins alike."""
    try:
        yield
    except NotFound as error:
        if name is None:
            raise
        alike = client.get("/v1/schedules", q=name[:1], limit=PAGE_ROWS)["data"]
        near = get_close_matches(name, [row["name"] for row in alike], 1)
        if not near:
            raise
        raise NotFound(f"there is no schedule {name}: did you mean {near[0]}?") from error


def _give_up_after(seconds: float) -> None:
    """End the process then, without a word; 0: go on."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, seconds)
