"""The command line of the instrument.

An option that a scenario or a mode would not heed is not taken, and every mistake is found before
the first experiment begins.
"""

import json
import secrets
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from engine.cli.options import Number
from engine.core.schedule_members import NAME_RULE, is_name
from loadtest import run_real, run_virtual
from loadtest.figures import Figures, figures_of
from loadtest.foresight import foresee
from loadtest.isolation import claims
from loadtest.processes import LoadtestError
from loadtest.report import judgements, write_report
from loadtest.workload import (
    OUTAGE_SECONDS,
    REALISTIC_MIX,
    SCHEDULES_MAX,
    SECONDS_MAX,
    TIMEOUT_MS,
    Experiment,
    Scenario,
    Variant,
    name_of,
    read_mix,
)

SECONDS = {"herd": 1, "shock": 1, "recovery": 300, "steady": 60, "fleet": 600}
"""The window when none is asked for: a herd is one instant, the others take minutes."""

DISK_MS = 2.0
"""Of a crossing to the database's thread, in virtual time: a commit on a common SSD."""

CHANCE_MS = 2_000
"""So near to the timeout it is chance which comes first: requests reach a busy receiver late."""

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
    try:
        return int(_group(standalone_mode=False) or 0)
    except click.Abort:
        return 130  # Ctrl-C: engine and receiver have ended on the way here.
    except click.ClickException as error:
        error.show()
    except (LoadtestError, OSError) as error:
        print(f"loadtest: {error}", file=sys.stderr)
    return 2


@click.group(
    help="Puts an engine under a herd and says what happened.",
    context_settings={"show_default": True},
)
def _group() -> None:
    pass


def _variants(_: click.Context, __: click.Parameter, text: str) -> list[str]:
    variants, known = text.split(","), get_args(Variant)
    if not set(variants) <= set(known) or len(variants) > len(set(variants)):
        raise click.BadParameter(f"{text!r} is not some of {','.join(known)}, each once")
    return variants


