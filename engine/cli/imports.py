"""`offbeat import`: other schedulers' files, read, reported on, and put when asked to."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import click

from engine.cli.apply import report
from engine.cli.client import Client
from engine.cli.options import Server, example, output, server
from engine.cli.output import count_of, show_json, show_table, talk
from engine.cli.set_options import in_their_sets
from engine.core.errors import Fault, Invalid
from engine.core.labels import as_value
from engine.core.timetable import check_timezone
from engine.core.url_rules import wire_url
from engine.imports.crontab import read_crontab
from engine.imports.kubernetes import FILE_BYTES_MAX, read_manifests
from engine.imports.report import Import, Imported, Remark

# Where crontabs have a user column (crontab(5)).
SYSTEM_PLACES = (Path("/etc/crontab"), Path("/etc/cron.d"))


def _url(text: str) -> str:
    try:
        return wire_url(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_Function = TypeVar("_Function", bound=Callable[..., object])
_puts: Callable[[_Function], _Function] = click.option(
    "--apply/--dry-run",
    "puts",
    default=False,
    help="Put the schedules, or only show them (the default).",
)


@click.group(
    "import",
    epilog=example(
        "offbeat import crontab /etc/cron.d/backup --apply",
        "offbeat import kubernetes cronjobs.yaml --target http://127.0.0.1:9000/run",
    ),
)
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
@_puts
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
    _show(result.schedules, form)
    _report(path, result)
    code = _put_crontab(result, label, earlier, server) if puts else 0
    return code or _end(result.schedules, result.refused, puts=puts)


@command.command(
    "kubernetes",
    epilog=example(
        "kubectl get cronjobs -A -o yaml | offbeat import kubernetes - --target http://h.example/",
        "offbeat import kubernetes east.yaml west.yaml -o json > schedules.json",
    ),
)
@click.argument("files", nargs=-1, required=True, type=click.File("rb"), metavar="FILE...")
@click.option(
    "--target", type=_url, metavar="URL", help="Where containers other than curl and wget go."
)
@click.option(
    "--tz",
    "timezone",
    metavar="ZONE",
    default="UTC",
    show_default=True,
    help="Where a CronJob names no timeZone: the controller manager's zone.",
)
@_puts
@server
@output
def kubernetes(
    *,
    files: Sequence[BinaryIO],
    target: str | None,
    timezone: str,
    puts: bool,
    server: Server,
    form: str,
) -> int:
    """Read the CronJobs in each FILE. YAML or JSON; - for standard input.

    On stdout: the schedules, with -o json as a file for `offbeat apply`. On stderr: every CronJob
    that became none, with the reason, and whatever means something else afterwards. Exit code 1
    when there were such.
    """
    check_timezone(timezone)
    results = [
        (Path(file.name), read_manifests(_text(file), timezone=timezone, target=target))
        for file in files
    ]
    schedules = [each for _, result in results for each in result.schedules]
    _refuse_twins(schedules)
    _show(schedules, form)
    for path, result in results:
        _report(path, result)
    code = 0
    if puts:
        with Client(server) as client:
            code = _put(client, schedules)
    return code or _end(schedules, [r for _, result in results for r in result.refused], puts=puts)


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


def _text(file: BinaryIO) -> str:
    content = file.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise Invalid(Fault("", f"{file.name}: over {FILE_BYTES_MAX:,} bytes; split the file"))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Invalid(Fault("", f"{file.name}: byte {error.start + 1} is not UTF-8")) from None


def _refuse_twins(schedules: Sequence[Imported]) -> None:
    names = [each.document["name"] for each in schedules]
    if twins := sorted({name for name in names if names.count(name) > 1}):
        raise Invalid(*(Fault("", f"{name} is in two of the files") for name in twins))


def _show(schedules: Sequence[Imported], form: str) -> None:
    if form == "json":
        documents = {
            each.document["name"]: {k: v for k, v in each.document.items() if k != "name"}
            for each in schedules
        }
        show_json({"schedules": documents})
        return
    rows = [(each.line, each.document["name"], *_row(each.document)) for each in schedules]
    show_table(("line", "schedule", "cron", "timezone", "what"), rows)


def _row(document: Mapping[str, Any]) -> tuple[object, ...]:
    target = document["target"]
    command = target.get("json", {}).get("command")
    what = " ".join(command) if isinstance(command, list) else command
    when = document.get("cron") or f"every {document['every']} s"
    when += " (paused)" if document.get("paused") else ""
    return when, document.get("timezone"), what or f"{target['method']} {target['url']}"


def _report(path: Path, result: Import) -> None:
    """Say what means something else, and then, line by line, what became no schedule."""
    for note in result.notes:
        lines = ",".join(map(str, note.lines))
        talk(f"{path}:{lines + ':' if lines else ''} note: {note.text}")
    for line, reason in sorted((line, each.text) for each in result.refused for line in each.lines):
        talk(f"{path}:{line}: {reason}")


def _end(schedules: Sequence[Imported], refused: Sequence[Remark], *, puts: bool) -> int:
    if not puts:
        them = "it" if len(schedules) == 1 else "them"
        count = count_of(len(schedules), "schedule")
        talk(f"{count}; --apply puts {them}" if schedules else "no schedules")
    return 1 if refused else 0


def _imported(server: Server) -> list[dict[str, Any]]:
    """The schedules of earlier imports, of this file or another: a file may have been renamed."""
    with Client(server) as client:
        return list(client.rows("/v1/schedules", selector="crontab"))


def _put(client: Client, schedules: Sequence[Imported]) -> int:
    return report(client.batch(in_their_sets(client, [each.document for each in schedules])))


def _put_crontab(result: Import, label: str, earlier: list[dict[str, Any]], server: Server) -> int:
    """Put the schedules; name those of an earlier import that the file does not have any more."""
    names = {each.document["name"] for each in result.schedules}
    with Client(server) as client:
        code = _put(client, result.schedules)
    for document in earlier:
        if document["labels"]["crontab"] == label and document["name"] not in names:
            talk(f"no longer in {label}: offbeat schedules delete {document['name']}")
    return code
