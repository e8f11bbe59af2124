"""`offbeat flows`: what is limited, fair and broken together, and setting its limits."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import click

from engine.cli.client import Client
from engine.cli.options import Server, example, identifier, output, server
from engine.cli.output import show_json, show_table
from engine.core.revision import NOTHING


@click.group(
    "flows",
    invoke_without_command=True,
    epilog=example("offbeat flows", "offbeat flows limit api.example.com:443 --rate 50"),
)
@server
@output
@click.pass_context
def command(context: click.Context, *, server: Server, form: str) -> None:
    """List all flows by key, or set the limits of one."""
    if context.invoked_subcommand is not None:
        return
    with Client(server) as client:
        documents = list(client.rows("/v1/flows"))
    if form == "json":
        show_json(documents)
    else:
        _show(documents)


@command.command("limit", epilog=example("offbeat flows limit api.example.com:443 --rate 50"))
@click.argument("key", type=identifier)
@click.option("--rate", type=int, help="Attempts a second at most; without it, no limit.")
@click.option("--parallelism", type=int, help="Attempts under way at most (default 20).")
@click.option("--pause", "paused", is_flag=True, help="Send nothing until the next `limit`.")
@click.option("--new", is_flag=True, help="No schedule has named this flow yet.")
@server
@output
def limit(
    *,
    key: str,
    rate: int | None,
    parallelism: int | None,
    paused: bool,
    new: bool,
    server: Server,
    form: str,
) -> None:
    """Set the limits of the flow KEY. What is left out becomes the default."""
    body = {"rate": rate, "parallelism": parallelism, "paused": paused}
    with Client(server) as client:
        path, if_match = f"/v1/flows/{quote(key, safe='')}", NOTHING if new else None
        stored = client.call("PUT", path, body=body, if_match=if_match)
    if form == "json":
        show_json(stored)
    else:
        _show([stored])


def _show(documents: Sequence[Mapping[str, Any]]) -> None:
    columns = ("key", "rate", "parallelism", "in flight", "held", "breaker")
    rows = [
        (
            document["key"],
            _rate(document["effective_rate"], document["rate"]),
            "paused" if document["paused"] else document["parallelism"],
            document["inflight"],
            document["held"],
            document["breaker"],
        )
        for document in documents
    ]
    show_table(columns, rows)


def _rate(effective: int | None, limit: int | None) -> str:
    if effective == limit:
        return "-" if limit is None else f"{limit}/s"
    return f"{effective}/s (throttled)"
