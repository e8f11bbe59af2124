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

_TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")
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
        """The exit code of what was typed, and what is then to be seen of what it printed."""
        end = time.monotonic() + seconds
        seen = b""
        while (done := _DONE.search(seen)) is None:
            ready, _, _ = select.select([self._screen], [], [], max(0, end - time.monotonic()))
            assert ready, f"not done within {seconds:g} s; until then: {seen.decode()}"
            seen += os.read(self._screen, 65_536)
        return int(done[1]), on_screen(seen[: done.start()].decode())


def on_screen(written: str) -> str:
    """What is left to see: a progress bar that went over itself and was wiped away is not."""
    lines, row, column = [""], 0, 0
    for number, control, end, text in _TOKEN.findall(written):
        if control == "A":  # Up; colours and the like show nothing.
            row = max(0, row - int(number or 1))
        elif control == "K":
            lines[row] = "" if number == "2" else lines[row][:column]
        elif end:
            row, column = row + (end == "\n"), 0
        elif text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        lines += [""] * (row + 1 - len(lines))
    return "\n".join(lines)
