"""`offbeat next`: when a cron expression occurs and fires. Computed here; no engine is asked."""

from collections.abc import Iterator

import click

from engine.cli.options import example, instant, output, schedule_name, tenant_name
from engine.cli.output import local_time, show_json, show_table, talk
from engine.clock import SystemClock
from engine.core.identity import format_instant, jitter_offset_ms, schedule_id
from engine.core.model import DEFAULT_TENANT, CronTrigger
from engine.core.timetable import compile_trigger, default_jitter, read_cron

JITTER_SECONDS_MAX = 900  # SPEC §4.
OCCURRENCES_MAX = 1_000  # A page of the API.


@click.command(
    "next",
    epilog=example(
        "offbeat next '30 2 * * *' --tz Europe/Berlin --after 2027-03-27T00:00:00Z",
        "offbeat next 'H 4 * * 1-5' --name nightly-report -n 3",
    ),
)
@click.argument("expression", metavar="EXPR")
@click.option(
    "--tz",
    "timezone",
    metavar="ZONE",
    default="UTC",
    show_default=True,
    help="Where the expression is meant.",
)
@click.option(
    "--after", "after_ms", type=instant, help="Occurrences later than this (default now)."
)
@click.option(
    "-n",
    "--count",
    type=click.IntRange(1, OCCURRENCES_MAX),
    default=10,
    show_default=True,
    help="How many.",
)
@click.option(
    "--name", type=schedule_name, metavar="NAME", help="The schedule; jitter and H depend on it."
)
@click.option(
    "--tenant",
    type=tenant_name,
    metavar="NAME",
    default=DEFAULT_TENANT,
    show_default=True,
    help="The schedule's; jitter and H depend on it.",
)
@click.option(
    "--jitter",
    type=click.IntRange(0, JITTER_SECONDS_MAX),
    metavar="SECONDS",
    help="Spread over so long (default: what a schedule would get).",
)
@output
def command(
    *,
    expression: str,
    timezone: str,
    after_ms: int | None,
    count: int,
    name: str | None,
    tenant: str,
    jitter: int | None,
    form: str,
) -> None:
    """List the occurrences of the cron expression EXPR.

    scheduled_for is the planned instant; fire_after adds the jitter of the schedule NAME.
    """
    identity = None if name is None else schedule_id(tenant, name)
    trigger = read_cron(expression, schedule_id=identity, timezone=timezone)
    seconds = default_jitter(trigger, None) if jitter is None else jitter
    if identity is not None:
        offset_ms = jitter_offset_ms(identity, seconds)
    elif jitter:
        raise click.UsageError("--jitter needs --name: the offset is computed from it")
    else:
        offset_ms = 0
        if seconds:
            talk(f"a schedule would add up to {seconds} s of jitter; --name shows its own")
    start_ms = SystemClock().now_ms() if after_ms is None else after_ms
    rows = [
        (
            format_instant(instant),
            format_instant(instant + offset_ms),
            local_time(instant, timezone),
        )
        for instant in _occurrences(trigger, start_ms, count)
    ]
    if len(rows) < count:
        talk("there are no more: cron timetables end with the year 9998")
    if form == "json":
        pairs = [{"scheduled_for": planned, "fire_after": fires} for planned, fires, _ in rows]
        show_json({"occurrences": pairs})
    else:
        show_table(("scheduled_for", "fire_after", f"planned in {timezone}"), rows)


def _occurrences(trigger: CronTrigger, after_ms: int, count: int) -> Iterator[int]:
    """The first `count` of them, fewer where the timetable ends."""
    timetable = compile_trigger(trigger)
    instant = timetable.after(after_ms)
    while instant is not None and count > 0:
        yield instant
        instant, count = timetable.after(instant), count - 1
