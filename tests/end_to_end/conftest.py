"""Processes that end with the test, however it ends."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end_to_end.processes import Engine, Receiver

MEMORY = Path("/dev/shm")


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
