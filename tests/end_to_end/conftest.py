"""Processes that end with the test, however it ends."""

import fcntl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end_to_end.processes import ROOT, Engine, Receiver

MEMORY = Path("/dev/shm")

BUILD_SECONDS = 300
"""Ten times what it takes on a machine of its own."""


@pytest.fixture
def directory() -> Iterator[Path]:
    """In memory where there is such a place: kill -9 needs no disk, and fsync takes no time."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def make_engine(directory: Path) -> Iterator[Callable[..., Engine]]:
    """Make engines on `directory / "data"`, or on another data directory."""
    with ExitStack() as stack:

        def make(data_dir: Path = directory / "data", log: str = "engine.log") -> Engine:
            engine = Engine(data_dir, directory / log)
            stack.callback(engine.kill)
            return engine

        yield make


@pytest.fixture
def engine(make_engine: Callable[..., Engine]) -> Engine:
    """An engine that is not running yet."""
    return make_engine()


@pytest.fixture
def receiver(directory: Path) -> Iterator[Receiver]:
    running = Receiver(directory)
    yield running
    running.kill()


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The one file of scripts/build_binary, made once, by the first of the workers that asks."""
    place = tmp_path_factory.getbasetemp()
    directory = place if worker_id == "master" else place.parent
    made = directory / "offbeat"
    with (directory / "offbeat.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            command = [sys.executable, ROOT / "scripts" / "binary.py", directory]
            subprocess.run(command, check=True, timeout=BUILD_SECONDS, stdout=subprocess.DEVNULL)
    return made
