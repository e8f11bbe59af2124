"""`offbeat check`: is a data directory's database whole? It only reads, beside an engine or not."""

import os

import click

from engine.cli.options import example, output
from engine.cli.output import show_json
from engine.cli.run import DEFAULT_FILE
from engine.config import load_config
from engine.core.errors import NotFound
from engine.store.database import DATABASE_NAME, check


@click.command("check", epilog=example("offbeat check --data-dir /var/lib/offbeat"))
@click.option("--data-dir", metavar="DIR", help="As for run, from the same settings.")
@output
def command(*, data_dir: str | None, form: str) -> int:
    """Check pages, references and rules of the database; exit code 1 when something is wrong."""
    toml_path = DEFAULT_FILE if DEFAULT_FILE.exists() else None
    path = load_config({"data_dir": data_dir}, os.environ, toml_path).data_dir / DATABASE_NAME
    if not path.exists():
        raise NotFound(f"there is no {path}; name the engine's --data-dir")
    faults = check(path)
    if form == "json":
        show_json({"database": str(path), "faults": faults})
    else:
        for sentence in faults or [f"{path} is whole"]:
            click.echo(sentence)
    return 1 if faults else 0
