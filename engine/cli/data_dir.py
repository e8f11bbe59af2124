"""The option `--data-dir` of commands that read the database itself, beside an engine or not."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from engine.cli.run import DEFAULT_FILE
from engine.config import load_config
from engine.store.database import DATABASE_NAME

_Function = TypeVar("_Function", bound=Callable[..., object])


def _database(_: click.Context, __: click.Parameter, directory: str | None) -> Any:
    toml_path = DEFAULT_FILE if DEFAULT_FILE.exists() else None
    return load_config({"data_dir": directory}, os.environ, toml_path).data_dir / DATABASE_NAME


data_dir: Callable[[_Function], _Function] = click.option(
    "--data-dir",
    "database",
    metavar="DIR",
    callback=_database,
    help="As for run, from the same settings.",
)
