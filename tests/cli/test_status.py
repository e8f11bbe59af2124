"""`offbeat status` against a real engine."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from engine.cli.status import show_status
from tests.cli.conftest import Offbeat, running
from tests.end_to_end.processes import until


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


def test_a_directory_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path):
    data, gone = tmp_path / "data", tmp_path / "gone"
    command = [sys.executable, "-m", "engine", "run", "--listen", "127.0.0.1:0"]
    command += ["--data-dir", str(data), "--schedules", str(gone)]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (refused.returncode, refused.stdout, data.exists()) == (2, "", False)
    said = f"--schedules {gone}: No such file or directory; make it, or mount it"
    assert said in refused.stderr


def test_flows_behind_a_breaker_are_named(offbeat: Offbeat, tmp_path: Path):
    path = tmp_path / "a.toml"
    retry = "retry.min_backoff_seconds = 3600\n"
    dead = f'every = 3600\n{retry}target = {{ url = "http://127.0.0.1:9/" }}\n'
    path.write_text("".join(f"[schedules.a{n}]\n{dead}" for n in range(10)))
    with TemporaryDirectory() as place, running(place) as address:
        to = ("--server", address)
        assert offbeat("apply", str(path), *to).code == 0
        assert json.loads(offbeat("status", "-o", "json", *to).out)["broken_flows"] == []
        assert "breakers" not in offbeat("status", *to).out
        for number in range(10):
            assert offbeat("schedules", "trigger", f"a{number}", *to).code == 0

        def broken() -> Any:
            return json.loads(offbeat("status", "-o", "json", *to).out)["broken_flows"]

        [flow] = until(broken, "ten failures in a row open the breaker")
    assert (flow["key"], flow["breaker"]) == ("127.0.0.1:9", "open")


def test_who_may_not_see_the_monitor_is_told_of_the_coming_hour_by_the_engines_clock(
    offbeat: Offbeat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    admin = tmp_path / "admin.key"
    admin.touch(mode=0o600)
    admin.write_text("obk_operator_" + "0123456789abcdef" * 4)
    monkeypatch.setenv("OFFBEAT_AUTH__ADMIN_KEY_FILE", str(admin))
    clock = ("--clock-start", "2031-01-01T00:00:00Z")
    with TemporaryDirectory() as place, running(place, *clock) as address:
        as_admin = ("--server", address, "--key-file", str(admin))
        assert offbeat("tenant", "create", "acme", *as_admin).code == 0
        made = offbeat("key", "create", "--tenant", "acme", "--scope", "read", *as_admin)
        monkeypatch.setenv("OFFBEAT_KEY", made.out.strip())
        status = offbeat("status", "--server", address)
    assert (status.code, status.err) == (0, "")
    assert "verdict   for keys of scope admin\n" in status.out
    assert "next herd nothing is planned for the coming hour\n" in status.out


def test_what_waits_for_an_engine_that_is_not_ready_is_counted(offbeat: Offbeat, tmp_path: Path):
    path = tmp_path / "a.toml"
    path.write_text('[schedules.a]\nevery = 3600\ntarget = { url = "http://127.0.0.1:9/" }\n')
    with TemporaryDirectory() as place:
        with running(place, "--clock-start", "2099-01-01T00:00:00Z") as address:
            assert offbeat("apply", str(path), "--server", address).code == 0
        with running(place) as address:  # By the clock of today, which is decades behind.
            to = ("--server", address)
            for _ in range(2):
                assert offbeat("schedules", "trigger", "a", *to).code == 0
            status = offbeat("status", *to)
            document = json.loads(offbeat("status", "-o", "json", *to).out)
    assert status.code == 1
    assert "ready     no: the clock is " in status.out
    said = "backlog   2 runs are due and wait in the journal until the engine is ready\n"
    assert said in status.out
    assert (document["waiting_runs"], document["backlog_runs"]) == (2, 0)


def status_of(**members: Any) -> Mapping[str, Any]:
    """A status in which nothing happens, but for `members`."""
    return {
        "ready": True,
        "reason": None,
        "waiting_runs": None,
        "backlog_runs": 0,
        "oldest_due_age_seconds": 0,
        "inflight": 0,
        "concurrency_limit": 64,
        "broken_flows": [],
        "monitor": {
            "seconds": 60,
            "attempts": 60,
            "verdict": "quiet",
            "sentence": "No herd.",
            "advice": "Nothing to do.",
            "timetables": [],
        },
        "next_herd": None,
        "forecast": {"rate": 1_000},
    } | members


def test_an_alignment_names_the_timetables_that_are_to_change(capsys: pytest.CaptureFixture[str]):
    monitor = status_of()["monitor"] | {
        "verdict": "alignment",
        "sentence": "They meet.",
        "advice": "Give these timetables jitter_seconds = 60.",
        "timetables": [
            {"timetable": "0 * * * * (UTC)", "runs": 903},
            {"timetable": "every 60 s", "runs": 1},
        ],
    }
    show_status(status_of(monitor=monitor))
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:6] == [
        "verdict   alignment: They meet.",
        "          Give these timetables jitter_seconds = 60.",
        "          The timetables are, most first: 0 * * * * (UTC) with 903 runs; every 60 s with 1"
        " run.",
    ]


def test_what_is_behind_breakers_is_told_for_the_first_few(capsys: pytest.CaptureFixture[str]):
    flows = [{"key": f"h{n}:1", "breaker": "open", "held": 80 * n} for n in range(1, 8)]
    show_status(status_of(broken_flows=flows))
    assert capsys.readouterr().out.splitlines()[2] == (
        "breakers  h1:1 is open, 80 runs held; h2:1 is open, 160 runs held; h3:1 is open, 240 runs"
        " held; h4:1 is open, 320 runs held; h5:1 is open, 400 runs held; and 2 flows more. Look"
        " at their receivers."
    )


def test_without_an_engine_the_exit_code_says_so(offbeat: Offbeat):
    assert offbeat("status", "--server", "unix:/nowhere.sock").code == 3
