"""`offbeat runs --follow`: over the stream of a real engine, and what it does without one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from engine.cli import following
from engine.cli.following import Following
from engine.core.errors import NoServer
from tests.cli.conftest import Offbeat


def run(number: int, state: str, attempts: int = 0) -> dict[str, Any]:
    return {"id": f"run-{number}", "state": state, "attempt_count": attempts}


class Script:
    """A client whose lists and streams are what a test says, in their order."""

    def __init__(self, lists: list[list[dict[str, Any]]], streams: list[list[Any] | None]) -> None:
        self.lists, self.streams = iter(lists), iter(streams)
        self.after: list[str | None] = []

    def rows(self, path: str, *, limit: int, schedule: str | None) -> Iterator[dict[str, Any]]:
        assert (path, limit, schedule) == ("/v1/runs", 9, "report")
        yield from next(self.lists)[::-1]

    def events(self, path: str, *, after: str | None, **query: object) -> Iterator[Any]:
        assert (path, query) == ("/v1/events", {"types": "runs", "schedule": "report"})
        self.after.append(after)
        stream = next(self.streams)
        if stream is None:
            raise NoServer("nobody answers")
        yield from stream


def follow(script: Script, count: int) -> list[tuple[str, str]]:
    rows = Following(script, schedule="report", limit=9).rows()  # type: ignore[arg-type]  # A script.
    return [(row["id"], row["state"]) for row in islice(rows, count)]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 0)


def test_the_list_comes_first_and_what_came_before_the_stream_began_is_not_lost():
    first, second = run(1, "planned"), run(2, "planned")
    script = Script(
        [[first], [first, second]],
        [[(None, "a-0", None), ("run", "a-1", run(1, "succeeded", 1))]],
    )
    assert follow(script, 3) == [
        ("run-1", "planned"), ("run-2", "planned"), ("run-1", "succeeded"),
    ]  # fmt: skip


def test_without_a_stream_the_list_is_asked_again_and_a_state_is_shown_once():
    script = Script(
        [[run(1, "planned")], [run(1, "planned")], [run(1, "succeeded", 1), run(2, "planned")]],
        [None, None],
    )
    assert follow(script, 3) == [
        ("run-1", "planned"), ("run-1", "succeeded"), ("run-2", "planned"),
    ]  # fmt: skip


def test_a_stream_that_broke_off_is_taken_up_where_it_was():
    script = Script(
        [[], [], []],
        [[("run", "a-7", run(1, "attempting", 1))], [("run", "a-8", run(1, "failed", 1))]],
    )
    assert follow(script, 2) == [("run-1", "attempting"), ("run-1", "failed")]
    assert script.after == [None, "a-7"]


def test_what_was_left_out_is_said_beside_the_data(capsys: pytest.CaptureFixture[str]):
    script = Script([[]], [[("dropped", None, {"n": 70}), ("run", "a-1", run(1, "failed", 1))]])
    follow(script, 1)
    assert capsys.readouterr().err == "70 more changes in a second, which are in the list\n"


def test_a_run_is_shown_from_its_attempt_to_its_end(
    server: str, offbeat: Offbeat, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    monkeypatch.setenv("OFFBEAT_SERVER", server)
    document = {"every": 86_400, "retry": {"max_attempts": 1}}
    document["target"] = {"url": "http://127.0.0.1:9/hook"}
    path = tmp_path / "schedules.json"
    path.write_text(json.dumps({"schedules": {"report": document}}))
    assert offbeat("apply", str(path)).code == 0
    command = [sys.executable, "-m", "engine", "runs", "--follow", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        offbeat("schedules", "trigger", "report")
        states = []
        while states[-1:] != ["failed"]:
            states.append(json.loads(process.stdout.readline())["state"])
        process.kill()
    assert states[-1] == "failed"
    assert len(states) == len(set(states))
