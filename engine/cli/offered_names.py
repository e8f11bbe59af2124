"""The names that a shell offers behind Tab: those of the schedules that an engine has.

Somebody who presses Tab waits for the shell, and wants to hear of nothing but names. So there is
half a second for all of it, and whatever prevents an answer is no answer: no engine, no key, none
that may read. The deadline is an alarm and not the client's own: a server of names that is silent
would hold this process in a thread that it waits for before it exits.
"""

import os
import signal

import click

from engine.cli.client import PAGE_ROWS, Client

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


def _give_up_after(seconds: float) -> None:
    """End the process then, without a word; 0: go on."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, seconds)
