"""Tables and sentences in terminals of every width."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from engine.cli.terminal_layout import fit, table_lines, wrap
from tests.cli.conftest import Offbeat, running

COLUMNS = ("name", "next_fire_after", "target")
LONG = "a-name-that-somebody-generated-from-a-cluster-and-a-namespace"
ROWS = [["report", "in 5 min", "POST http://h.example/hook"], [LONG, "paused", "POST " + "u" * 60]]


def test_where_all_fits_nothing_is_cut_and_no_line_ends_in_blanks():
    headings, lines = table_lines(COLUMNS, ROWS, 200)
    assert headings == [f"{'name':<61}  next fire after  target"]
    assert lines[0] == f"{'report':<61}  in 5 min         POST http://h.example/hook"
    assert lines[1].endswith("u" * 60)


def test_a_long_name_leaves_room_for_the_others_and_headings_break_between_words():
    headings, lines = table_lines(COLUMNS, ROWS, 60)
    assert headings == [
        f"{'':<36}  next",
        f"{'':<36}  fire",
        f"{'name':<36}  after     target",
    ]
    assert lines == [
        f"{'report':<36}  in 5 min  POST…le/hook",
        "a-name-that-somebody-generated-from…  paused    POST uuuuuu…",
    ]


def test_in_80_columns_an_address_keeps_its_end_and_a_heading_takes_no_room_from_it():
    columns = ("name", "when", "jitter", "next fire_after", "target")
    address = "POST https://service-1.internal.example:8443/jobs/report-0"
    rows = [
        [f"svc-{n}-report", "0 * * * * (UTC)", "60", "in 5 min", f"{address}{n}"] for n in (1, 2)
    ]
    headings, (first, second) = table_lines(columns, rows, 80)
    assert headings[-1] == "name          when             jitter  after     target"
    assert first == (
        "svc-1-report  0 * * * * (UTC)  60      in 5 min  POST servi…:8443/jobs/report-01"
    )
    assert second.endswith("…:8443/jobs/report-02")
    assert len(first) == 80


def test_an_address_that_fits_without_its_scheme_is_whole():
    rows = [["a", "GET http://127.0.0.1:9/run"], ["b", "GET http://127.0.0.1:9/x"]]
    _, lines = table_lines(("name", "target"), rows, 25)
    assert lines == ["a     GET 127.0.0.1:9/run", "b     GET 127.0.0.1:9/x"]


def test_a_terminal_too_narrow_for_columns_gets_a_block_for_each_row_with_nothing_cut():
    headings, lines = table_lines(COLUMNS, ROWS, 40)
    assert headings == []
    assert lines[:5] == [
        "name             report",
        "next fire after  in 5 min",
        "target           POST",
        "                 http://h.example/hook",
        "",
    ]
    assert lines[5] == f"name             {LONG}"


def test_a_single_row_is_whole_or_a_block():
    assert table_lines(("count", "first"), [["12", "2026-11-30T12:00:00Z"]], 27)[1] == [
        "12     2026-11-30T12:00:00Z"
    ]
    assert table_lines(("count", "first"), [["12", "2026-11-30T12:00:00Z"]], 26)[1] == [
        "count  12",
        "first  2026-11-30T12:00:00Z",
    ]


def test_without_rows_there_are_the_headings():
    assert table_lines(("id", "last_used_at"), [], 80) == (["id  last used at"], [])


def test_letters_of_double_width_take_two_columns():
    _, (line, _) = table_lines(("name", "n"), [["日" * 20, "1"], ["a", "2"]], 36)
    assert line == f"{'日' * 16}…  1"


@pytest.mark.parametrize("width", range(20, 200, 7))
def test_no_line_is_wider_than_the_terminal_where_words_are_not(width: int):
    rows = [["report", "in 5 min", "in words"], ["another", "paused", "in more words than one"]]
    headings, lines = table_lines(COLUMNS, rows, width)
    assert all(len(line) <= max(width, len("next fire after  ") + 12) for line in headings + lines)
    assert sum(word in " ".join(lines) for word in ("report", "another", "paused")) == 3


def test_room_goes_to_the_first_column_and_then_to_whom_little_is_missing():
    assert fit([40, 20, 13], [30, 12, 12], 54) == [30, 12, 12]
    assert fit([40, 20, 13], [30, 12, 12], 60) == [36, 12, 12]
    assert fit([40, 20, 13], [30, 12, 12], 66) == [40, 13, 13]
    assert fit([40, 20, 13], [30, 12, 12], 99) == [40, 20, 13]
    assert fit([40, 20, 13], [30, 12, 12], 53) is None


def test_a_sentence_goes_on_below_its_beginning_and_a_key_stays_in_one_piece():
    assert wrap("one two three four", 22, label="verdict   ") == (
        "verdict   one two\n          three four"
    )
    assert wrap("f" * 64, 40, label="key  ") == f"key  {'f' * 64}"


def on_a_terminal(columns: int, code: str) -> list[str]:
    """What a program prints to a terminal of so many columns, line by line, without its styles."""
    master, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    subprocess.run([sys.executable, "-c", code], stdout=terminal, check=True, env=environment)
    os.close(terminal)
    shown = os.read(master, 65_536).decode()
    os.close(master)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()


def test_a_command_asks_the_terminal_for_its_width_and_shows_instants_from_now():
    code = (
        "from engine.cli.output import When, show_sentence, show_table\n"
        "rows = [('n' * 40, When('2100-01-01T00:00:00Z', 0), 'u' * 99)] * 2\n"
        "show_table(('name', 'next', 'target'), rows)\n"
        "show_sentence('word ' * 20)"
    )
    _, row, _, *prose = on_a_terminal(64, code)
    assert re.fullmatch("n{30,}…  in [0-9]+ da…  u+…", row)
    assert len(row) <= 64
    assert prose == [" ".join(["word"] * 13), " ".join(["word"] * 7)]


def test_instants_are_seen_from_the_engines_clock(offbeat: Offbeat, tmp_path: Path):
    (tmp_path / "a.json").write_text(
        '{"schedules": {"a": {"at": "2031-01-02T06:00:00Z", "target": {"url": "http://h.example/"}}}}'
    )
    clock = ("--clock-start", "2031-01-01T00:00:00Z")
    with TemporaryDirectory() as place, running(place, *clock) as address:
        assert offbeat("apply", str(tmp_path / "a.json"), "--server", address).code == 0
        words = ["schedules", "--server", address]
        code = f"from engine.cli.root import execute; execute({words!r})"
        _, row = on_a_terminal(120, code)
    assert re.search(r"  in (30|29) h +POST ", row)
