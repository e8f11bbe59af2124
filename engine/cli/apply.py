"""`offbeat apply`: put the schedules of files, and what putting many has to say."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from engine.cli.client import Client, faults_of, schedule_path
from engine.cli.options import Server, example, output, server
from engine.cli.output import sentence_of, show_json, show_table, talk
from engine.cli.set_options import Declared, declared
from engine.core.errors import Fault, Invalid, NotFound, PreconditionFailed
from engine.schedule_files import find_places


@click.command(
    "apply",
    epilog=example(
        "offbeat apply schedules.toml",
        "offbeat apply a.toml b.yaml --set billing --prune --dry-run",
    ),
)
@declared
@click.option("--dry-run", is_flag=True, help="Only say what would become of each.")
@server
@output
def command(*, declared: Declared, dry_run: bool, server: Server, form: str) -> int:
    """Put the schedules of each FILE (.toml, .json, .yaml; - for JSON on stdin), by name.

    A schedule that is already there word for word is left as it is; one of a set stays in its set,
    also without --set. Exit code 2 when the engine refused some; the others are put all the same,
    and nothing is deleted.
    """
    with Client(server) as client:
        documents, strays = declared.against(client)
        results = client.batch(documents, dry_run=dry_run)
        if not any(each["status"] == "error" for each in results):
            results += [_delete(client, stray, dry_run=dry_run) for stray in strays]
        elif strays:
            talk(f"nothing is deleted while some are refused; {len(strays)} would be")
    if form == "json":
        show_json(results)
    else:
        columns = ("schedule", "would be" if dry_run else "status")
        show_table(columns, [(each["name"], each["status"]) for each in results])
    return report(results, declared.files, dry_run=dry_run)


def report(
    results: Sequence[Mapping[str, Any]], files: Iterable[Path] = (), *, dry_run: bool = False
) -> int:
    """Say on stderr what a batch came to, or would have; the exit code.

    Each refusal is on its line, with its place if one of the `files` has it.
    """
    counts = Counter(each["status"] for each in results)
    refused = [each for each in results if each["status"] == "error"]
    places = find_places({each["name"] for each in refused}, files) if refused else {}
    for each in refused:
        place = f"{places[each['name']]}: " if each["name"] in places else ""
        faults = faults_of(each.get("errors", ())) or (Fault("", each["detail"]),)
        talk(f"{place}{each['name']}: {sentence_of(Invalid(*faults))}")
    parts = [f"{counts[status]} {word}" for status, word in _WORDS.items() if counts[status]]
    stored = "; nothing was stored: this was a dry run" if dry_run else ""
    talk((", ".join(parts) or "no schedules") + stored)
    return 2 if refused else 0


def _delete(client: Client, stray: Mapping[str, Any], *, dry_run: bool) -> dict[str, Any]:
    name = stray["name"]
    try:
        if not dry_run:
            # What somebody has changed since it was listed is not what was meant.
            client.call("DELETE", schedule_path(name), if_match=stray["revision"])
    except (NotFound, PreconditionFailed) as error:
        return {"name": name, "status": "error", "detail": str(error)}
    return {"name": name, "status": "deleted"}


_WORDS = {
    "created": "created",
    "updated": "updated",
    "unchanged": "unchanged",
    "deleted": "deleted",
    "error": "refused",
}
