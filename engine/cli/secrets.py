"""`offbeat secrets`: what a receiver needs to verify deliveries, and how to change it."""

import click
from click.core import ParameterSource

from engine.cli.client import Client
from engine.cli.options import Server, example, output, server
from engine.cli.output import show_json, talk


@click.group(
    "secrets",
    invoke_without_command=True,
    epilog=example(
        "offbeat secrets",
        'offbeat sink --secret "$(offbeat secrets)"',
        "offbeat secrets rotate",
        "offbeat secrets retire",
    ),
)
@server
@output
@click.pass_context
def command(context: click.Context, *, server: Server, form: str) -> None:
    """Print the tenant's active signing secrets, newest first, one a line."""
    if context.invoked_subcommand is None:
        _call("GET", "/v1/secrets", server, form)
        return
    given = [name for name in context.params if _is_given(context, name)]
    if given:  # They would be the wrong engine's, and say nothing.
        raise click.UsageError(f"write the options after {context.invoked_subcommand}")


@command.command("rotate", epilog=example("offbeat secrets rotate"))
@server
@output
def rotate(*, server: Server, form: str) -> None:
    """Sign with a new secret, too, and print both, the new one first.

    Every delivery is signed by each, so receivers can be given the new one in turn. Then `retire`.
    """
    _call("POST", "/v1/secrets:rotate", server, form)
    talk("both sign: give receivers the first, wait five minutes, then: offbeat secrets retire")


@command.command("retire", epilog=example("offbeat secrets retire"))
@server
@output
def retire(*, server: Server, form: str) -> None:
    """Sign with the newer secret alone, and print it. The older one does not come back."""
    _call("POST", "/v1/secrets:retire", server, form)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _call(method: str, path: str, server: Server, form: str) -> None:
    with Client(server) as client:
        secrets = [row["secret"] for row in client.call(method, path)["data"]]
    if form == "json":
        show_json({"secrets": secrets})
    else:
        for secret in secrets:
            click.echo(secret)
