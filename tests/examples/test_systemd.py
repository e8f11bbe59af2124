"""The unit: systemd understands it and finds it closed, and it sets what the program has."""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from engine.cli.root import EXIT_CODES
from engine.cli.run import DEFAULT_FILE
from engine.config import load_config
from tests.examples.settings_of import OPEN_FILES_MIN, STOP_SECONDS_MIN, settings_of

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "examples" / "systemd" / "offbeat.service"
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
    """What systemd-analyze says, once it agrees; ./scripts/install-systemd brings it."""
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
    assert config.schedules == Path("/etc/offbeat/schedules")
    assert config.master_key_file == Path("/run/credentials/master.key")
    assert (config.admin_key_file is not None) == commented


def test_it_gives_an_engine_the_time_and_the_files_that_it_needs(
    unit: dict[str, list[str]],
) -> None:
    assert [int(value) for value in unit["TimeoutStopSec"]] >= [STOP_SECONDS_MIN]
    assert [int(value) for value in unit["LimitNOFILE"]] >= [OPEN_FILES_MIN]


def test_its_user_reads_its_folders_and_no_other_does(unit: dict[str, list[str]]) -> None:
    installed = re.findall(r"^#   install -d -m (\d+) (?:-g (\w+) )?(\S+)$", UNIT.read_text(), re.M)
    folders = {place: (mode, group) for mode, group, place in installed}
    assert unit["User"] == ["offbeat"]
    assert folders == {
        "/etc/offbeat": ("0755", ""),  # It passes through; what is secret there is 0600.
        "/etc/offbeat/schedules": ("0750", "offbeat"),  # They may hold credentials.
    }


def test_the_settings_of_the_page_about_edge_boxes_are_those_that_it_reads(
    unit: dict[str, list[str]], tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "how-to-edge.md").read_text()
    (place,) = unit["WorkingDirectory"]
    (text,) = re.findall(rf"^`{place}/{DEFAULT_FILE}`.*\n\n```toml\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "offbeat.toml").write_text(text)
    environ = dict(item.split("=", 1) for item in unit["Environment"])
    config = load_config({}, environ, tmp_path / "offbeat.toml")
    assert (config.tenant, config.rate, config.history_days) == ("box-17", 20, 2)


def test_what_hangs_or_fails_is_started_again_and_what_was_told_wrongly_is_not(
    unit: dict[str, list[str]],
) -> None:
    # Of one file it is a child of what systemd has started: with `main` no word of it would count.
    assert unit["Type"] == ["notify"]
    assert unit["NotifyAccess"] == ["all"]
    # Without a unit, it is in seconds: long for a loop that stalls, short for whoever waits.
    assert unit["WatchdogSec"] == ["30"]
    page = (ROOT / "docs" / "how-to-install.md").read_text()
    assert "after 30 s without one it is restarted" in " ".join(page.split())
    # A stop by `systemctl stop` or SIGTERM ends with 0, and is meant.
    assert unit["Restart"] == ["on-failure"]
    final = [EXIT_CODES[int(code)] for code in " ".join(unit["RestartPreventExitStatus"]).split()]
    assert final == ["usage or invalid input"], (
        "a lock or a full disk may be gone at the next start"
    )
