"""Options that commands share, and the form of the example at the end of every --help."""

from collections.abc import Callable
from typing import TypeVar

import click

from engine.config import DEFAULT_PORT
from engine.core.document import NAME_RULE, is_name
from engine.core.identity import Signer, parse_instant

_Function = TypeVar("_Function", bound=Callable[..., object])

output: Callable[[_Function], _Function] = click.option(
    "-o",
    "--output",
    "form",
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


def instant(text: str) -> int:
    """The type of an option that takes an RFC 3339 instant: milliseconds since the epoch."""
    try:
        return parse_instant(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def schedule_name(text: str) -> str:
    """The type of an option that takes a schedule's name, which the API would take, too."""
    if not is_name(text):
        raise click.BadParameter(NAME_RULE)
    return text


def _split(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    # `offbeat secrets` prints a secret a line, and "$(offbeat secrets)" is one word to a shell.
    secrets = tuple(secret for value in values for secret in value.split())
    try:
        Signer(secrets)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return secrets


secrets: Callable[[_Function], _Function] = click.option(
    "--secret",
    "secrets",
    metavar="SECRET",
    envvar="OFFBEAT_SECRET",
    multiple=True,
    callback=_split,
    help="whsec_...; several while they rotate (also OFFBEAT_SECRET).",
)


def example(*lines: str) -> str:
    """The epilog that shows a command in use, a line each."""
    heading = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(("\b", heading, *(f"  {line}" for line in lines)))
