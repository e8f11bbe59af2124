"""Names behind Tab, as bash gets them from a process of its own."""

import socket
from pathlib import Path

import pytest

from engine.cli.client import PAGE_ROWS
from tests.cli.conftest import Offbeat, completed
from tests.end_to_end.processes import until

TARGET = 'target.url = "http://127.0.0.1:9/"'


@pytest.fixture
def schedules(offbeat: Offbeat, server: str, tmp_path: Path) -> str:
    path = tmp_path / "a.toml"
    names = ["nightly", "noon", "zoo", *(f"job-{n:04}" for n in range(PAGE_ROWS + 1))]
    path.write_text("".join(f"[schedules.{name}]\nevery = 86400\n{TARGET}\n" for name in names))
    assert offbeat("apply", str(path), "--server", server).code == 0
    return server


def test_schedules_are_offered_where_one_is_named(schedules: str):
    def offered(words: str) -> list[str]:
        # On a busy machine the first answer may come too late.
        return until(lambda: completed(words, OFFBEAT_SERVER=schedules), "names are offered")

    both = ["plain,nightly", "plain,noon"]
    assert offered(f"offbeat explain --server {schedules} n") == both
    for verb in ("get", "pause", "resume", "trigger", "delete", "backfill"):
        assert offered(f"offbeat schedules {verb} n") == both
    for place in ("runs --schedule", "runs replay --failed --schedule", "runs delete --schedule"):
        assert offered(f"offbeat {place} zo") == ["plain,zoo"]
    assert offered("offbeat explain job-1") == ["plain,job-1000"]


def test_of_more_names_than_a_page_none_is_offered(schedules: str):
    """The first thousand begin with `job-0`, which is not how they all begin."""
    assert completed("offbeat explain job-", OFFBEAT_SERVER=schedules) == []


def test_who_cannot_ask_is_offered_nothing_and_told_nothing(schedules: str):
    assert completed("offbeat explain n", OFFBEAT_SERVER="unix:/nowhere/engine.sock") == []
    assert completed("offbeat explain n", OFFBEAT_SERVER="ftp://h.example") == []
    assert completed("offbeat explain n", OFFBEAT_SERVER=schedules, OFFBEAT_KEY="none") == []


def test_an_engine_that_does_not_answer_is_not_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert completed("offbeat explain n", OFFBEAT_SERVER=address) == []
