"""`offbeat tenant`: who has schedules on an engine, and how many each may have."""

from typing import Any
from urllib.parse import quote

import click

from engine.cli.client import Client
from engine.cli.options import Server, example, output, server, tenant_name
from engine.cli.output import show_deleted, show_documents, show_json

_COLUMNS = ("name", "schedules", "schedules_max", "interval_seconds_min", "rate", "created_at")


@click.group(
    "tenant",
    epilog=example("offbeat tenant create acme --schedules-max 500", "offbeat tenant list"),
)
def command() -> None:
    """Make, list and delete tenants; it takes a key of scope admin."""


@command.command("create", epilog=example("offbeat tenant create acme --schedules-max 500"))
@click.argument("name", type=tenant_name)
@click.option("--schedules-max", type=int, metavar="N", help="How many schedules it may have.")
@click.option(
    "--interval-seconds-min", type=int, metavar="N", help="How often they may occur at most."
)
@click.option("--rate", type=int, metavar="N", help="Runs that it may send in a second.")
@server
@output
def create(
    *,
    name: str,
    schedules_max: int | None,
    interval_seconds_min: int | None,
    rate: int | None,
    server: Server,
    form: str,
) -> None:
    """Make the tenant NAME, or give it other quotas. What is left out becomes the default."""
    body = {
        "schedules_max": schedules_max,
        "interval_seconds_min": interval_seconds_min,
        "rate": rate,
    }
    with Client(server) as client:
        _show(form, [client.call("PUT", _path(name), body=body)], client.now_ms)


@command.command("list", epilog=example("offbeat tenant list"))
@server
@output
def list_all(*, server: Server, form: str) -> None:
    """List all tenants by name."""
    with Client(server) as client:
        _show(form, list(client.rows("/v1/tenants")), client.now_ms)


@command.command("delete", epilog=example("offbeat tenant delete acme"))
@click.argument("name", type=tenant_name)
@server
@output
def delete(*, name: str, server: Server, form: str) -> None:
    """Delete the tenant NAME. It must have no schedules, no history and no keys."""
    with Client(server) as client:
        client.call("DELETE", _path(name))
    show_deleted(name, form, f"{name} is gone")


def _path(name: str) -> str:
    return f"/v1/tenants/{quote(name, safe='')}"


def _show(form: str, documents: list[dict[str, Any]], now_ms: int) -> None:
    if form == "json":
        show_json(documents)
    else:
        show_documents(_COLUMNS, documents, now_ms)
