"""Every example of every --help, run as it stands against a real engine.

What an example names is there: its files lie in the working directory, `kubectl` and `crontab` are
on the PATH, and names of this machine's directories, of runs and of keys stand for those of a test.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.conftest import Offbeat, running
from tests.cli.test_keys import key_file
from tests.cli.test_root import ALL
from tests.python_source import ROOT

EXAMPLES = {
    line.strip(): path
    for path, command in ALL.items()
    for line in (command.epilog or "").splitlines()[2:]
}

NOW = "2026-11-30T12:00:30Z"
NOWHERE = "http://127.0.0.1:9/"  # Nobody listens on port 9 (discard).

FILES = {
    "schedules.toml": f"""
[schedules.nightly-report]
cron = "0 2 * * *"
retry.max_attempts = 1
target.url = "{NOWHERE}"
[schedules.stubborn]
cron = "0 * * * *"
retry.min_backoff_seconds = 3600
target.url = "{NOWHERE}"
[schedules.invoices]
every = 3600
target.url = "https://api.example.com/invoices"
""",
    "a.toml": f'[schedules.a]\nevery = 60\ntarget.url = "{NOWHERE}"\n',
    "b.yaml": f"schedules:\n  b:\n    every: 60\n    target:\n      url: {NOWHERE}\n",
    "mine": f"*/5 * * * * curl -s {NOWHERE}\n",
    "etc/crontab": "17 * * * * root run-parts /etc/cron.hourly\n",
    "etc/cron.d/backup": f"30 2 * * * root curl -s {NOWHERE}\n",
    "body.json": '{"report": "nightly"}',
}
CRONJOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: tidy}
spec:
  schedule: "@daily"
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      template:
        spec:
          containers: [{name: tidy, image: tidy, command: [curl, -s, URL]}]
""".replace("URL", NOWHERE)
FILES |= {
    "cronjobs.yaml": CRONJOB,
    "east.yaml": CRONJOB.replace("tidy", "east"),
    "west.yaml": CRONJOB.replace("tidy", "west"),
}

PROGRAMS = {
    "offbeat": f'exec {sys.executable} -m engine "$@"',
    "kubectl": "cat cronjobs.yaml",
    "crontab": "cat mine",
}

# What stands for a name that an example makes up.
HERE = {
    "run --data-dir /var/lib/offbeat": "run --data-dir another",
    "/var/lib/offbeat": "data",
    "/var/backups/": "./",
    "/run/offbeat.sock": "run.sock",
    "unix:/run/other.sock": "$OFFBEAT_SERVER",
    "/etc/crontab": "etc/crontab --system",
    "/etc/cron.d/backup": "etc/cron.d/backup --system",
    "/etc/offbeat/schedules": "etc/schedules",
    "sink --port 9000": "sink --port 0",
    "sink --secret": "sink --port 0 --secret",
    "k5x2mbqy4w7c3nzd": "$(offbeat key list | awk '$2 == \"acme\" {print $1; exit}')",
    "cancel sch_tq9s2dobvk1gq0sevfcr4j94no@2026-11-30T12:00:00Z": "cancel $(offbeat schedules"
    " trigger stubborn)",
    "replay sch_tq9s2dobvk1gq0sevfcr4j94no@2026-11-30T12:00:00Z": "replay $FAILED",
}

