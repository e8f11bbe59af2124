"""`offbeat status` against a real engine."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.conftest import Offbeat, running


@pytest.fixture
def asking(offbeat: Offbeat, server: str, monkeypatch: pytest.MonkeyPatch) -> Offbeat:
    monkeypatch.setenv("OFFBEAT_SERVER", server)
    return offbeat


def test_one_screen_says_that_all_is_well_and_what_comes_next(asking: Offbeat, tmp_path: Path):
    idle = asking("status")
    lines = dict(line.split(maxsplit=1) for line in idle.out.splitlines())
    assert idle.code == 0
    assert (lines["ready"], lines["backlog"]) == ("yes", "0 runs are due")
    assert lines["rate"].startswith("0.0 attempts a second, of 1,000 at most; 0 of ")
    assert lines["verdict"].startswith("quiet: ")
    assert lines["next"] == "herd nothing is planned for the coming hour"
    target = '{ url = "http://127.0.0.1:9/" }'
    beat = "every = 3600\nphase = 1800\njitter_seconds = 0\n"
    path = tmp_path / "a.toml"
    path.write_text("".join(f"[schedules.a{n}]\n{beat}target = {target}\n" for n in range(3)))
    asking("apply", str(path))
    status = json.loads(asking("status", "-o", "json").out)
    assert (status["ready"], status["reason"], status["backlog_runs"]) == (True, None, 0)
    assert status["next_herd"]["runs"] == 3
    assert status["next_herd"]["at"].endswith(":30:00Z")
    assert "3 runs for " in asking("status").out


def test_files_that_are_not_applied_are_told(offbeat: Offbeat, tmp_path: Path):
    (tmp_path / "a.json").write_text('{"schedules": {}}')
    with TemporaryDirectory() as place, running(place, "--schedules", str(tmp_path)) as address:
        assert "files     applied\n" in offbeat("status", "--server", address).out
    (tmp_path / "a.json").write_text("{")
    with TemporaryDirectory() as place, running(place, "--schedules", str(tmp_path)) as address:
        said = "files     not applied: schedules_not_applied in the engine's log says why\n"
        assert said in offbeat("status", "--server", address).out


def test_without_an_engine_the_exit_code_says_so(offbeat: Offbeat):
    assert offbeat("status", "--server", "unix:/nowhere.sock").code == 3
