"""The load test's command line: what it takes, refuses, leaves behind and says."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loadtest import run_virtual
from loadtest.__main__ import main
from loadtest.processes import ROOT, LoadtestError

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Makes a command of these words, in an empty directory; exit code and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["loadtest", *words])
        code = main()
        return code, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("words", "says"),
    [
        *(
            (f"herd {option} {text}", "not a number in plain digits")
            for option in ("--fail-rate", "--disk")
            for text in ("nan", "inf", "-0", "1e0")
        ),
        ("herd --seed a/b", "'a/b' begins the schedules' names"),
        ("herd --seed=", "'' begins the schedules' names"),
        (f"herd --seed {'x' * 121}", "begins the schedules' names"),
        ("herd --out /proc/nope", "name another place"),
        ("herd --outage 30", "No such option '--outage'"),
        ("herd --mix 1h=100", "No such option '--mix'"),
        ("fleet --mix 1h=99", "do not add up to 100"),
        ("herd --real --virtual", "take one"),
        ("herd --real --disk 2", "--disk is of virtual time"),
        ("herd --virtual --keep", "--keep is of --real"),
        ("herd --compare jitter,jitter", "each once"),
        ("herd --compare jitter,", "each once"),
        ("herd --compare some", "is not some of none,jitter,whole-second"),
        ("herd --delay 15000", "take 13000 at most, or 17000 at least"),
    ],
)
def test_what_would_be_wrong_or_not_heeded_is_refused_before_anything_is_made(
    words: str, says: str, command: Command, tmp_path: Path
):
    out = () if "--out" in words else ("--out", "out")
    code, text = command(*words.split(" "), "--schedules", "1", *out)
    assert (code, says in text) == (2, True), text
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_is_refused_before_the_first_variant_is_made(command, tmp_path):
    (tmp_path / "out" / "whole-second").mkdir(parents=True)
    words = "herd --schedules 1 --compare none,whole-second --out out"
    code, text = command(*words.split())
    assert (code, "whole-second is there already" in text) == (2, True), text
    assert not (tmp_path / "out" / "none").exists()


def test_an_outage_of_no_seconds_is_none(command, tmp_path):
    words = "recovery --outage 0 --schedules 20 --jitter 2 --seconds 60 --out out"
    assert command(*words.split())[0] == 0
    (figures,) = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert figures["experiment"]["outage_seconds"] == 0
    assert "--outage 0" in figures["command"]


@pytest.mark.parametrize("scenario", ["herd", "fleet", "shock"])
def test_the_command_that_a_report_gives_makes_the_same_again(scenario, command, tmp_path):
    first = f"{scenario} --schedules 40 --jitter 2 --delay 30 --compare none --out first"
    assert command(*first.split())[0] == 0
    (figures,) = json.loads((tmp_path / "first" / "figures.json").read_text())
    again = figures["command"].removeprefix("python -m loadtest ").replace("DIR", "second")
    assert command(*again.split())[0] == 0
    (second,) = json.loads((tmp_path / "second" / "figures.json").read_text())
    assert second["digest"] == figures["digest"]


@pytest.mark.parametrize(
    "error", [LoadtestError("it stalled"), OSError(28, "No space left on device")]
)
def test_what_cannot_be_made_is_a_sentence_and_leaves_no_key(error, command, tmp_path, monkeypatch):
    def fail(_: object, directory: Path) -> None:
        for name in ("signing.key", "master.key", "engine.log"):
            (directory / name).touch()
        raise error

    monkeypatch.setattr(run_virtual, "run", fail)
    code, text = command("herd", "--out", "out")
    assert (code, f"loadtest: {error}" in text) == (2, True), text
    assert [path.name for path in (tmp_path / "out" / "jitter").iterdir()] == ["engine.log"]


def test_a_real_herd_is_made_from_any_directory_with_a_relative_out(tmp_path):
    words = "herd --real --schedules 20 --jitter 1 --rate 100 --out some/out --keep"
    done = subprocess.run(
        [sys.executable, "-m", "loadtest", *words.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verdict, place = done.stdout.splitlines()
    assert re.fullmatch(
        r"jitter: p99 of lateness .+, within the objective of 15.* s; every invariant held", verdict
    )
    assert place == f"{tmp_path}/some/out/report.html"
    kept = {path.name for path in (tmp_path / "some" / "out" / "jitter").iterdir()}
    assert kept == {"data", "engine.log", "ledger.ndjson"}
    page = (tmp_path / "some" / "out" / "report.html").read_text()
    assert re.search(r"runs that arrived</td><td>20<", page)
