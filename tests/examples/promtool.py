"""promtool, as ./scripts/install-promtool brings it."""

import subprocess
from pathlib import Path


def promtool(*arguments: str | Path, text: str = "") -> str:
    """What it says, once it has found no fault."""
    done = subprocess.run(
        ["promtool", *arguments],
        check=False,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
