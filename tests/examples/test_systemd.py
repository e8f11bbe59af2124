"""The unit: systemd understands it and finds it closed, and it sets what the program has."""

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.examples.settings_of import OPEN_FILES_MIN, STOP_SECONDS_MIN, settings_of

UNIT = Path(__file__).parents[2] / "examples" / "systemd" / "offbeat.service"
PROGRAM = "/usr/local/bin/offbeat"

EXPOSURE_MAX = 20
"""Tenths, of ten; what it has more is that it is a network service."""


def read_unit(text: str) -> dict[str, list[str]]:
    """Every value of a directive, by its name."""
    values = defaultdict(list)
    for line in text.splitlines():
        name, assigned, value = line.partition("=")
        if assigned and not line.startswith("#"):
            values[name].append(value)
    return values


@pytest.fixture
def unit() -> dict[str, list[str]]:
    return read_unit(UNIT.read_text())


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit on a machine on which its program is there."""
    place = tmp_path / UNIT.name
    place.write_text(UNIT.read_text().replace(PROGRAM, "/bin/true"))
    return place


def analyze(*arguments: str | Path) -> str:
    """What systemd-analyze says, once it agrees; ./scripts/install-systemd-analyze brings it."""
    done = subprocess.run(
        ["systemd-analyze", *arguments],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_systemd_finds_no_fault(installed: Path) -> None:
    assert analyze("verify", "--man=no", installed) == ""


def test_systemd_finds_it_closed(installed: Path) -> None:
    analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", installed)


@pytest.mark.parametrize("commented", [False, True], ids=["this machine", "with a first key"])
def test_it_sets_what_the_program_has(commented: bool) -> None:
    text = UNIT.read_text().replace("\n#E", "\nE") if commented else UNIT.read_text()
    unit = read_unit(text.replace("%S", "/var/lib").replace("%d", "/run/credentials"))
    program, verb, *flags = unit["ExecStart"][0].split()
    assert (program, verb) == (PROGRAM, "run")
    config = settings_of(flags, dict(item.split("=", 1) for item in unit["Environment"]))
    assert config.data_dir == Path("/var/lib", *unit["StateDirectory"])
    assert config.master_key_file == Path("/run/credentials/master.key")
    assert (config.admin_key_file is not None) == commented


def test_it_gives_an_engine_the_time_and_the_files_that_it_needs(
    unit: dict[str, list[str]],
) -> None:
    assert [int(value) for value in unit["TimeoutStopSec"]] >= [STOP_SECONDS_MIN]
    assert [int(value) for value in unit["LimitNOFILE"]] >= [OPEN_FILES_MIN]
