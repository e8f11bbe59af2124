"""`offbeat runs`: the journal, newest first, and what can be done to runs in it."""

from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_type_hints

import click

from engine.cli.client import Client, run_path, schedule_path
from engine.cli.following import Following, json_line, show_line
from engine.cli.offered_names import meant, schedule_names
from engine.cli.options import Server, example, identifier, instant, output, server
from engine.cli.output import show_documents, show_json, show_table, talk
from engine.cli.progress import progress
from engine.core.identity import format_instant
from engine.core.model import Outcome, State
from engine.core.retry import GiveUp
from engine.core.schedule_members import is_name

LIMIT_MAX = 100_000  # Beyond this, ask by schedule or by state.
_COLUMNS = (
    "scheduled_for",
    "schedule_name",
    "state",
    "reason",
    "attempt_count",
    "first_attempt_at",
)
_REASONS: tuple[str, ...] = get_args(get_type_hints(GiveUp)["reason"])
_OUTCOMES: tuple[str, ...] = get_args(get_type_hints(Outcome)["name"])

_Function = TypeVar("_Function", bound=Callable[..., object])


@click.group(
    "runs",
    invoke_without_command=True,
    epilog=example(
        "offbeat runs",
        "offbeat runs --schedule nightly-report --state failed -o json",
        "offbeat runs --follow",
        "offbeat runs replay --failed --schedule nightly-report",
    ),
)
@click.option(
    "--schedule",
    type=identifier,
    metavar="NAME",
    shell_complete=schedule_names,
    help="Of this schedule (name or id).",
)
@click.option("--state", type=click.Choice([state.value for state in State]), help="In this state.")
@click.option(
    "--limit",
    type=click.IntRange(1, LIMIT_MAX),
    metavar="N",
    default=20,
    show_default=True,
    help="How many.",
)
@click.option("--follow", is_flag=True, help="And then whatever changes, oldest first.")
@server
@output
@click.pass_context
def command(
    context: click.Context,
    *,
    schedule: str | None,
    state: str | None,
    limit: int,
    follow: bool,
    server: Server,
    form: str,
) -> None:
    """List runs, newest first, or do something to some."""
    if context.invoked_subcommand is not None:
        return
    if follow:
        _follow(server, form, schedule=schedule, state=state, limit=limit)
        return
    with Client(server) as client:
        rows = list(client.rows("/v1/runs", limit=limit, schedule=schedule, state=state))
        if not rows:  # One that is deleted may have runs.
            _check_schedule(client, schedule)
    if form == "json":
        show_json(rows)
    else:
        show_documents(_COLUMNS, rows, client.now_ms)
    if not rows:
        talk("no run is so" if schedule or state else "no runs yet")


def _follow(
    server: Server, form: str, *, schedule: str | None, state: str | None, limit: int
) -> None:
    """Until it is interrupted."""
    columns = _COLUMNS[:-1]
    with Client(server) as client:
        _check_schedule(client, schedule)
        for row in Following(client, schedule=schedule, limit=limit).rows():
            if state in (None, row["state"]):
                click.echo(json_line(row) if form == "json" else show_line(row, columns))


def _check_schedule(client: Client, name: str | None) -> None:
    """Raises NotFound for a name that no schedule has. An id may be of one that is gone."""
    if name is not None and is_name(name):
        with meant(client, name):
            client.get(schedule_path(name))


@command.command(
    "cancel",
    epilog=example(
        "offbeat runs cancel sch_tq9s2dobvk1gq0sevfcr4j94no@2026-11-30T12:00:00Z",
    ),
)
@click.argument("run", metavar="ID", type=identifier)
@server
@output
def cancel(*, run: str, server: Server, form: str) -> None:
    """Cancel the run ID. An attempt under way is not broken off, and no other follows it."""
    with Client(server) as client:
        document = client.call("POST", run_path(run, ":cancel"))
    if form == "json":
        show_json(document)
    ends = "when its attempt ends" if document["state"] == State.ATTEMPTING else "now"
    talk(f"{run} is cancelled {ends}")


def _meant(function: _Function) -> _Function:
    """The options that say which failed runs are meant."""
    for option in reversed(
        (
            click.option("--failed", is_flag=True, help="Failed runs, those that the rest means."),
            click.option(
                "--schedule",
                type=identifier,
                metavar="NAME",
                shell_complete=schedule_names,
                help="Of this schedule.",
            ),
            click.option(
                "--label",
                "labels",
                multiple=True,
                type=_label,
                metavar="NAME=VALUE",
                help="Of schedules with this label; again for more, all of which must hold.",
            ),
            click.option(
                "--from",
                "from_ms",
                type=instant,
                metavar="INSTANT",
                help="Scheduled for then or later.",
            ),
            click.option(
                "--to", "to_ms", type=instant, metavar="INSTANT", help="Scheduled for earlier."
            ),
            click.option("--reason", type=click.Choice(_REASONS), help="That failed for this."),
            click.option("--outcome", type=click.Choice(_OUTCOMES), help="Of the last attempt."),
            click.option("--dry-run", is_flag=True, help="Only count."),
        )
    ):
        function = option(function)
    return function


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text!r}: write NAME=VALUE, like team=billing")
    return name, value


@command.command(
    "replay",
    epilog=example(
        "offbeat runs replay sch_tq9s2dobvk1gq0sevfcr4j94no@2026-11-30T12:00:00Z",
        "offbeat runs replay --failed --schedule nightly-report"
        " --from 2026-11-01T00:00:00Z --dry-run",
    ),
)
@click.argument("run", metavar="[ID]", type=identifier, required=False)
@_meant
@server
@output
def replay(*, run: str | None, failed: bool, server: Server, form: str, **which: Any) -> None:
    """Send the run ID again, or all failed ones that are meant. Many are spread over a while."""
    if run is None:
        _settle("replay", server, form, failed=failed, **which)
        return
    if failed or any(which.values()):
        raise click.UsageError("write the ID of one run, or --failed and which ones: not both")
    with Client(server) as client:
        document = client.call("POST", run_path(run, ":replay"))
    if form == "json":
        show_json(document)
    talk(f"{run} is due at {document['next_attempt_at']}")


@command.command(
    "delete",
    epilog=example("offbeat runs delete --failed --reason expired --to 2026-11-01T00:00:00Z"),
)
@_meant
@server
@output
def delete(*, server: Server, form: str, **which: Any) -> None:
    """Delete failed runs with their attempts. What was owed stays counted."""
    _settle("delete", server, form, **which)


def _settle(action: str, server: Server, form: str, *, failed: bool, **which: Any) -> None:
    if not failed:
        raise click.UsageError(f"write --failed, and which failed runs to {action}")
    title = "replaying runs" if action == "replay" else "deleting runs"
    with Client(server) as client, progress(title, None), meant(client, which["schedule"]):
        done = client.call("POST", f"/v1/runs:{action}", body=_body(**which))
    if form == "json":
        show_json(done)
    else:
        show_table(tuple(done), [tuple(done.values())])


def _body(
    *,
    labels: tuple[tuple[str, str], ...],
    from_ms: int | None,
    to_ms: int | None,
    **same: Any,
) -> dict[str, Any]:
    bounds = {"from": from_ms, "to": to_ms}
    instants = {name: format_instant(ms) for name, ms in bounds.items() if ms is not None}
    return {"labels": dict(labels), **instants, **same}
