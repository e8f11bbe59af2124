"""The command line of the instrument."""

import json
import secrets
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from engine.cli.options import Number
from loadtest import run_real, run_virtual
from loadtest.figures import Figures, figures_of
from loadtest.foresight import foresee
from loadtest.isolation import claims
from loadtest.processes import LoadtestError
from loadtest.report import write_report
from loadtest.workload import (
    REALISTIC_MIX,
    SCHEDULES_MAX,
    SECONDS_MAX,
    Experiment,
    Scenario,
    Variant,
    read_mix,
)

SECONDS = {"herd": 1, "shock": 1, "recovery": 300, "steady": 60, "fleet": 600}
"""The window when none is asked for: a herd is one instant, the others take minutes."""

OUTAGE_SECONDS = {"recovery": 30, "shock": 60}

DESCRIPTIONS = {
    "herd": "Every schedule at :00: the top of the hour.",
    "steady": "Every schedule each 30 s, evenly spread: what the engine does in peace.",
    "recovery": "A herd in whose middle the engine is killed; --outage: seconds until it is back.",
    "shock": "A herd whose receivers answer 503 for --outage seconds, then recover.",
    "fleet": "A mixed fleet over --seconds, from midnight on.",
}


def main() -> int:
    """Make the experiment that the command line asks for; the exit code."""
    # As Ctrl-C does: engine, receiver and the journal in memory end on the way out.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return int(_group(standalone_mode=False) or 0)


@click.group(
    help="Puts an engine under a herd and says what happened.",
    context_settings={"show_default": True},
)
def _group() -> None:
    pass


def _options(function: Callable[..., int]) -> Callable[..., int]:
    for option in reversed(
        (
            click.option("--schedules", type=click.IntRange(1, SCHEDULES_MAX), default=10_000),
            click.option("--jitter", type=click.IntRange(0, 900), default=60, help="Seconds."),
            click.option("--rate", type=click.IntRange(1, 1_000_000), default=1_000),
            click.option("--burst", type=click.IntRange(1), help="Default: a tenth of the rate."),
            click.option("--concurrency", type=click.IntRange(1, 10_000), default=1_024),
            click.option("--real", "mode", flag_value="real", help="Processes and sockets."),
            click.option(
                "--virtual", "mode", flag_value="virtual", default=True, help="Virtual time."
            ),
            click.option("--receivers", type=click.IntRange(1, 100), default=1),
            click.option("--delay", type=click.IntRange(0, 60_000), default=0, help="ms."),
            click.option("--fail-rate", type=Number(0, 1), default=0.0),
            click.option("--seconds", type=click.IntRange(1, SECONDS_MAX), help="The window."),
            click.option("--outage", type=click.IntRange(0, 86_400), help="Seconds."),
            click.option("--mix", default=REALISTIC_MIX, help="Of a fleet, in percent by period."),
            click.option(
                "--disk",
                type=Number(0, 1_000),
                default=2.0,
                help="Virtual ms of a crossing to the database's thread.",
            ),
            click.option("--compare", default="jitter", help="Of none,jitter,whole-second."),
            click.option("--seed", help="Names, and all that follows from them; default: fresh."),
            click.option("--out", type=click.Path(path_type=Path), required=True),
            click.option("--keep", is_flag=True, help="Keep ledgers and journals."),
        )
    ):
        function = option(function)
    return function


def _command(scenario: Scenario) -> None:
    @_group.command(scenario, help=DESCRIPTIONS[scenario])
    @_options
    def run(**options: Any) -> int:
        out, keep = options.pop("out"), options.pop("keep")
        return _make(_experiments(scenario, options), out, keep=keep)


for name in get_args(Scenario):
    _command(name)


@_group.command(help="Noisy tenants, a hung destination, an hour of downtime: who pays for whom.")
def isolation() -> int:
    """Print what was found, claim by claim; 1 when one does not hold."""
    held = []
    for claim in claims():
        print(f"{'yes' if claim.holds else 'NO ':4}{claim.what}: {claim.found}", flush=True)
        held.append(claim.holds)
    return 0 if all(held) else 1


def _experiments(scenario: Scenario, options: dict[str, Any]) -> list[Experiment]:
    variants = options["compare"].split(",")
    if unknown := set(variants) - set(get_args(Variant)):
        raise click.UsageError(f"--compare takes none, jitter, whole-second, not {unknown}")
    try:
        read_mix(options["mix"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    experiment = Experiment(
        scenario=scenario,
        mode=options["mode"],
        schedules=options["schedules"],
        jitter_seconds=options["jitter"],
        rate=options["rate"],
        burst=options["burst"] or max(1, options["rate"] // 10),
        concurrency=options["concurrency"],
        receivers=options["receivers"],
        delay_ms=options["delay"],
        fail_rate=options["fail_rate"],
        seed=options["seed"] or f"run-{secrets.token_hex(4)}",
        seconds=options["seconds"] or SECONDS[scenario],
        outage_seconds=options["outage"] or OUTAGE_SECONDS.get(scenario, 0),
        disk_ms=options["disk"],
        mix=options["mix"],
    )
    return [replace(experiment, variant=variant) for variant in variants]


def _make(experiments: list[Experiment], out: Path, *, keep: bool) -> int:
    """Make each, write figures and report; 1 when an invariant was broken."""
    results: list[Figures] = []
    for experiment in experiments:
        print(f"{experiment.scenario}, {experiment.variant}:", file=sys.stderr)
        directory = out / experiment.variant
        if directory.exists():
            raise click.UsageError(f"{directory} is there already: name another --out")
        directory.mkdir(parents=True)
        run = run_real.run if experiment.mode == "real" else run_virtual.run
        results.append(figures_of(run(experiment, directory), foresee))
        if not keep:
            _clear(directory)
        (out / "figures.json").write_text(json.dumps(results, indent=1))
    write_report(results, out / "report.html")
    faults = sum(sum(result["faults"].values()) for result in results)
    return 1 if faults else 0


def _clear(directory: Path) -> None:
    """Remove what takes space, and the keys; the engine's log stays."""
    shutil.rmtree(directory / "data", ignore_errors=True)
    for name in ("ledger.ndjson", "signing.key", "master.key"):
        (directory / name).unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LoadtestError as error:
        sys.exit(f"loadtest: {error}")
    except click.Abort:
        sys.exit(130)  # Ctrl-C: engine and receiver have ended on the way here.
    except click.ClickException as error:
        error.show()
        sys.exit(2)