def _mix(_: click.Context, __: click.Parameter, text: str) -> str:
    try:
        read_mix(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return text


def _seed(_: click.Context, __: click.Parameter, text: str | None) -> str:
    seed = f"run-{secrets.token_hex(4)}" if text is None else text
    if not is_name(name_of(seed, 0)):
        raise click.BadParameter(f"{seed!r} begins the schedules' names: {NAME_RULE}")
    return seed


def _delay(_: click.Context, __: click.Parameter, ms: int) -> int:
    low, high = TIMEOUT_MS - CHANCE_MS, TIMEOUT_MS + CHANCE_MS
    if low < ms < high:
        raise click.BadParameter(
            f"{ms} ms may be more or less than the target's timeout of {TIMEOUT_MS} ms, "
            f"as it happens: take {low} at most, or {high} at least"
        )
    return ms


_COUNT = click.IntRange(1)
_OPTIONS = (
    click.option("--schedules", type=click.IntRange(1, SCHEDULES_MAX), default=10_000),
    click.option("--jitter", type=click.IntRange(0, 900), default=60, help="Seconds."),
    click.option("--rate", type=click.IntRange(1, 1_000_000), default=1_000),
    click.option("--burst", type=_COUNT, help="Default: a tenth of the rate."),
    click.option("--concurrency", type=click.IntRange(1, 10_000), default=1_024),
    click.option("--real", is_flag=True, help="Processes and sockets."),
    click.option("--virtual", is_flag=True, help="Virtual time, the default."),
    click.option("--receivers", type=click.IntRange(1, 100), default=1),
    click.option("--delay", type=click.IntRange(0, 60_000), default=0, callback=_delay, help="ms."),
    click.option("--fail-rate", type=Number(0, 1), default=0.0),
    click.option(
        "--compare", default="jitter", callback=_variants, help="Of none,jitter,whole-second."
    ),
    click.option("--seed", callback=_seed, help="Begins every name; fresh by default."),
    click.option(
        "--disk",
        type=Number(0, 1_000),
        help="Virtual ms of a crossing to the database's thread; 2 by default.",
    ),
    click.option("--keep", is_flag=True, help="Keep ledgers and journals of --real."),
    click.option(
        "--out",
        # Resolved: the processes of --real run in directories of their own.
        type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
        required=True,
    ),
)


def _options_of(scenario: Scenario) -> Iterator[Callable[[Callable[..., int]], Callable[..., int]]]:
    """What a scenario heeds, in the order of its help."""
    yield from _OPTIONS
    yield click.option(
        "--seconds",
        type=click.IntRange(1, SECONDS_MAX),
        default=SECONDS[scenario],
        help="The window.",
    )
    if scenario in OUTAGE_SECONDS:
        outage = click.IntRange(0, 86_400)
        yield click.option(
            "--outage", type=outage, default=OUTAGE_SECONDS[scenario], help="Seconds."
        )
    if scenario == "fleet":
        yield click.option(
            "--mix", default=REALISTIC_MIX, callback=_mix, help="In percent by period."
        )


def _command(scenario: Scenario) -> None:
    def run(**options: Any) -> int:
        return _make(_experiments(scenario, options), options["out"], keep=options["keep"])

    for option in reversed(list(_options_of(scenario))):
        run = option(run)
    _group.command(scenario, help=DESCRIPTIONS[scenario])(run)


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
    if options["real"] and options["virtual"]:
        raise click.UsageError("--real and --virtual are two modes: take one")
    if options["real"] and options["disk"] is not None:
        raise click.UsageError("--disk is of virtual time: a --real disk takes what it takes")
    if options["keep"] and not options["real"]:
        raise click.UsageError("--keep is of --real: virtual time has no ledger, and no journal")
    experiment = Experiment(
        scenario=scenario,
        mode="real" if options["real"] else "virtual",
        schedules=options["schedules"],
        jitter_seconds=options["jitter"],
        rate=options["rate"],
        burst=options["burst"] or max(1, options["rate"] // 10),
        concurrency=options["concurrency"],
        receivers=options["receivers"],
        delay_ms=options["delay"],
        fail_rate=options["fail_rate"],
        seed=options["seed"],
        seconds=options["seconds"],
        outage_seconds=options.get("outage", 0),
        disk_ms=DISK_MS if options["disk"] is None else options["disk"],
        mix=options.get("mix", REALISTIC_MIX),
    )
    return [replace(experiment, variant=variant) for variant in options["compare"]]


def _make(experiments: list[Experiment], out: Path, *, keep: bool) -> int:
    """Make each, write figures and report; 1 when an invariant was broken."""
    directories = [out / experiment.variant for experiment in experiments]
    _prepare(directories)
    results: list[Figures] = []
    for experiment, directory in zip(experiments, directories, strict=True):
        print(f"{experiment.scenario}, {experiment.variant}:", file=sys.stderr)
        run = run_real.run if experiment.mode == "real" else run_virtual.run
        try:
            results.append(figures_of(run(experiment, directory), foresee))
        finally:
            _clear(directory, keep=keep)
        (out / "figures.json").write_text(json.dumps(results, indent=1))
    write_report(results, out / "report.html")
    for result in results:
        print(f"{result['variant']}: {'; '.join(words for words, _ in judgements(result))}")
    print(out / "report.html")
    faults = sum(sum(result["faults"].values()) for result in results)
    return 1 if faults else 0


def _prepare(directories: list[Path]) -> None:
    """Make them all, or none."""
    for directory in directories:
        if directory.exists():
            raise click.UsageError(f"{directory} is there already: name another --out")
    try:
        for directory in directories:
            directory.mkdir(parents=True)
    except OSError as error:
        raise click.UsageError(f"--out: {error}: name another place") from None


def _clear(directory: Path, *, keep: bool) -> None:
    """Remove the keys, and what takes space unless it is to be kept; the engine's log stays."""
    for name in ("signing.key", "master.key"):
        (directory / name).unlink(missing_ok=True)
    if not keep:
        shutil.rmtree(directory / "data", ignore_errors=True)
        (directory / "ledger.ndjson").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
