"""`offbeat runs`: the journal, newest first."""

import click

from engine.cli.client import Client
from engine.cli.options import Server, example, identifier, output, server
from engine.cli.output import show_json, show_table
from engine.core.model import State

LIMIT_MAX = 100_000  # Beyond this, ask by schedule or by state.
_COLUMNS = (
    "scheduled_for",
    "schedule_name",
    "state",
    "reason",
    "attempt_count",
    "first_attempt_at",
)


@click.command(
    "runs",
    epilog=example("offbeat runs", "offbeat runs --schedule nightly-report --state failed -o json"),
)
@click.option("--schedule", type=identifier, metavar="NAME", help="Of this schedule (name or id).")
@click.option("--state", type=click.Choice([state.value for state in State]), help="In this state.")
@click.option(
    "--limit",
    type=click.IntRange(1, LIMIT_MAX),
    metavar="N",
    default=20,
    show_default=True,
    help="How many.",
)
@server
@output
def command(
    *, schedule: str | None, state: str | None, limit: int, server: Server, form: str
) -> None:
    """List runs, newest first."""
    with Client(server) as client:
        rows = list(client.rows("/v1/runs", limit=limit, schedule=schedule, state=state))
    if form == "json":
        show_json(rows)
    else:
        show_table(_COLUMNS, [[row[column] for column in _COLUMNS] for row in rows])
