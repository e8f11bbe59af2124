"""Every code block of these documents is run, in order, against the real program, in a terminal.

The reader's checkout is a directory of links to ours, and its `.venv` sees the packages of the
environment that runs this: what `scripts/install` would put there was put by it before the tests.
Port 8420 and a receiver's 9000 are free ones instead, of as many digits, which nothing shows.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.end_to_end.documents import Save, Type, Unrunnable, steps
from tests.end_to_end.processes import POLL_SECONDS, ROOT, until
from tests.end_to_end.terminal import Terminal

DOCUMENTS = [
    "README.md",
    "docs/tutorial.md",
    "docs/how-to-verify-a-signature.md",
    "docs/explanation-scheduled-for-and-fire-after.md",
]
COMMAND_SECONDS = 60.0
LOOK_SECONDS = 20.0
"""What only looks is asked again until it sees what is shown: a reader looks again, too."""

LOOKS = re.compile(r"(cat|grep|offbeat (status|runs|audit|explain|schedules(?! \w)))\b")
OWN_TERMINAL = "./scripts/run"
"""What such a command starts stays in the foreground of a terminal of its own."""

THIS = "./scripts/test"
"""What runs this test; the one command that is read and not run."""


class Differs(AssertionError):
    """What the document says is not so."""


@pytest.fixture
def checkout(directory: Path) -> Path:
    """A checkout after `scripts/install requirements.lock`."""
    checkout = directory / "offbeat"
    checkout.mkdir()
    for entry in ROOT.iterdir():
        if not entry.name.startswith(".") and entry.name != "offbeat-data":
            (checkout / entry.name).symlink_to(entry)
    _install(checkout)
    return checkout


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_block_of_a_document_does_what_the_document_shows(document: str, checkout: Path):
    _keep_clear_of_the_full_hour()
    run((ROOT / document).read_text(), checkout)


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ("```console\n$ echo one\ntwo\n```\n", "line 2: shown is 'two'; seen was 'one"),
        ("```console\n$ echo one\n```\n", "line 2: shown is ''; seen was 'one"),
        ("```console\n$ true\n$ false\n```\n", "line 3: the exit code is 1"),
        ("```sh\nno-such-command\n```\n", "line 2: the exit code is 127"),
        (
            "```console\n$ echo 2026-11-30T12:00:00Z\n2026-11-30T12:00:01Z\n```\n",
            "line 2: shown is '2026-11-30T12:00:01Z'",
        ),
        ("```console\noutput alone\n```\n", "line 1: a console block begins with what is typed"),
        ("```toml\nrate = 1\n```\n", "line 1: say above the block under which name"),
        ("```\nof no language\n```\n", "line 1: say above the block under which name"),
        ("Save as `x`:\n```json\n{}\n```\n```sh\n[ -e y ]\n```\n", "line 6: the exit code is 1"),
        ("```sh\n./scripts/test # format\n```\n", "line 2: it does not say that it runs this"),
    ],
)
def test_a_document_that_is_wrong_is_found_out(document: str, fault: str, tmp_path: Path):
    with pytest.raises((Differs, Unrunnable), match=f"^{re.escape(fault)}"):
        run(document, tmp_path)


@pytest.mark.parametrize(
    "document",
    [
        "Save as `x.json`:\n\n```json\n{}\n```\n\n```console\n$ cat x.json\n{}\n```\n",
        "```console\n$ for i in 1 2; do\n>   echo $i\n> done\n1\n2\n```\n",
        "```console\n$ date -u +%FT%TZ\n2026-11-30T12:00:00Z\n```\n",
        "```console\n$ printf '1 %%\\r9 %%\\n\\033[1A\\033[2K\\033[1mdone\\033[0m\\n'\ndone\n```\n",
        "```console\n$ (sleep 0.2; echo late >log) & touch log\n$ cat log\nlate\n```\n",
        "```console\n$ no-such-program   # needs no-such-program\nnever seen\n```\n",
    ],
)
def test_a_document_that_is_right_is_not(document: str, tmp_path: Path):
    run(document, tmp_path)


def run(document: str, checkout: Path) -> None:
    """Do what `document` says, beginning in `checkout`. Raises Differs, Unrunnable."""
    ports = {"8420": _free_port(8422, 8999), "9000": _free_port(9001, 9999)}
    environ = {
        "PATH": f"{os.environ['PATH']}:{checkout}/.venv/bin",
        "HOME": str(checkout),
        "OFFBEAT_ENGINE__LISTEN": f"127.0.0.1:{ports['8420']}",
        "OFFBEAT_SERVER": f"http://127.0.0.1:{ports['8420']}",
    }
    with ExitStack() as stack:
        reader = stack.enter_context(Terminal(checkout, environ))
        directory = checkout
        for step in steps(document):
            if isinstance(step, Save):
                (directory / step.name).write_text(_with(step.text, ports))
            elif step.command.startswith(THIS):
                _is_this(step)
            elif step.command.startswith(OWN_TERMINAL):
                stack.enter_context(Terminal(checkout, environ)).type(step.command)
                until(lambda: _is_ready(ports["8420"]), f"line {step.line}: the engine is ready")
            elif step.needs is None or shutil.which(step.needs):
                _type(reader, step, ports)
                directory = Path(_seen(reader, "pwd")[1].strip())


def _type(reader: Terminal, step: Type, ports: Mapping[str, str]) -> None:
    command = _with(step.command, ports)
    end = time.monotonic() + (LOOK_SECONDS if LOOKS.match(command) else 0)
    pause = threading.Event()
    while True:
        code, seen = _seen(reader, command)
        seen = _with(seen, {free: named for named, free in ports.items()})
        if code == 0 and step.accepts(seen):
            return
        if time.monotonic() > end:
            break
        pause.wait(10 * POLL_SECONDS)
    if code != 0:
        raise Differs(f"line {step.line}: the exit code is {code}; seen was {seen!r}")
    raise Differs(f"line {step.line}: shown is {step.shown!r}; seen was {seen!r}")


def _seen(reader: Terminal, command: str) -> tuple[int, str]:
    reader.type(command)
    return reader.result(seconds=COMMAND_SECONDS)


def _is_this(step: Type) -> None:
    if "this page" not in step.command:
        raise Differs(f"line {step.line}: it does not say that it runs this page")
    assert os.access(ROOT / THIS, os.X_OK)
    assert re.search(r"^stage \d+ tests pytest", (ROOT / THIS).read_text(), re.MULTILINE)


def _is_ready(port: str) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def _with(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b\d{4}\b", lambda number: names.get(number[0], number[0]), text)


def _free_port(low: int, high: int) -> str:
    """A port of four digits, so that tables keep their width; two processes look in two places."""
    first = os.getpid() % (high - low)
    for port in [*range(low + first, high), *range(low, low + first)]:
        with socket.socket() as candidate:
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            return str(port)
    raise AssertionError(f"no port is free from {low} to {high}")


def _install(checkout: Path) -> None:
    """What `scripts/install requirements.lock` leaves, so that it finds its work done."""
    venv = checkout / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = venv / "lib" / version / "site-packages"
    (packages / "offbeat.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    program = venv / "bin" / "offbeat"
    program.write_text(f"#!{venv}/bin/python\nfrom engine.__main__ import main\n\nmain()\n")
    program.chmod(0o755)
    stamps = """
        echo "$PWD $(python3 --version)" >.venv/home
        cat pyproject.toml requirements-build.lock requirements.lock | cksum \
            >.venv/requirements.lock.sum
        ./scripts/install requirements.lock"""
    done = subprocess.run(["sh", "-c", stamps], cwd=checkout, capture_output=True, check=True)
    assert done.stderr == b"", "scripts/install must find nothing to do"


def _keep_clear_of_the_full_hour() -> None:
    """Wait if the hour is about to be full: schedules of the documents would fire meanwhile."""
    until(lambda: 1 < time.time() % 3_600 < 3_480, "the full hour is over", seconds=130)
