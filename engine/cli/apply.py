"""`offbeat apply`: put the schedules of files, and what putting many has to say."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from engine.cli.client import Client, faults_of
from engine.cli.options import Server, example, output, server
from engine.cli.output import sentence_of, show_json, show_table, talk
from engine.cli.schedule_files import read_files
from engine.core.errors import Fault, Invalid


@click.command(
    "apply", epilog=example("offbeat apply schedules.toml", "offbeat apply a.toml b.json -o json")
)
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@click.option("--dry-run", is_flag=True, help="Only say what would become of each.")
@server
@output
def command(*, files: Sequence[Path], dry_run: bool, server: Server, form: str) -> int:
    """Put the schedules of each FILE (.toml or .json), by name.

    A schedule that is already there word for word is left as it is. Exit code 2 when the engine
    refused some; the others are put all the same.
    """
    documents = read_files(files)
    with Client(server) as client:
        results = client.batch(documents, dry_run=dry_run)
    if form == "json":
        show_json(results)
    else:
        show_table(("schedule", "status"), [(each["name"], each["status"]) for each in results])
    return report(results)


def report(results: Sequence[Mapping[str, Any]]) -> int:
    """Say on stderr what a batch came to, each refusal on its line; the exit code."""
    counts = Counter(each["status"] for each in results)
    refused = [each for each in results if each["status"] == "error"]
    for each in refused:
        faults = faults_of(each.get("errors", ())) or (Fault("", each["detail"]),)
        talk(f"{each['name']}: {sentence_of(Invalid(*faults))}")
    parts = [f"{counts[status]} {word}" for status, word in _WORDS.items() if counts[status]]
    talk(", ".join(parts) or "no schedules")
    return 2 if refused else 0


_WORDS = {
    "created": "created",
    "updated": "updated",
    "unchanged": "unchanged",
    "error": "refused",
}
