"""A small experiment in virtual time, for the tests of the load tests to look at."""

import tempfile
from pathlib import Path
from typing import Any

from loadtest import run_virtual
from loadtest.evidence import Evidence
from loadtest.workload import Experiment


def experiment(**settings: Any) -> Experiment:
    """A herd of 200 with 5 s of jitter, unless said otherwise."""
    values: dict[str, Any] = {
        "scenario": "herd",
        "mode": "virtual",
        "schedules": 200,
        "jitter_seconds": 5,
        "rate": 100,
        "burst": 10,
        "concurrency": 64,
        "receivers": 1,
        "delay_ms": 0,
        "fail_rate": 0.0,
        "seed": "test",
        "seconds": 1,
        "disk_ms": 2.0,
    }
    return Experiment(**{**values, **settings})


def made(**settings: Any) -> Evidence:
    """What such an experiment leaves behind."""
    with tempfile.TemporaryDirectory() as directory:
        return run_virtual.run(experiment(**settings), Path(directory))