# What must have been done before an example, where more is needed than that schedules are there.
NOTICES = "offbeat notices set --target https://example.com/alerts"
SIGN = next(line for line, path in EXAMPLES.items() if path == "sign")
BEFORE = {
    "offbeat secrets retire": "offbeat secrets rotate",
    "offbeat secrets rotate": "offbeat secrets retire",
    "offbeat notices show": NOTICES,
    "offbeat notices off": NOTICES,
    "offbeat tenant delete acme": "offbeat tenant create acme; offbeat key list"
    " | awk '$2 == \"acme\" {print $1}' | xargs -rn 1 offbeat key revoke",
    "offbeat key revoke k5x2mbqy4w7c3nzd": "offbeat tenant create acme;"
    " offbeat key create --tenant acme --scope read",
    "offbeat check /var/backups/offbeat.db": "offbeat backup ./offbeat.db --data-dir data --force",
    "offbeat runs --follow": "offbeat schedules trigger stubborn",
    "offbeat diff schedules.toml": "offbeat schedules delete stubborn",
    **{line: SIGN for line, path in EXAMPLES.items() if path == "verify"},
    **{line: "offbeat tenant create acme" for line in EXAMPLES if "key create" in line},
}

ENDLESS = re.compile(r"offbeat (run|sink) |--follow")
CODES = {
    "offbeat diff schedules.toml": 6,
    "offbeat diff a.toml b.yaml --set billing --prune -o json": 6,
    "offbeat runs --follow": 130,
}
SHELL = re.compile("[|<>$();]")


@pytest.fixture(scope="module")
def _world() -> Iterator[None]:
    """A working directory with all that examples name, and the environment of an engine."""
    # Not under tmp_path: a socket's path has 108 bytes at most.
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        for name, text in FILES.items():
            write(Path(directory, name), text)
        for name, script in PROGRAMS.items():
            write(Path(directory, "bin", name), f"#!/bin/sh\n{script}\n").chmod(0o755)
        Path(directory, "etc", "schedules").mkdir()
        Path(directory, ".config", "fish", "completions").mkdir(parents=True)
        patch.setenv("OFFBEAT_AUTH__ADMIN_KEY_FILE", str(key_file(Path(directory, "admin.key"))))
        patch.setenv("OFFBEAT_EGRESS__ALLOW", "127.0.0.1")
        with running(directory, "--clock-start", NOW) as address:
            patch.setenv("OFFBEAT_SERVER", address)
            patch.setenv("OFFBEAT_KEY_FILE", f"{directory}/admin.key")
            patch.setenv("OFFBEAT_ENGINE__LISTEN", f"unix:{directory}/another.sock")
            patch.setenv("HOME", directory)
            patch.setenv("TZ", "UTC")
            patch.setenv("PATH", f"{directory}/bin:{os.environ['PATH']}")
            patch.setenv("PYTHONPATH", str(ROOT))
            patch.chdir(directory)
            yield


@pytest.fixture(autouse=True)
def _schedules(_world: None, offbeat: Offbeat) -> None:
    assert offbeat("apply", "schedules.toml").code == 0


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_works_as_it_stands(
    line: str, offbeat: Offbeat, monkeypatch: pytest.MonkeyPatch
):
    if line in BEFORE:
        shell(BEFORE[line])
    here = line
    for written, meant in HERE.items():
        here = here.replace(written, meant)
    if "$FAILED" in here:
        monkeypatch.setenv("FAILED", failed_run(offbeat))
    if ENDLESS.search(f"{line} "):
        code, said = begun_and_ended(here)
    elif SHELL.search(here):
        code, said = shell(here)
    else:
        result = offbeat(*shlex.split(here)[1:])
        code, said = result.code, result.err
    assert code == CODES.get(line, 0), said


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def shell(line: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


def begun_and_ended(line: str) -> tuple[int, str]:
    """Start what goes on for ever, and end it when it has said something."""
    with subprocess.Popen(
        ["bash", "-c", f"exec {line}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.send_signal(signal.SIGINT)  # As Ctrl-C does.
        said += process.stdout.read()
        return process.wait(timeout=30), said


def failed_run(offbeat: Offbeat) -> str:
    """The id of a run that has failed, as soon as one has."""
    run = offbeat("schedules", "trigger", "nightly-report").out.strip()
    for _ in range(1_000):
        if run in offbeat("runs", "--state", "failed", "-o", "json").out:
            return run
    raise AssertionError(f"{run} has not failed")
