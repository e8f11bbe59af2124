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


@pytest.fixture
def admin(tmp_path: Path) -> Path:
    """The operator's key, in a file that nobody else reads."""
    path = tmp_path / "admin.key"
    path.write_text("obk_operator_" + "0123456789abcdef" * 4)
    path.chmod(0o600)
    return path
