"""Bars: on a terminal while a person waits, and nowhere else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from engine.cli.progress import STEPS_MIN


@pytest.fixture
def engine_here(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFBEAT_SERVER", server)


def schedules(path: Path, count: int, url: str) -> Path:
    target = {"url": f"http://127.0.0.1:9/{url}"}
    documents = {f"n{i}": {"every": 86_400, "target": target} for i in range(count)}
    path.write_text(json.dumps({"schedules": documents}))
    return path


def on_terminal(*arguments: str) -> tuple[bytes, str]:
    """stdout of a command, which is a file, and what its stderr, a terminal, was sent."""
    master, terminal = os.openpty()
    command = [sys.executable, "-m", "engine", *arguments]
    with (
        TemporaryFile() as out,
        subprocess.Popen(command, stdout=out, stderr=terminal) as process,
    ):
        os.close(terminal)
        shown = b""
        while part := _read(master):
            shown += part
        os.close(master)
        assert process.wait(timeout=30) == 0
        out.seek(0)
        return out.read(), shown.decode()


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65_536)
    except OSError:  # The other side has closed it.
        return b""


def lines_left(shown: str) -> list[str]:
    """What stays on the screen: a bar is erased line by line before the rest is written."""
    erased = shown.rpartition("\x1b[2K")[2]
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", erased).replace("\r", "").splitlines()


@pytest.mark.usefixtures("engine_here")
@pytest.mark.parametrize(
    ("command", "title", "says"),
    [
        (("apply", "-o", "json"), "storing schedules", f"{STEPS_MIN} created"),
        (("diff", "-o", "json"), "comparing schedules", f"0 differ, {STEPS_MIN} are equal"),
    ],
)
def test_many_schedules_have_a_bar_that_counts_to_the_end_and_goes(
    command: tuple[str, ...], title: str, says: str, tmp_path: Path
):
    path = schedules(tmp_path / "many.json", STEPS_MIN, "many")
    out, shown = on_terminal(command[0], str(path), *command[1:])
    assert title in shown
    assert f"{STEPS_MIN}/{STEPS_MIN}" in shown
    assert lines_left(shown) == [says]
    json.loads(out)


@pytest.mark.usefixtures("engine_here")
def test_few_schedules_have_none(tmp_path: Path):
    path = schedules(tmp_path / "few.json", 3, "few")
    said = "3 updated; nothing was stored: this was a dry run\r\n"
    assert on_terminal("apply", str(path), "--dry-run")[1] == said


@pytest.mark.usefixtures("engine_here")
def test_a_backfill_shows_that_it_goes_on(tmp_path: Path):
    path = schedules(tmp_path / "one.json", 1, "one")
    on_terminal("apply", str(path))
    span = ("--from", "2026-11-01T00:00:00Z", "--to", "2026-11-03T00:00:00Z", "--dry-run")
    out, shown = on_terminal("schedules", "backfill", "n0", *span)
    assert "writing runs" in shown
    assert lines_left(shown) == []
    assert out.splitlines()[1].startswith(b"2 ")


@pytest.mark.usefixtures("engine_here")
def test_without_a_terminal_nothing_is_written_and_nothing_loaded_for_it(tmp_path: Path):
    path = schedules(tmp_path / "many.json", STEPS_MIN, "piped")
    code = (
        "import sys, engine.cli.root as r\n"
        f"r.execute(['apply', {str(path)!r}, '--dry-run', '-o', 'json'])\n"
        "sys.exit('rich.progress' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert re.fullmatch(r"[0-9,;: a-z]+\n", done.stderr)
