"""`offbeat notices`: who is told of runs that failed and of schedules that were paused."""

from typing import Any

import click

from engine.cli.client import Client
from engine.cli.options import Server, example, output, server
from engine.cli.output import show_deleted, show_json, show_table

_PATH = "/v1/notices"


@click.group(
    "notices",
    epilog=example(
        "offbeat notices set --target https://example.com/alerts", "offbeat notices off"
    ),
)
def command() -> None:
    """Say who is told of each run that fails and each schedule that the engine pauses."""


@command.command("set", epilog=example("offbeat notices set --target https://example.com/alerts"))
@click.option("--target", "url", metavar="URL", required=True, help="What gets the notices.")
@server
@output
def set_target(*, url: str, server: Server, form: str) -> None:
    """Send notices to URL: a signed POST for each, with a JSON body."""
    with Client(server) as client:
        _show(form, client.call("PUT", _PATH, body={"target": {"url": url}}))


@command.command("show", epilog=example("offbeat notices show"))
@server
@output
def show(*, server: Server, form: str) -> None:
    """Show where notices go. `offbeat runs --schedule SCHEDULE_ID` lists them."""
    with Client(server) as client:
        _show(form, client.call("GET", _PATH))


@command.command("off", epilog=example("offbeat notices off"))
@server
@output
def off(*, server: Server, form: str) -> None:
    """Send no notices any more; those that wait are cancelled."""
    with Client(server) as client:
        client.call("DELETE", _PATH)
    show_deleted("notices", form, "nobody is told of failures")


def _show(form: str, document: dict[str, Any]) -> None:
    if form == "json":
        show_json(document)
        return
    paused = document["pause_reason"] if document["paused"] else "-"
    show_table(
        ("url", "schedule_id", "paused"),
        [(document["target"]["url"], document["schedule_id"], paused)],
    )
