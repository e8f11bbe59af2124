"""`offbeat attribution`: who ate the objective; the delay of many runs by component."""

import click

from engine.cli.client import Client
from engine.cli.delay_bars import share_rows
from engine.cli.options import Server, example, instant, output, server
from engine.cli.output import show_json, show_sentence, talk
from engine.core.identity import format_instant


@click.command(
    "attribution",
    epilog=example(
        "offbeat attribution",
        "offbeat attribution --from 2026-11-30T12:00:00Z --to 2026-11-30T12:01:00Z -o json",
    ),
)
@click.option(
    "--from", "from_ms", type=instant, metavar="INSTANT", help="Default: an hour before --to."
)
@click.option("--to", "to_ms", type=instant, metavar="INSTANT", help="Exclusive. Default: now.")
@server
@output
def command(*, from_ms: int | None, to_ms: int | None, server: Server, form: str) -> None:
    """Say where the time between scheduled_for and the last response went, and who took most.

    Of scheduled runs alone, as the objective is: runs that somebody triggered, backfills and what
    was made up after downtime are left out.
    """
    span = {"from": from_ms, "to": to_ms}
    query = {name: format_instant(ms) for name, ms in span.items() if ms is not None}
    with Client(server) as client:
        document = client.get("/v1/herd/attribution", **query)
    if form == "json":
        show_json(document)
        return
    if document["runs"]:
        for line in share_rows(document["components"]):
            click.echo(line)
        show_sentence("* is part of the lateness, which is what the objective is about")
        click.echo()
    show_sentence(document["sentence"])
    show_sentence("Runs that were triggered, backfilled or made up after downtime are not counted.")
    if not document["complete"]:
        talk(f"these are the first {document['runs']:,} runs of the span; ask for a shorter one")
