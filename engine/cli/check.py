"""`offbeat check`: is a database or a backup whole? It only reads, beside an engine or not."""

from pathlib import Path

import click

from engine.cli.data_dir import data_dir
from engine.cli.options import example, output
from engine.cli.output import show_json
from engine.core.errors import ConfigError, NotFound
from engine.store.database import check


@click.command(
    "check",
    epilog=example(
        "offbeat check --data-dir /var/lib/offbeat", "offbeat check /var/backups/offbeat.db"
    ),
)
@click.argument("backup", required=False, type=click.Path(path_type=Path), metavar="[BACKUP]")
@data_dir
@output
def command(*, backup: Path | None, database: Path, form: str) -> int:
    """Check pages, references and rules of the database, or of a BACKUP.

    Exit code 1 when something is wrong.
    """
    path = backup or database
    if path.is_dir():
        raise ConfigError(f"{path} is a directory; for an engine's write: --data-dir {path}")
    if not path.exists():
        raise NotFound(f"there is no {path}; name the engine's --data-dir, or a backup")
    faults = check(path)
    if form == "json":
        show_json({"database": str(path), "faults": faults})
    else:
        for sentence in faults or [f"{path} is whole"]:
            click.echo(sentence)
    return 1 if faults else 0
