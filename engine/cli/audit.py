"""`offbeat audit`: does every occurrence that was owed have a run, or a place in a count?"""

import click

from engine.cli.client import Client
from engine.cli.options import Server, example, instant, output, server
from engine.cli.output import show_json, show_table, talk
from engine.core.identity import format_instant

UNACCOUNTED = 6
"""The exit code when something is missing, as when a comparison finds differences."""

_COUNTS = ("schedules", "owed", "runs", "counted", "pending", "unaccounted")


@click.command(
    "audit",
    epilog=example("offbeat audit", "offbeat audit --from 2026-11-30T12:00:00Z -o json"),
)
@click.option(
    "--from", "from_ms", type=instant, metavar="INSTANT", help="Default: as far as history goes."
)
@click.option("--to", "to_ms", type=instant, metavar="INSTANT", help="Exclusive. Default: now.")
@server
@output
def command(*, from_ms: int | None, to_ms: int | None, server: Server, form: str) -> int:
    """Compare what schedules owed with what ran or was counted; exit code 6 if some is missing."""
    span = {"from": from_ms, "to": to_ms}
    query = {name: format_instant(ms) for name, ms in span.items() if ms is not None}
    with Client(server) as client:
        report = client.get("/v1/audit", **query)
    if form == "json":
        show_json(report)
    else:
        show_table(_COUNTS, [[report[name] for name in _COUNTS]])
        for finding in report["findings"]:
            talk("missing: {count} of {schedule_name}, {first} to {last}".format_map(finding))
    return UNACCOUNTED if report["unaccounted"] else 0
