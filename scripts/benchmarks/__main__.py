"""`scripts/bench [STAGE...]`: measure, print a table, exit 1 if something does not hold."""

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import structlog
import uvloop

from benchmarks.batches import batch
from benchmarks.crowding import slowclients
from benchmarks.delivering import herd, paced
from benchmarks.findings import Finding, print_finding, print_headings
from benchmarks.hanging import hung, neighbours
from benchmarks.machine import facts
from benchmarks.painting import dashboard
from benchmarks.planning import planner, wheel
from benchmarks.starting import idle, recovery
from benchmarks.strangers import strangers

Stage = Callable[[Path], AsyncIterator[Finding]]

STAGES: dict[str, Stage] = {
    "wheel": wheel,
    "planner": planner,
    "recovery": recovery,
    "batch": batch,
    "herd": herd,
    "paced": paced,
    "idle": idle,
    "neighbours": neighbours,
    "hung": hung,
    "slowclients": slowclients,
    "strangers": strangers,
    "dashboard": dashboard,
}


def main() -> int:
    """Run the stages that were named, or all."""
    arguments = _arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    arguments.directory.mkdir(parents=True, exist_ok=True)
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC: scripts/bench {' '.join(sys.argv[1:])}\n")
    for line in facts(arguments.directory):
        print(f"* {line}")
    print()
    print_headings()
    verdicts = [_measure(STAGES[name], arguments.directory) for name in arguments.stages]
    return 0 if all(verdicts) else 1


def _measure(stage: Stage, directory: Path) -> bool:
    """Run one stage on an empty directory; whether all of it holds."""
    place = Path(tempfile.mkdtemp(prefix="bench-", dir=directory))
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_report(stage, place))
    finally:
        shutil.rmtree(place)


async def _report(stage: Stage, place: Path) -> bool:
    verdicts = []
    async for finding in stage(place):
        print_finding(finding)
        verdicts.append(finding.holds is not False)
    return all(verdicts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", choices=[*STAGES, []])
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path("offbeat-data"),
        help="where the databases go; on the disk to be measured (default %(default)s)",
    )
    arguments = parser.parse_args()
    arguments.stages = arguments.stages or list(STAGES)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
