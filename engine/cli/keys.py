"""`offbeat key`: the keys by which an engine knows who asks."""

from urllib.parse import quote

import click

from engine.cli.client import Client
from engine.cli.options import Server, example, identifier, output, server, tenant_name
from engine.cli.output import show_deleted, show_documents, show_json, talk
from engine.core.access import Scope

_COLUMNS = ("id", "tenant", "scope", "name", "created_at", "last_used_at")


@click.group(
    "key",
    epilog=example("offbeat key create --tenant acme --scope write > acme.key", "offbeat key list"),
)
def command() -> None:
    """Create, list and revoke API keys; it takes a key of scope admin."""


@command.command(
    "create", epilog=example("(umask 077; offbeat key create --tenant acme --scope write > a.key)")
)
@click.option("--tenant", type=tenant_name, required=True, metavar="NAME", help="For whom it acts.")
@click.option(
    "--scope",
    required=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="What it may do; each includes the one before.",
)
@click.option("--name", metavar="TEXT", help="Who has it; shown in lists.")
@server
@output
def create(*, tenant: str, scope: str, name: str | None, server: Server, form: str) -> None:
    """Print a new key; it is shown this once, and stored as a hash."""
    body = {"tenant": tenant, "scope": scope, "name": name}
    with Client(server) as client:
        document = client.call("POST", "/v1/keys", body=body)
    if form == "json":
        show_json(document)
    else:
        click.echo(document["key"])
    talk(f"key {document['id']}: {scope} for {tenant}; it is not shown again")


@command.command("list", epilog=example("offbeat key list"))
@server
@output
def list_all(*, server: Server, form: str) -> None:
    """List all keys by id, without their secrets. The operator's own file is not among them."""
    with Client(server) as client:
        documents = list(client.rows("/v1/keys"))
    if form == "json":
        show_json(documents)
    else:
        show_documents(_COLUMNS, documents, client.now_ms)


@command.command("revoke", epilog=example("offbeat key revoke k5x2mbqy4w7c3nzd"))
@click.argument("key_id", metavar="ID", type=identifier)
@server
@output
def revoke(*, key_id: str, server: Server, form: str) -> None:
    """Revoke the key ID; it is unknown from the next request on."""
    with Client(server) as client:
        client.call("DELETE", f"/v1/keys/{quote(key_id, safe='')}")
    show_deleted(key_id, form, f"{key_id} is revoked")
