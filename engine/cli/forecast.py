"""`offbeat forecast`: what will fire and how late, as a chart, with a verdict."""

from typing import Any

import click

from engine.cli.client import Client
from engine.cli.herd_chart import show_chart
from engine.cli.options import Server, example, instant, output, server
from engine.cli.output import show_json, show_sentence, show_table
from engine.core.identity import format_instant

BIN_SECONDS_MAX = 3_600

bin_seconds = click.option(
    "--bin",
    "bin_s",
    type=click.IntRange(1, BIN_SECONDS_MAX),
    metavar="SECONDS",
    default=60,
    show_default=True,
    help="Seconds that are counted together.",
)


@click.command(
    "forecast",
    epilog=example(
        "offbeat forecast",
        "offbeat forecast --from 2026-12-01T00:00:00Z --to 2026-12-01T01:00:00Z --bin 1 -o json",
    ),
)
@click.option("--from", "from_ms", type=instant, help="From this instant on (default now).")
@click.option("--to", "to_ms", type=instant, help="Before this one (default a day later).")
@bin_seconds
@server
@output
def command(
    *, from_ms: int | None, to_ms: int | None, bin_s: int, server: Server, form: str
) -> None:
    """Say what will fire, when it will be sent, and whether the objective is met."""
    with Client(server) as client:
        document = client.get(
            "/v1/herd/forecast", **{"from": _text(from_ms), "to": _text(to_ms), "bin": bin_s}
        )
    if form == "json":
        show_json(document)
        return
    show_forecast(document)
    top = document["top"]["timetables"]
    if top:
        click.echo()
        show_table(("timetable", "runs"), [(row["timetable"], f"{row['runs']:,}") for row in top])


def show_forecast(document: dict[str, Any]) -> None:
    """The chart and the verdict."""
    show_chart(document)
    click.echo()
    show_sentence(document["sentence"])
    if document["verdict"] not in ("met", "quiet"):
        show_sentence(document["advice"])


def _text(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)
