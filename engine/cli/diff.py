"""`offbeat diff`: what `offbeat apply` with the same options would change."""

import json
from collections.abc import Mapping
from typing import Any

import click

from engine.cli.apply import report
from engine.cli.client import Client, schedule_path
from engine.cli.options import Server, example, output, server
from engine.cli.output import show_json, talk
from engine.cli.set_options import Declared, declared
from engine.core.declared import changes

_SIGNS = {"created": "+", "updated": "~", "deleted": "-"}


@click.command(
    "diff",
    epilog=example(
        "offbeat diff schedules.toml", "offbeat diff a.toml b.yaml --set billing --prune -o json"
    ),
)
@declared
@server
@output
def command(*, declared: Declared, server: Server, form: str) -> int:
    """Show how the schedules of each FILE differ from what is stored; nothing is changed.

    Exit code 0 when they are equal, 6 when they differ, 2 when the engine would refuse some. What a
    file does not say is at its default; whether a schedule rests stays as it is.
    """
    with Client(server) as client:
        declarations, strays = declared.against(client)
        documents = {document["name"]: document for document in declarations}
        results = client.batch(documents.values(), dry_run=True)
        differing = [
            _difference(client, each["name"], each["status"], documents)
            for each in results
            if each["status"] in ("created", "updated")
        ]
    differing += [_item(stray["name"], "deleted") for stray in strays]
    if form == "json":
        show_json(differing)
    else:
        for item in differing:
            _show(item)
    refused = [each for each in results if each["status"] == "error"]
    if refused:
        return report(refused, declared.files)
    talk(f"{len(differing)} differ, {len(results) + len(strays) - len(differing)} are equal")
    return 6 if differing else 0


def _difference(
    client: Client, name: str, status: str, documents: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    if status == "created":
        return _item(name, status)
    found = changes(client.get(schedule_path(name)), documents[name])
    # What the engine calls different and nobody may see is a credential.
    found = found or [("/target/headers", "a credential", "another one")]
    parts = [{"pointer": pointer, "from": old, "to": new} for pointer, old, new in found]
    return _item(name, status) | {"changes": parts}


def _item(name: str, status: str) -> dict[str, Any]:
    return {"name": name, "status": status}


def _show(item: Mapping[str, Any]) -> None:
    click.echo(f"{_SIGNS[item['status']]} {item['name']}")
    for change in item.get("changes", ()):
        old, new = (
            "-" if change[side] is None else json.dumps(change[side], ensure_ascii=False)
            for side in ("from", "to")
        )
        click.echo(f"    {change['pointer'].removeprefix('/')}: {old} -> {new}")
