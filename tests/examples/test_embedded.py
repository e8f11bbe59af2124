"""The example of an embedded engine does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_schedule_calls_the_programs_function(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "embedded.py", tmp_path / "data"],
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^report: all is well, attempt 1 of [0-9a-f]{8}$", done.stdout, re.MULTILINE)
