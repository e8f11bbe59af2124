"""A world in virtual time: a data directory, a calendar, a receiver with a ledger."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def directory() -> Iterator[Path]:
    """A data directory in memory: what is simulated is time, and a disk would only slow it."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name) / "data"
