"""`offbeat secrets`: what a receiver needs to verify deliveries."""

import click

from engine.cli.client import Client
from engine.cli.options import Server, example, output, server
from engine.cli.output import show_json


@click.command(
    "secrets", epilog=example("offbeat secrets", 'offbeat sink --secret "$(offbeat secrets)"')
)
@server
@output
def command(*, server: Server, form: str) -> None:
    """Print the tenant's active signing secrets, newest first, one a line."""
    with Client(server) as client:
        secrets = [row["secret"] for row in client.get("/v1/secrets")["data"]]
    if form == "json":
        show_json({"secrets": secrets})
    else:
        for secret in secrets:
            click.echo(secret)
