"""Whatever comes in from tenants, resolvers and receivers: an answer, in time, no exception."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
RUNS = 20_000
SEED = 1

pytestmark = pytest.mark.skipif(
    find_spec("atheris") is None, reason="atheris has wheels for x86-64 Linux alone"
)


def fuzz(name: str, runs: int) -> subprocess.CompletedProcess[str]:
    """A fuzzer in its own process: instrumented code is not what other tests should see."""
    return subprocess.run(
        [sys.executable, ROOT / "tests" / "fuzz" / "run.py", name, str(runs), str(SEED)],
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
    )


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_raises_or_takes_50_ms(name: str) -> None:
    done = fuzz(name, RUNS)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
