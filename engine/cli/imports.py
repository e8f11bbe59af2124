"""`offbeat import`: other schedulers' files, read, reported on, and put when asked to."""

import os
from pathlib import Path
from typing import Any, BinaryIO

import click

from engine.cli.apply import report
from engine.cli.client import Client
from engine.cli.options import Server, example, output, server
from engine.cli.output import show_json, show_table, talk
from engine.core.errors import Invalid
from engine.core.labels import as_value
from engine.core.timetable import check_timezone
from engine.core.url_rules import wire_url
from engine.imports.crontab import Import, read_crontab

# Where crontabs have a user column (crontab(5)).
SYSTEM_PLACES = (Path("/etc/crontab"), Path("/etc/cron.d"))


def _url(text: str) -> str:
    try:
        return wire_url(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.group("import", epilog=example("offbeat import crontab /etc/cron.d/backup --apply"))
def command() -> None:
    """Turn another scheduler's file into schedules."""


@command.command(
    "crontab",
    epilog=example(
        "crontab -l | offbeat import crontab -",
        "offbeat import crontab /etc/crontab --target http://127.0.0.1:9000/run --apply",
        "offbeat import crontab mine -o json > schedules.json",
    ),
)
@click.argument("file", type=click.File("rb"))
@click.option(
    "--system",
    is_flag=True,
    help="The file has a user column (assumed for /etc/crontab and /etc/cron.d).",
)
@click.option(
    "--target",
    type=_url,
    metavar="URL",
    help="Where commands other than curl and wget are posted.",
)
@click.option(
    "--tz", "timezone", metavar="ZONE", help="Where the crontab's machine is (default: here)."
)
@click.option(
    "--apply/--dry-run",
    "puts",
    default=False,
    help="Put the schedules, or only show them (the default).",
)
@server
@output
def crontab(
    *,
    file: BinaryIO,
    system: bool,
    target: str | None,
    timezone: str | None,
    puts: bool,
    server: Server,
    form: str,
) -> int:
    """Read the crontab FILE (- for standard input).

    On stdout: the schedules, with -o json as a file for `offbeat apply`. On stderr: every line that
    became none, with the reason, and whatever means something else afterwards. Exit code 1 when
    there were such lines.
    """
    path = Path("stdin" if file.name == "<stdin>" else file.name)
    label = as_value(path.name)
    earlier = _imported(server) if puts else []
    result = read_crontab(
        file.read(),
        label=label,
        system=system or any(path.is_relative_to(place) for place in SYSTEM_PLACES),
        timezone=timezone or local_timezone(),
        target=target,
        earlier=earlier,
    )
    _show(result, form)
    for note in result.notes:
        lines = ",".join(map(str, note.lines))
        talk(f"{path}:{lines + ':' if lines else ''} note: {note.text}")
    for line, reason in sorted((line, each.text) for each in result.refused for line in each.lines):
        talk(f"{path}:{line}: {reason}")
    code = _put(result, label, earlier, server) if puts else 0
    if not puts:
        talk(f"{len(result.schedules)} schedules; --apply puts them")
    return code or (1 if result.refused else 0)


def local_timezone() -> str:
    """This machine's zone: TZ, else what /etc/localtime points to, else UTC."""
    candidates = [os.environ.get("TZ", "").removeprefix(":")]
    _, found, name = str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")
    candidates += [name] if found else []
    for candidate in candidates:
        try:
            check_timezone(candidate)
        except Invalid:
            continue
        return candidate
    return "UTC"


def _show(result: Import, form: str) -> None:
    if form == "json":
        schedules = {
            each.document["name"]: {k: v for k, v in each.document.items() if k != "name"}
            for each in result.schedules
        }
        show_json({"schedules": schedules})
        return
    rows = []
    for each in result.schedules:
        cron, target = each.document["cron"], each.document["target"]
        what = target.get("json", {}).get("command") or f"{target['method']} {target['url']}"
        rows.append((each.line, each.document["name"], cron, each.document["timezone"], what))
    show_table(("line", "schedule", "cron", "timezone", "what"), rows)


def _imported(server: Server) -> list[dict[str, Any]]:
    """The schedules of earlier imports, of this file or another: a file may have been renamed."""
    with Client(server) as client:
        return list(client.rows("/v1/schedules", selector="crontab"))


def _put(result: Import, label: str, earlier: list[dict[str, Any]], server: Server) -> int:
    """Put the schedules; name those of an earlier import that the file does not have any more."""
    names = {each.document["name"] for each in result.schedules}
    with Client(server) as client:
        code = report(client.batch([each.document for each in result.schedules]))
    for document in earlier:
        if document["labels"]["crontab"] == label and document["name"] not in names:
            talk(f"no longer in {label}: offbeat schedules delete {document['name']}")
    return code
