"""The load test's command line."""

from pathlib import Path

import click
import pytest

from loadtest.__main__ import main


@pytest.mark.parametrize("option", ["--fail-rate", "--disk"])
@pytest.mark.parametrize("text", ["nan", "inf", "-0", "1e0"])
def test_a_number_that_is_not_plain_digits_is_refused(
    option: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ["herd", "--schedules", "1", "--virtual", "--out", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", ["loadtest", *small, option, text])
    with pytest.raises(click.BadParameter, match="not a number in plain digits"):
        main()
