"""`offbeat runs`: cancelling, replaying and deleting, against a real engine."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Offbeat

# Nothing listens there, and one attempt is all: such a run fails at once.
NOWHERE = """
[schedules.nowhere]
cron = "0 0 1 1 *"
labels = { team = "money" }
retry = { max_attempts = 1 }
target = { url = "http://127.0.0.1:9/hook" }
"""
LOOKS_MAX = 2_000
UNKNOWN = "sch_00000000000000000000000000@2026-11-30T12:00:00Z"


@pytest.fixture
def asking(
    offbeat: Offbeat, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> Offbeat:
    monkeypatch.setenv("OFFBEAT_SERVER", server)
    (tmp_path / "schedules.toml").write_text(NOWHERE)
    assert offbeat("apply", str(tmp_path / "schedules.toml")).code == 0
    return offbeat


def failed(asking: Offbeat) -> str:
    """The id of a run that has failed."""
    run = asking("schedules", "trigger", "nowhere").out.strip()
    wait_until_failed(asking, run)
    return run


def wait_until_failed(asking: Offbeat, run: str) -> None:
    for _ in range(LOOKS_MAX):
        if run in {row["id"] for row in rows(asking, "--state", "failed")}:
            return
    raise AssertionError(f"{run} has not failed after {LOOKS_MAX} looks")


def rows(asking: Offbeat, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(asking("runs", *options, "-o", "json").out)
    return found


def counted(asking: Offbeat, *arguments: str) -> int:
    result = asking("runs", *arguments, "-o", "json")
    assert (result.code, result.err) == (0, "")
    return int(json.loads(result.out)["count"])


def test_one_run_is_replayed_by_its_id_and_failed_ones_by_the_filter(asking: Offbeat):
    run = failed(asking)
    result = asking("runs", "replay", run)
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith(f"{run} is due at 20")
    wait_until_failed(asking, run)
    mine = ("--failed", "--schedule", "nowhere", "--label", "team=money", "--reason", "attempts")
    assert counted(asking, "replay", *mine, "--dry-run") == 1
    assert counted(asking, "replay", *mine, "--outcome", "timeout") == 0
    assert counted(asking, "replay", "--failed", "--label", "team=other") == 0
    asking("flows", "limit", "127.0.0.1:9", "--pause")  # A replay waits for its end.
    assert counted(asking, "replay", *mine, "--from", "2020-01-01T00:00:00Z") == 1
    cancelled = asking("runs", "cancel", run)
    assert (cancelled.code, cancelled.err) == (0, f"{run} is cancelled now\n")
    assert asking("runs", "replay", run).code == 5
    asking("flows", "limit", "127.0.0.1:9")


def test_deleting_answers_with_how_many(asking: Offbeat):
    run = failed(asking)
    assert counted(asking, "delete", "--failed", "--to", "2020-01-01T00:00:00Z") == 0
    table = asking("runs", "delete", "--failed").out
    assert table.split()[:2] == ["count", "passed_over"]
    assert table.splitlines()[1].split()[0] == "1"
    assert run not in {row["id"] for row in rows(asking)}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["cancel", UNKNOWN], 4, "there is no such run"),
        (["replay", UNKNOWN], 4, "there is no such run"),
        (["replay", "--failed", "--schedule", "nobody"], 4, "there is no such schedule"),
        (["replay"], 2, "write --failed, and which failed runs to replay"),
        (["delete", "--schedule", "nowhere"], 2, "write --failed, and which failed runs to delete"),
        (["replay", UNKNOWN, "--failed"], 2, "not both"),
        (["replay", UNKNOWN, "--dry-run"], 2, "not both"),
        (["delete", "--failed", "--label", "team"], 2, "'team': write NAME=VALUE"),
        (["delete", "--failed", "--reason", "bad"], 2, "'bad' is not one of"),
        (["cancel", ""], 2, "write which one is meant"),
    ],
)
def test_what_cannot_be_done_says_what_to_write(
    asking: Offbeat, arguments: list[str], code: int, says: str
):
    result = asking("runs", *arguments)
    assert (result.code, result.out) == (code, "")
    assert says in result.err
