"""The unit, installed as its header says, under a systemd that runs."""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end_to_end.machine import Machine, NoMachine
from tests.end_to_end.processes import ROOT, until

UNIT = ROOT / "examples" / "systemd" / "offbeat.service"

IMPATIENT = "mkdir /run/systemd/system/offbeat.service.d && printf '[Service]\\nWatchdogSec=5\\n' \
    >/run/systemd/system/offbeat.service.d/impatient.conf && systemctl daemon-reload"
"""For whoever does not want to wait for thirty seconds; a crowded machine is late by less."""


@pytest.fixture
def machine(directory: Path, binary: Path) -> Iterator[Machine]:
    """A machine that has the program and the unit in /mnt."""
    layer, files = directory / "layer", directory / "files"
    layer.mkdir()
    files.mkdir()
    shutil.copy(binary, files)
    shutil.copy(UNIT, files)
    with ExitStack() as stack:
        try:
            running = stack.enter_context(Machine(layer, files))
        except NoMachine as reason:
            pytest.skip(str(reason))
        yield running


def test_installed_as_its_header_says_it_starts_and_comes_back_from_whatever_befalls_it(
    machine: Machine,
) -> None:
    machine.sees("cd /mnt\n" + "\n".join(installation()))
    assert state(machine, "StatusText") == "listening on 127.0.0.1:8420"
    assert machine.sees("offbeat status").startswith("ready     yes\n")

    # What is scheduled comes in a file.
    machine.sees("""
        printf '[schedules.tick]\\nevery = 60\\ntarget.url = "http://127.0.0.1:9/"\\n' \
            >/etc/offbeat/schedules/tick.toml""")
    until(lambda: machine.type("offbeat explain tick")[0] == 0, "the file is applied")

    # Root looks at the database, and leaves nothing there that keeps the engine out.
    data = "--data-dir /var/lib/offbeat"
    machine.sees(f"offbeat backup /root/copy.db {data}; offbeat check {data}")
    machine.sees("offbeat check /root/copy.db; systemctl stop offbeat")
    assert state(machine, "Result") == "success"
    machine.sees(f"offbeat check {data}; systemctl start offbeat; offbeat status")

    # It dies.
    engine = engine_of(machine)
    machine.sees(f"kill -KILL {engine}")
    until(lambda: is_another(machine, engine), "it is started again")

    # It hangs.
    machine.sees(f"{IMPATIENT} && systemctl restart offbeat")
    engine = engine_of(machine)
    machine.sees(f"kill -STOP {engine}")
    until(lambda: is_another(machine, engine), "its watchdog bites")
    assert "Watchdog timeout" in machine.sees("journalctl --unit offbeat --output cat")

    # It is told what is wrong: another start would change nothing.
    machine.sees("echo nonsense=1 >/etc/offbeat/offbeat.toml")
    assert machine.type("systemctl restart offbeat")[0] != 0
    assert (state(machine, "ActiveState"), state(machine, "ExecMainStatus")) == ("failed", "2")
    assert "nonsense" in machine.sees("journalctl --unit offbeat --lines 5 --output cat")


def installation() -> list[str]:
    """The commands of the unit's header."""
    header = UNIT.read_text().partition("\n[")[0]
    return [typed.split("  ")[0] for typed in re.findall(r"^#   (.*)$", header, re.MULTILINE)]


def state(machine: Machine, name: str) -> str:
    """What systemd says of the unit."""
    return machine.sees(f"systemctl show offbeat --value --property {name}")


def engine_of(machine: Machine) -> str:
    """Its process: the child of the one that has unpacked the program."""
    return machine.sees(f"pgrep --parent {state(machine, 'MainPID')}")


def is_another(machine: Machine, engine: str) -> bool:
    if state(machine, "ActiveState") != "active":
        return False
    code, now = machine.type(f"pgrep --parent {state(machine, 'MainPID')}")
    return code == 0 and now.strip() != engine
