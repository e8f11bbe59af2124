"""A shell in a terminal, typed into by a program: what commands print there is what people see."""

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import time
import tty
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

_STYLE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_DONE = re.compile(rb"\x1e(\d+)\x1e")
COLUMNS = 100


class Terminal:
    """One shell from `with` to its end, with which everything ends that it has started."""

    def __init__(self, directory: Path, environ: Mapping[str, str]) -> None:
        self._screen, slave = pty.openpty()
        tty.setraw(slave)  # Line ends stay what they are.
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            stdin=subprocess.PIPE,
            stdout=slave,
            stderr=slave,
            cwd=directory,
            env={**environ, "COLUMNS": str(COLUMNS), "LANG": "C.UTF-8", "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()
        os.close(self._screen)

    def type(self, command: str) -> None:
        """Type a command and do not wait for it."""
        assert self._shell.stdin is not None
        # What is typed next is not for the command that runs now.
        line = f"eval {shlex.quote(command)} </dev/null; printf '\\x1e%d\\x1e' $?\n"
        self._shell.stdin.write(line.encode())
        self._shell.stdin.flush()

    def result(self, *, seconds: float) -> tuple[int, str]:
        """The exit code of what was typed, and what it printed, without colours."""
        end = time.monotonic() + seconds
        seen = b""
        while (done := _DONE.search(seen)) is None:
            ready, _, _ = select.select([self._screen], [], [], max(0, end - time.monotonic()))
            assert ready, f"not done within {seconds:g} s; until then: {seen.decode()}"
            seen += os.read(self._screen, 65_536)
        return int(done[1]), _STYLE.sub(b"", seen[: done.start()]).decode()
