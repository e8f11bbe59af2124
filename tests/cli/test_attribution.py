"""`offbeat attribution` and the waterfall of `offbeat explain`."""

import json
import os
import shutil

import pytest

from engine.cli.delay_bars import share_rows, waterfall
from tests.cli.conftest import Offbeat

PARTS = ("jitter", "planning", "held", "queue", "bucket", "flow", "journal", "retry", "connect")


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((48, 24)))


def attribution(**parts: int) -> dict[str, int]:
    given = {f"{name}_ms": parts.get(name, 0) for name in (*PARTS, "first_byte", "body")}
    return {"total_ms": sum(parts.values()), **given}


def test_a_waterfall_shows_what_took_time_each_where_the_last_one_ended() -> None:
    lines = [
        f"{name:<14}{text}" for name, text in waterfall(attribution(jitter=50, bucket=40, body=10))
    ]
    assert lines == [
        "delay              0.100 s",
        "  jitter           0.050 s  ##########",
        "  bucket           0.040 s            ########",
        "  body             0.010 s                    ##",
    ]


def test_what_took_almost_no_time_can_still_be_seen() -> None:
    lines = [text for _, text in waterfall(attribution(jitter=100_000, body=1))]
    assert lines[1:] == ["   100.000 s  " + "#" * 19, "     0.001 s  " + " " * 19 + "#"]


def test_a_run_without_any_delay_is_one_line() -> None:
    assert list(waterfall(attribution())) == [("delay", "     0.000 s")]


def test_components_of_many_runs_are_bars_of_their_share() -> None:
    rows = [
        {"name": "jitter", "ate_objective": False, "share": 0.5, "p50_ms": 5, "p99_ms": 9_999},
        {"name": "bucket", "ate_objective": True, "share": 0.001, "p50_ms": 0, "p99_ms": 1_000},
        {"name": "flow", "ate_objective": True, "share": 0.0, "p50_ms": 0, "p99_ms": 0},
    ]
    assert list(share_rows(rows)) == [
        "               share         p50         p99",
        "jitter        50.0 %     0.005 s     9.999 s  #####",
        "bucket     *   0.1 %     0.000 s     1.000 s  #",
        "flow       *   0.0 %     0.000 s     0.000 s",
    ]


def test_of_a_span_without_runs_there_is_a_sentence(
    offbeat: Offbeat, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFBEAT_SERVER", server)
    result = offbeat("attribution")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("No scheduled run of this span has had an attempt that ended")
    assert json.loads(offbeat("attribution", "-o", "json").out)["runs"] == 0


def test_a_span_that_cannot_be_is_refused_with_what_can(
    offbeat: Offbeat, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFBEAT_SERVER", server)
    result = offbeat("attribution", "--from", "2999-01-01T00:00:00Z")
    assert (result.code, result.out) == (2, "")
    assert "from: write an instant that is past" in result.err
