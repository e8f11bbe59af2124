"""`offbeat schedules`: what there is, and what can be done to one of them."""

from typing import Any

import click

from engine.cli.client import Client, schedule_path
from engine.cli.offered_names import meant, schedule_names
from engine.cli.options import Server, document, example, identifier, instant, output, server
from engine.cli.output import When, show_deleted, show_json, show_table, talk
from engine.cli.progress import progress
from engine.core.identity import format_instant


@click.group(
    "schedules",
    invoke_without_command=True,
    epilog=example(
        "offbeat schedules --selector env=prod,team!=web --paused",
        "offbeat schedules get nightly-report",
        "offbeat schedules pause nightly-report --reason 'moving the database'",
    ),
)
@click.option(
    "--selector", metavar="LABELS", help="Those with such labels: env=prod, env!=prod, env, !env."
)
@click.option("--prefix", metavar="TEXT", help="Those whose name begins so.")
@click.option("--paused/--active", default=None, help="Those that rest, or those that do not.")
@server
@output
@click.pass_context
def command(
    context: click.Context,
    *,
    selector: str | None,
    prefix: str | None,
    paused: bool | None,
    server: Server,
    form: str,
) -> None:
    """List schedules by name, or do something to one."""
    if context.invoked_subcommand is not None:
        return
    rest = None if paused is None else str(paused).lower()
    with Client(server) as client:
        documents = list(client.rows("/v1/schedules", selector=selector, q=prefix, paused=rest))
    if form == "json":
        show_json(documents)
    else:
        columns = ("name", "when", "jitter", "next fire_after", "target")
        show_table(columns, [_row(document, client.now_ms) for document in documents])
    if not documents:
        chosen = selector or prefix or paused is not None
        talk("no schedule is so" if chosen else "no schedules yet: offbeat apply FILE puts some")


def when_of(document: dict[str, Any]) -> str:
    """The trigger of a schedule's document, for people."""
    if "cron" in document:
        return f"{document['cron']} ({document['timezone']})"
    if "every" in document:
        phase = f" at +{document['phase']} s" if document["phase"] else ""
        return f"every {document['every']} s{phase}"
    return f"at {document['at']}"


@command.command("get", epilog=example("offbeat schedules get nightly-report"))
@click.argument("name", type=identifier, shell_complete=schedule_names)
@server
@document
def get(*, name: str, server: Server) -> None:
    """Print the document of the schedule NAME (JSON)."""
    with Client(server) as client, meant(client, name):
        show_json(client.get(schedule_path(name)))


@command.command(
    "pause",
    epilog=example(
        "offbeat schedules pause nightly-report --reason 'moving' --until 2026-12-01T06:00:00Z"
    ),
)
@click.argument("name", type=identifier, shell_complete=schedule_names)
@click.option("--reason", metavar="TEXT", help="Shown to whoever asks why it rests.")
@click.option("--until", "until_ms", type=instant, help="Resume by itself then.")
@server
@output
def pause(
    *, name: str, reason: str | None, until_ms: int | None, server: Server, form: str
) -> None:
    """Let the schedule NAME rest; its runs are skipped meanwhile."""
    until = None if until_ms is None else format_instant(until_ms)
    body = {"reason": reason, "until": until}
    with Client(server) as client, meant(client, name):
        stored = client.call("POST", schedule_path(name, ":pause"), body=body)
    if form == "json":
        show_json(stored)
    talk(f"{name} rests {f'until {until}' if until else 'until it is resumed'}")


@command.command("resume", epilog=example("offbeat schedules resume nightly-report"))
@click.argument("name", type=identifier, shell_complete=schedule_names)
@server
@output
def resume(*, name: str, server: Server, form: str) -> None:
    """Let the schedule NAME run again; what it missed stays skipped."""
    with Client(server) as client, meant(client, name):
        stored = client.call("POST", schedule_path(name, ":resume"))
    if form == "json":
        show_json(stored)
    talk(f"{name} fires next at {_next_fire(stored) or 'no time any more'}")


@command.command("trigger", epilog=example("offbeat schedules trigger nightly-report"))
@click.argument("name", type=identifier, shell_complete=schedule_names)
@server
@output
def trigger(*, name: str, server: Server, form: str) -> None:
    """Run the schedule NAME now, and print the run's id. Without jitter, paused or not."""
    with Client(server) as client, meant(client, name):
        run = client.call("POST", schedule_path(name, ":trigger"))
    if form == "json":
        show_json(run)
    else:
        click.echo(run["id"])


@command.command(
    "backfill",
    epilog=example(
        "offbeat schedules backfill nightly-report --from 2026-11-01T00:00:00Z"
        " --to 2026-11-08T00:00:00Z --dry-run"
    ),
)
@click.argument("name", type=identifier, shell_complete=schedule_names)
@click.option(
    "--from",
    "from_ms",
    type=instant,
    required=True,
    metavar="INSTANT",
    help="Scheduled for then or later.",
)
@click.option(
    "--to", "to_ms", type=instant, required=True, metavar="INSTANT", help="Scheduled for earlier."
)
@click.option("--dry-run", is_flag=True, help="Only count.")
@server
@output
def backfill(
    *, name: str, from_ms: int, to_ms: int, dry_run: bool, server: Server, form: str
) -> None:
    """Run past occurrences of the schedule NAME that have no run. They are spread over a while."""
    span = {"from": format_instant(from_ms), "to": format_instant(to_ms), "dry_run": dry_run}
    # The engine answers when all are written, and does not say before how many are.
    with Client(server) as client, meant(client, name), progress("writing runs", None):
        done = client.call("POST", schedule_path(name, ":backfill"), body=span)
    if form == "json":
        show_json(done)
    else:
        show_table(tuple(done), [tuple(done.values())])


@command.command("delete", epilog=example("offbeat schedules delete nightly-report"))
@click.argument("name", type=identifier, shell_complete=schedule_names)
@server
@output
def delete(*, name: str, server: Server, form: str) -> None:
    """Delete the schedule NAME; its unfinished runs are cancelled."""
    with Client(server) as client, meant(client, name):
        client.call("DELETE", schedule_path(name))
    show_deleted(name, form, f"{name} is gone")


def _row(document: dict[str, Any], now_ms: int) -> tuple[object, ...]:
    target = document["target"]
    fire_after = _next_fire(document)
    next_fire = "paused" if document.get("paused") else fire_after and When(fire_after, now_ms)
    address = f"{target['method']} {target['url']}"
    return document["name"], when_of(document), document["jitter_seconds"], next_fire, address


def _next_fire(document: dict[str, Any]) -> str | None:
    following = document["next"]
    return None if following is None else str(following["fire_after"])
