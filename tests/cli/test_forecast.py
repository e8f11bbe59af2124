"""`offbeat forecast` and `offbeat what-if` against a real engine."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from engine.cli.herd_chart import show_chart
from tests.cli.conftest import Offbeat

TARGET = 'target = { url = "http://127.0.0.1:9/hook" }'


@pytest.fixture
def asking(
    offbeat: Offbeat, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Offbeat:
    monkeypatch.setenv("OFFBEAT_SERVER", server)
    path = tmp_path / "schedules.toml"
    path.write_text(f'[schedules.a]\ncron = "0 * * * *"\n{TARGET}\n')
    assert offbeat("apply", str(path)).code == 0
    return offbeat


def chart(peaks: list[int]) -> dict[str, object]:
    curve = {"peak": peaks}
    return {
        "from": "2026-11-30T12:00:00Z",
        "to": "2026-12-01T12:00:00Z",
        "curves": {"demand": curve, "planned": curve, "served": {"peak": [0] * len(peaks)}},
    }


def width(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((columns, 24)))


def test_a_forecast_is_a_chart_a_verdict_and_the_busiest_timetables(asking: Offbeat):
    result = asking("forecast")
    lines = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert [line.split()[0] for line in lines[:4]] == ["demand", "planned", "served", "UTC"]
    assert lines[5].startswith("The objective is met in all of 24 minutes with runs")
    assert lines[-1].split("  ") == ["0 * * * * (UTC)", "24"]


def test_a_forecast_as_json_is_the_apis_document(asking: Offbeat):
    document = json.loads(asking("forecast", "--bin", "3600", "-o", "json").out)
    assert (document["verdict"], len(document["backlog"])) == ("met", 24)


def test_a_what_if_counts_by_the_second_where_it_is_asked_to(asking: Offbeat):
    span = ("--from", "2099-01-01T00:00:00Z", "--to", "2099-01-01T00:02:00Z")
    document = json.loads(
        asking("what-if", "--jitter", "60", *span, "--bin", "1", "-o", "json").out
    )
    assert document["then"]["bin_seconds"] == 1
    assert len(document["then"]["curves"]["planned"]["runs"]) == 120


def test_a_what_if_tells_the_least_jitter_and_rate(asking: Offbeat):
    result = asking(
        "what-if", "--jitter", "120", "--rate", "2000", "--burst", "9", "--add", "50000"
    )
    assert result.code == 0
    assert result.err == (
        "offsets are the expected ones: too many schedules, or some that do not exist yet\n"
    )
    last = result.out.splitlines()[-1]
    assert last.startswith("Least jitter that meets the objective: 1")
    document = json.loads(asking("what-if", "--jitter", "120", "-o", "json").out)
    assert (document["exactness"], document["selected_schedules"]) == ("exact", 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("what-if",), "write what to change: jitter_seconds, rate, burst or add"),
        (("what-if", "--rate", "0"), "'--rate': 0 is not in the range 1<=x<=1000000"),
        (("what-if", "--jitter", "5", "--timetable", "x"), "timetables: 'x' selects nothing"),
        (("forecast", "--to", "2999-01-01T00:00:00Z"), "to: write an instant after"),
        (("forecast", "--from", "2020-01-01T00:00:00Z"), "from: write an instant to come"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_what_can(
    asking: Offbeat, arguments: tuple[str, ...], says: str
):
    result = asking(*arguments)
    assert (result.code, result.out) == (2, "")
    assert says in result.err


def test_a_chart_is_as_wide_as_the_terminal_and_shows_each_columns_peak(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    width(monkeypatch, 49)
    show_chart(chart([0] * 40 + [1] + [0] * 19 + [800]))
    demand, planned, served, axis = capsys.readouterr().out.splitlines()
    assert demand == "demand       800/s" + " " * 21 + "." + " " * 8 + "@"
    assert planned == demand.replace("demand ", "planned")
    assert served == "served         0/s"
    assert axis == f"{'UTC':<18} 11-30 12:00        12-01 12:00"
    assert len(axis) == len(demand) == 49


def test_a_terminal_gets_blocks_and_colours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    width(monkeypatch, 80)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show_chart(chart([1, 4]))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 * 4 + 1
    assert "█" in lines[0]
