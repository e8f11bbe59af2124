"""`offbeat backup`: a copy of the database, beside a running engine or not."""

from pathlib import Path

import click

from engine.cli.data_dir import data_dir
from engine.cli.options import example, output
from engine.cli.output import show_json, talk
from engine.store.backup import back_up

KEY_NOTE = (
    "the master key is not in it: keep it apart (master.key, or the file that "
    "OFFBEAT_MASTER_KEY_FILE names), since receivers need new secrets without it"
)


@click.command(
    "backup",
    epilog=example("offbeat backup /var/backups/offbeat.db --data-dir /var/lib/offbeat --force"),
)
@click.argument("place", type=click.Path(path_type=Path), metavar="FILE")
@data_dir
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@output
def command(*, place: Path, database: Path, force: bool, form: str) -> None:
    """Copy the database as it is now to FILE: schedules, runs, keys' hashes, sealed credentials.

    The engine may be running, and goes on. The master key, from which signing secrets are derived,
    is not in the copy: keep it apart. To restore, stop the engine and put FILE in the place of
    offbeat.db, with no offbeat.db-wal beside it.
    """
    size = back_up(database, place, overwrite=force)
    if form == "json":
        show_json({"backup": str(place), "bytes": size})
    else:
        click.echo(f"{place}: {size:,} bytes")
    talk(KEY_NOTE)
