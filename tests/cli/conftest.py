"""The command line as a caller sees it: exit code, stdout, stderr. The engine is a real one."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from engine.cli.root import execute


@dataclass(frozen=True, slots=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


Offbeat = Callable[..., Result]


@pytest.fixture
def offbeat(capsys: pytest.CaptureFixture[str]) -> Offbeat:
    """Run a command line in this process: `offbeat("next", "* * * * *")`."""

    def run(*arguments: str) -> Result:
        code = execute(arguments)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


def completed(words: str, **environment: str) -> list[str]:
    """What bash offers behind these words, the last of which is begun."""
    environment |= {"_OFFBEAT_COMPLETE": "bash_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(words.count(" "))
    command = [sys.executable, "-c", "import engine.__main__ as m; m.main()"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an engine of its own, on an empty data directory."""
    # Not under tmp_path: a socket's path has 108 bytes at most.
    with TemporaryDirectory() as directory, running(directory) as address:
        yield address


@contextmanager
def running(directory: str, *options: str) -> Iterator[str]:
    """The address of an engine that runs, with its data, in `directory`."""
    address = f"unix:{Path(directory) / 'engine.sock'}"
    command = [sys.executable, "-m", "engine", "run", "--listen", address]
    command += ["--data-dir", f"{directory}/data", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if '"listening"' in line:
                break
        try:
            yield address
        finally:  # A test that fails leaves no engine behind, for which it would wait for ever.
            process.terminate()
            process.communicate(timeout=30)
    assert process.returncode == 0
