"""`offbeat export`: all schedules of the tenant, as a file that `offbeat apply` reads."""

import json
from collections.abc import Sequence

import click

from engine.cli.client import Client
from engine.cli.options import Server, example, server
from engine.cli.output import talk
from engine.core.credentials import MASK
from engine.core.declared import declare
from engine.core.inproc import is_inproc
from engine.core.toml_text import write_toml

NAMED = 5
"""Schedules that are alike to whoever reads the export: the first few say what is meant."""


@click.command(
    "export",
    epilog=example(
        "offbeat export -o toml > schedules.toml",
        "offbeat export | offbeat apply - --server unix:/run/other.sock",
    ),
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["json", "toml", "yaml"]),
    default="json",
    show_default=True,
    help="How to write them.",
)
@click.option("--selector", metavar="LABELS", help="Only those with such labels: env=prod,!gone.")
@server
def command(*, form: str, selector: str | None, server: Server) -> None:
    """Print the schedules as a file for `offbeat apply`: what was chosen, without the defaults.

    Names are kept, and with them ids, offsets and the keys of the occurrences. Credentials are not
    exported: a mask stands for each. Nor are runs; `offbeat backup` keeps everything.
    """
    with Client(server) as client:
        answers = list(client.rows("/v1/schedules", selector=selector))
    schedules = {answer["name"]: declare(answer) for answer in answers}
    if form == "toml":
        click.echo(write_toml(schedules, under="schedules"), nl=False)
    elif form == "yaml":
        # Imported here: the other forms need no YAML.
        from engine.core.yaml_text import write_yaml  # noqa: PLC0415

        click.echo(write_yaml({"schedules": schedules}), nl=False)
    else:
        click.echo(json.dumps({"schedules": schedules}, indent=2, ensure_ascii=False))
    targets = {name: document["target"] for name, document in schedules.items()}
    masked = [name for name, of in targets.items() if MASK in of.get("headers", {}).values()]
    if masked:
        talk(f"credentials are masked; another engine needs their values: {_some(masked)}")
    if inside := [name for name, of in targets.items() if is_inproc(of["url"])]:
        talk(f"these can be put by the program alone that has what they call: {_some(inside)}")


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
