"""What every command has in common."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli.root import COMMANDS
from tests.cli.conftest import Offbeat


@pytest.mark.parametrize(
    "path",
    [
        *([command] for command in COMMANDS),
        ["import", "crontab"],
        *(
            ["schedules", verb]
            for verb in ("get", "pause", "resume", "trigger", "backfill", "delete")
        ),
        *(["runs", verb] for verb in ("cancel", "replay", "delete")),
    ],
    ids=" ".join,
)
def test_every_help_shows_the_command_in_use(path: list[str], offbeat: Offbeat):
    result = offbeat(*path, "--help")
    assert (result.code, result.err) == (0, "")
    assert "Example" in result.out
    assert f"offbeat {path[0]}" in result.out.partition("Example")[2]


def test_the_list_of_commands_is_whole_and_imports_none_of_them():
    code = "import sys, engine.cli.root as r; r.execute(['--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listing, _, modules = done.stdout.rpartition("[")
    assert all(f"  {command} " in listing for command in COMMANDS)
    assert not any(
        name in modules for name in ("'aiohttp'", "'croniter'", "'rich'", "'engine.app'")
    )


def test_without_a_command_the_help_is_talk_and_the_exit_code_usage(offbeat: Offbeat):
    result = offbeat()
    assert (result.code, result.out) == (2, "")
    assert "Commands:" in result.err


NOON = "2026-11-30T12:00:00Z"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nxet"], 2, "nxet"),
        (["next"], 2, "Missing argument 'EXPR'"),
        (["next", "* * * * *", "--count", "0"], 2, "--count"),
        (["next", "61 * * * *"], 2, "cron: "),
        (["run", "--rate", "0", "--listen", "0.0.0.0:80"], 2, "--rate: 0"),
        (["run", "--config", "missing.toml"], 2, "missing.toml: No such file"),
        (["run", "--data-dir", "/dev/null/data"], 1, "/dev/null/data: Not a directory"),
        (["run", "--data-dir", "/dev/null"], 1, "/dev/null: Not a directory; an engine needs"),
        (["run", "--data-dir", "/proc/data"], 1, "/proc/data: No such file or directory; an"),
        (
            ["schedules", "--server", "unix:/nowhere.sock"],
            3,
            "start one with: offbeat run --listen",
        ),
        (["schedules", "--server", "http://127.0.0.1:1"], 3, "offbeat run --listen 127.0.0.1:1"),
        (["schedules", "--server", "nonsense"], 2, "write http://HOST:PORT or unix:PATH"),
        (["check", "--data-dir", "/nowhere"], 4, "there is no /nowhere/offbeat.db"),
        (["run", "--listen", "a..b:1"], 2, "--listen: 'a..b' is neither"),
        (["run", "--clock-start", "9999-12-31T23:59:59Z"], 2, "before the year 2100"),
        (["run", "--clock-start", "2100-01-01T00:00:00Z"], 2, "before the year 2100"),
        (["run", "--drain-timeout", "nan"], 2, "--drain-timeout: 'nan' is not a number"),
        (["schedules", "--server", "http://[::1"], 2, "write an IPv6 address in brackets"),
        (["sink", "--ledger", "/nowhere/x"], 2, "--ledger /nowhere/x: No such file or directory;"),
        (["next", "0 0 * * *", "--tenant", ""], 2, "write a tenant's name"),
        (["next", "0 0 * * *", "--tenant", "a\n"], 2, "write a tenant's name"),
        (["sign", "--name", "a", "--tenant", "", "--scheduled-for", NOON], 2, "a tenant's name"),
        (["sign", "--name", "", "--scheduled-for", NOON], 2, "--name"),
        (["tenant", "create", ""], 2, "write a tenant's name"),
        (["key", "create", "--tenant", "", "--scope", "read"], 2, "write a tenant's name"),
        (["import", "crontab", "/dev/null", "--target", "nope"], 2, "'--target': write http://"),
        (["apply", "missing.toml"], 2, "missing.toml: No such file"),
        (["import", "crontab", "missing"], 2, "missing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_goes_wrong_is_one_line_and_an_exit_code(
    arguments: list[str], code: int, says: str, offbeat: Offbeat
):
    result = offbeat(*arguments)
    assert (result.code, result.out) == (code, "")
    assert says in result.err
    assert result.err.startswith("offbeat: ")
    assert result.err.count("\n") == 1


def test_a_reader_that_has_seen_enough_is_no_reason_to_complain():
    command = [sys.executable, "-m", "engine", "next", "* * * * *", "-n", "1000", "--jitter", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.wait(timeout=30)
        assert process.stderr.read() == b""


def test_a_terminal_gets_a_table_and_a_pipe_gets_plain_text(tmp_path: Path):
    command = [sys.executable, "-m", "engine", "next", "0 0 1 1 *", "-n", "1", "--after"]
    command += ["2026-11-30T12:00:00Z"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    header, row = piped.stdout.splitlines()
    assert header == "scheduled_for         fire_after            planned in UTC"
    assert row == "2027-01-01T00:00:00Z  2027-01-01T00:00:00Z  2027-01-01 00:00:00 +00:00"
    master, terminal = os.openpty()
    subprocess.run(command, stdout=terminal, check=True, env={"TERM": "xterm", "COLUMNS": "120"})
    os.close(terminal)
    shown = os.read(master, 4_096).decode()
    os.close(master)
    assert "\x1b[1m" in shown
    assert "2027-01-01T00:00:00Z" in shown
