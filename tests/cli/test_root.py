"""What every command has in common."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from engine.cli.root import COMMANDS, load
from tests.cli.conftest import Offbeat, completed


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command and every group, by the words that call it."""
    left = [((name,), load(name)) for name in COMMANDS]
    while left:
        path, command = left.pop()
        yield " ".join(path), command
        if isinstance(command, click.Group):
            left += [((*path, name), verb) for name, verb in command.commands.items()]


ALL = dict(commands())


@pytest.mark.parametrize("path", ALL)
def test_every_help_shows_the_command_in_use(path: str, offbeat: Offbeat):
    result = offbeat(*path.split(), "--help")
    assert (result.code, result.err) == (0, "")
    examples = result.out.partition("Example")[2]
    assert f"offbeat {path}" in examples


@pytest.mark.parametrize("path", [path for path in ALL if " " in path])
def test_what_a_verb_does_is_said_whole_in_the_list_of_a_terminal(path: str):
    group, _, _ = path.partition(" ")
    verbs = [each.rpartition(" ")[2] for each in ALL if each.startswith(f"{group} ")]
    width = 80 - len("  ") - max(map(len, verbs)) - len("  ") - len("  ")
    assert not ALL[path].get_short_help_str(width).endswith("...")


@pytest.mark.parametrize("path", ALL)
def test_every_option_says_what_it_is_for(path: str):
    options = [each for each in ALL[path].params if isinstance(each, click.Option)]
    assert [each.opts for each in options if not each.help] == []


WITHOUT_JSON = {
    "run": "it talks, in log lines",
    "completion": "it prints a script for a shell",
    "import": "its verbs print",
    "key": "its verbs print",
    "notices": "its verbs print",
    "tenant": "its verbs print",
}


@pytest.mark.parametrize("path", [path for path in ALL if path not in WITHOUT_JSON])
def test_every_command_prints_json_where_it_is_asked_to(path: str):
    (form,) = (each for each in ALL[path].params if "-o" in each.opts)
    assert isinstance(form.type, click.Choice)
    assert "json" in form.type.choices


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
        (["nxet"], 2, "no command 'nxet': did you mean next?"),
        (["zzz"], 2, "No such command 'zzz'"),
        (["--zzz"], 2, "No such option"),
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
        (["runs", "--json"], 2, "No such option '--json'. Did you mean '-o json'?"),
        (["run", "--json"], 2, "No such option '--json'. (see offbeat run --help)"),
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


@pytest.mark.parametrize("imported", ["click", "engine.cli.root", "engine.app", "aiohttp"])
def test_an_interrupt_before_a_command_has_begun_is_silent(imported: str):
    interrupt = (
        "import runpy, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {imported!r}: signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv = ['offbeat', 'run', '--data-dir', '/nowhere/data']\n"
        "runpy.run_module('engine', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", interrupt], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


def test_a_reader_that_has_seen_enough_is_no_reason_to_complain():
    command = [sys.executable, "-m", "engine", "next", "* * * * *", "-n", "1000", "--jitter", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=30) == 0
        assert process.stderr.read() == b""


def test_a_terminal_gets_a_table_and_a_pipe_gets_plain_text(tmp_path: Path):
    command = [sys.executable, "-m", "engine", "next", "0 0 1 1 *", "-n", "1", "--after"]
    command += ["2026-11-30T12:00:00Z"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    header, row = piped.stdout.splitlines()
    assert header == "scheduled_for         fire_after            planned in UTC"
    assert row == "2027-01-01T00:00:00Z  2027-01-01T00:00:00Z  2027-01-01 00:00:00 +00:00"
    shown = on_terminal(command, TERM="xterm")
    assert "\x1b[1m" in shown
    assert "2027-01-01T00:00:00Z" in shown


@pytest.mark.parametrize("wanted", [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_that_is_to_show_no_styles_gets_none(wanted: dict[str, str]):
    command = [sys.executable, "-m", "engine", "next", "0 0 1 1 *", "-n", "1"]
    shown = on_terminal(command, **wanted)
    assert "scheduled for" in shown
    assert "\x1b" not in shown


def on_terminal(command: list[str], **environment: str) -> str:
    """What it prints to a terminal of 120 columns."""
    master, terminal = os.openpty()
    subprocess.run(command, stdout=terminal, check=True, env={"COLUMNS": "120", **environment})
    os.close(terminal)
    shown = os.read(master, 4_096).decode()
    os.close(master)
    return shown


def test_each_of_many_reasons_has_a_line_of_its_own(offbeat: Offbeat, tmp_path: Path):
    path = tmp_path / "two.json"
    path.write_text('{"schedules": {"a": {}, "b": {}}}')
    refused = offbeat("apply", str(path), str(path))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines() == [
        f"offbeat: {path}: {name} is in {path} already" for name in ("a", "b")
    ]


def test_a_shell_completes_commands_options_and_choices():
    assert completed("offbeat sched") == ["plain,schedules"]
    assert completed("offbeat apply --pr") == ["plain,--prune"]
    assert completed("offbeat completion z") == ["plain,zsh"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_calls_offbeat(shell: str, offbeat: Offbeat):
    assert f"_OFFBEAT_COMPLETE={shell}_complete" in offbeat("completion", shell).out
