"""`offbeat run`: settings from their four sources, then the engine until it is told to stop."""

import os
from pathlib import Path

import click

from engine.cli.options import example
from engine.config import Config, load_config

_DEFAULTS = Config()
DEFAULT_FILE = Path("offbeat.toml")


@click.command(
    "run",
    epilog=example(
        "offbeat run --demo",
        "offbeat run --data-dir /var/lib/offbeat --listen unix:/run/offbeat.sock --rate 200",
        "offbeat run --schedules /etc/offbeat/schedules",
    ),
)
@click.option("--demo", is_flag=True, default=None, help="Also start a receiver and examples.")
@click.option(
    "--config", "file", metavar="FILE", help=f"Settings (default {DEFAULT_FILE}, if there)."
)
@click.option(
    "--data-dir", metavar="DIR", help=f"Where the journal lives (default {_DEFAULTS.data_dir})."
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    help=f"HOST:PORT (without keys on loopback) or unix:PATH (default {_DEFAULTS.listen}).",
)
@click.option(
    "--tenant", metavar="NAME", help=f"Whose schedules these are (default {_DEFAULTS.tenant})."
)
@click.option(
    "--schedules", metavar="DIR", help="Keep its schedules like the files in DIR, as they change."
)
@click.option("--rate", metavar="N", help=f"Attempts a second at most (default {_DEFAULTS.rate}).")
@click.option("--burst", metavar="N", help="Depth of the token bucket (default rate / 10).")
@click.option(
    "--concurrency",
    metavar="N",
    help=f"Attempts under way at most, for slow receivers (default {_DEFAULTS.concurrency}).",
)
@click.option(
    "--clock-start",
    "clock_start_ms",
    metavar="INSTANT",
    help="Call this instant now, at real speed; for tests and rehearsals.",
)
@click.option(
    "--lock-timeout",
    "lock_timeout_seconds",
    metavar="SECONDS",
    help="Wait so long for another engine to leave the data directory (default 0).",
)
@click.option(
    "--drain-timeout",
    "drain_timeout_seconds",
    metavar="SECONDS",
    help=f"On SIGTERM, wait so long for requests (default {_DEFAULTS.drain_timeout_seconds:g}).",
)
@click.option(
    "--accept-clock",
    is_flag=True,
    default=None,
    help="Trust a clock that is a day or more behind the journal.",
)
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
