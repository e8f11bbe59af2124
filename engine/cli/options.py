"""Options that commands share, and the form of the example at the end of every --help."""

from collections.abc import Callable
from typing import TypeVar

import click

from engine.config import DEFAULT_PORT

_Function = TypeVar("_Function", bound=Callable[..., object])

output: Callable[[_Function], _Function] = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="What to print on stdout.",
)

server: Callable[[_Function], _Function] = click.option(
    "--server",
    metavar="URL",
    envvar="OFFBEAT_SERVER",
    default=f"http://127.0.0.1:{DEFAULT_PORT}",
    show_default=True,
    help="The engine: http://HOST:PORT or unix:PATH (also OFFBEAT_SERVER).",
)


def example(*lines: str) -> str:
    """The epilog that shows a command in use, a line each."""
    heading = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(("\b", heading, *(f"  {line}" for line in lines)))
