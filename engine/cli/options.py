"""Options that commands share, and the form of the example at the end of every --help."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from engine.config import DEFAULT_PORT
from engine.core.access import KEY_RULE, TENANT_RULE, is_tenant_name, key_id_of
from engine.core.errors import ConfigError
from engine.core.identity import Signer, parse_instant
from engine.core.schedule_members import NAME_RULE, is_name
from engine.secret_file import read_secret_file
from engine.settings import is_decimal

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

document: Callable[[_Function], _Function] = click.option(
    "-o",
    "--output",
    type=click.Choice(["json"]),
    default="json",
    show_default=True,
    expose_value=False,
    help="What is printed on stdout is a document.",
)


@dataclass(frozen=True, slots=True)
class Server:
    """Where an engine answers, and the key that it is sent; None while it wants none."""

    url: str
    key: str | None = field(default=None, repr=False)


def server(function: _Function) -> _Function:
    """The options `--server` and `--key-file`; the command is given a `Server`."""
    return _address(_key_file(function))


def read_key(path: Path) -> str:
    """The API key in a file. Raises `ConfigError`."""
    text = read_secret_file(path, "key")
    _check_key(text, f"the key file {path}")
    return text


def _keep_key(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    if path is not None:
        context.meta[_KEY] = read_key(path)


def _with_key(context: click.Context, _: click.Parameter, url: str) -> Server:
    key = context.meta.get(_KEY)
    if key is None and (key := os.environ.get("OFFBEAT_KEY")):
        _check_key(key, "OFFBEAT_KEY")
    return Server(url, key)


def _check_key(text: str, place: str) -> None:
    # What it holds instead may be another secret: it is not repeated.
    if key_id_of(text) is None:
        raise ConfigError(f"{place} holds no API key: {KEY_RULE}")


_KEY = "offbeat.key"
_key_file: Callable[[_Function], _Function] = click.option(
    "--key-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="OFFBEAT_KEY_FILE",
    is_eager=True,  # Read before --server, which takes it along.
    expose_value=False,
    callback=_keep_key,
    help="An API key, for an engine that wants one (also OFFBEAT_KEY_FILE; the key: OFFBEAT_KEY).",
)
_address: Callable[[_Function], _Function] = click.option(
    "--server",
    metavar="URL",
    envvar="OFFBEAT_SERVER",
    default=f"http://127.0.0.1:{DEFAULT_PORT}",
    show_default=True,
    callback=_with_key,
    help="The engine: http://HOST:PORT or unix:PATH (also OFFBEAT_SERVER).",
)


class Number(click.FloatRange):
    """The type of an option that takes a number, in the digits that the settings file takes.

    What else Python reads as one (`nan`, which lies in every range, `inf`, `1e0`, `-0`) is refused.
    """

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, str) and not is_decimal(value):
            self.fail(f"{value!r} is not a number in plain digits, like 0.5", param, ctx)
        number: float = super().convert(value, param, ctx)
        return number


def instant(text: str) -> int:
    """The type of an option that takes an RFC 3339 instant: milliseconds since the epoch."""
    try:
        return parse_instant(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def identifier(text: str) -> str:
    """The type of an argument that says which one is meant: any text, for the engine to look up.

    Not the empty one, which would make the address of something else: of the list.
    """
    if not text:
        raise click.BadParameter("it is empty: write which one is meant")
    return text


def schedule_name(text: str) -> str:
    """The type of an option that takes a schedule's name, which the API would take, too."""
    if not is_name(text):
        raise click.BadParameter(NAME_RULE)
    return text


def tenant_name(text: str) -> str:
    """The type of an option that takes a tenant's name, as `run --tenant` does."""
    if not is_tenant_name(text):
        raise click.BadParameter(TENANT_RULE)
    return text


def _split(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    # `offbeat secrets` prints a secret a line, and "$(offbeat secrets)" is one word to a shell.
    secrets = tuple(secret for value in values for secret in value.split())
    if values and not secrets:
        raise click.BadParameter("it is empty; offbeat secrets prints the engine's")
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
