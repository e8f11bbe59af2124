"""`offbeat run`: settings from their four sources, then the engine until it is told to stop."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from engine.cli.options import example
from engine.config import Config, load_config
from engine.settings import SETTINGS, flag_of

DEFAULT_FILE = Path("offbeat.toml")

_Function = TypeVar("_Function", bound=Callable[..., object])


def _settings(function: _Function) -> _Function:
    """The flags of the settings that have one."""
    for field, setting in reversed(SETTINGS.items()):
        if setting.metavar is not None:
            function = _flag(field, setting.metavar, setting.purpose)(function)
    return function


def _flag(field: str, metavar: str, purpose: str) -> Callable[[_Function], _Function]:
    if not metavar:
        return click.option(flag_of(field), field, is_flag=True, default=None, help=purpose)
    # Not click's own default: a flag that is not given leaves room for the other sources.
    default = getattr(Config(), field)
    shown = f"{default:g}" if isinstance(default, float) else default
    words = purpose if default is None else f"{purpose.removesuffix('.')} (default {shown})."
    return click.option(flag_of(field), field, metavar=metavar, help=words)


@click.command(
    "run",
    epilog=example(
        "offbeat run --demo",
        "offbeat run --data-dir /var/lib/offbeat --listen unix:/run/offbeat.sock --rate 200",
        "offbeat run --schedules /etc/offbeat/schedules",
    ),
)
@click.option(
    "--config", "file", metavar="FILE", help=f"Settings (default {DEFAULT_FILE}, if there)."
)
@_settings
def command(file: str | None, **flags: object) -> int:
    """Start the engine; it stops on SIGTERM or Ctrl-C, and on a second one at once.

    Each setting is taken from its flag, else from OFFBEAT_SECTION__KEY, else from the file.
    """
    path = Path(file) if file else (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    config = load_config(flags, os.environ, path)
    # Imported here: --help and a wrong flag need no engine.
    from engine.process import run  # noqa: PLC0415

    if config.demo:
        from engine.cli.demo import accompany  # noqa: PLC0415

        accompany(config)
    return run(config)
