"""`offbeat what-if`: the forecast with other jitter, another rate, more schedules."""

from typing import Any

import click

from engine.cli.client import Client
from engine.cli.forecast import bin_seconds, show_forecast
from engine.cli.options import Server, example, instant, output, server
from engine.cli.output import show_json, show_sentence, talk
from engine.core.herd_document import ADDED_SCHEDULES_MAX, RATE_MAX
from engine.core.identity import format_instant
from engine.core.population import OFFSET_SECONDS_MAX


@click.command(
    "what-if",
    epilog=example(
        "offbeat what-if --jitter 120",
        "offbeat what-if --rate 2000 --add 50000",
        "offbeat what-if --timetable '0 * * * * (UTC)' --jitter 300",
    ),
)
@click.option(
    "--jitter",
    type=click.IntRange(0, OFFSET_SECONDS_MAX),
    metavar="SECONDS",
    help="Spread so far, where deadlines allow it.",
)
@click.option("--rate", type=click.IntRange(1, RATE_MAX), metavar="N", help="Attempts a second.")
@click.option("--burst", type=click.IntRange(1, RATE_MAX), metavar="N", help="Tokens kept.")
@click.option(
    "--add",
    type=click.IntRange(0, ADDED_SCHEDULES_MAX),
    metavar="N",
    help="So many schedules more, hourly at :00 unless --timetable names others.",
)
@click.option(
    "--timetable",
    "timetables",
    metavar="NAME",
    multiple=True,
    help="Of these, as a forecast names them (default: all that fall on :00).",
)
@click.option("--from", "from_ms", type=instant, help="From this instant on (default now).")
@click.option("--to", "to_ms", type=instant, help="Before this one (default a day later).")
@bin_seconds
@server
@output
def command(
    *,
    jitter: int | None,
    rate: int | None,
    burst: int | None,
    add: int | None,
    timetables: tuple[str, ...],
    from_ms: int | None,
    to_ms: int | None,
    bin_s: int,
    server: Server,
    form: str,
) -> None:
    """Say what the forecast would be, and the least jitter and rate that meet the objective."""
    body: dict[str, Any] = {
        "jitter_seconds": jitter,
        "rate": rate,
        "burst": burst,
        "add": add,
        "timetables": list(timetables) or None,
        "from": None if from_ms is None else format_instant(from_ms),
        "to": None if to_ms is None else format_instant(to_ms),
        "bin": bin_s,
    }
    with Client(server) as client:
        answer = client.call("POST", "/v1/herd/what-if", body=body)
    if form == "json":
        show_json(answer)
    else:
        _show(answer)


def _show(answer: dict[str, Any]) -> None:
    show_forecast(answer["then"])
    show_sentence(f"Now: {answer['now']['sentence']}")
    least = answer["least_jitter_seconds"]
    show_sentence(
        "Least jitter that meets the objective: "
        + ("none does" if least is None else f"{least} s")
        + f"; least rate: {answer['least_rate']:,} a second."
    )
    if answer["exactness"] == "expected":
        talk("offsets are the expected ones: too many schedules, or some that do not exist yet")
