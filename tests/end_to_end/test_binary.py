"""The one file of scripts/build_binary works where there is nothing else: no Python, no PATH."""

import json
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engine import __version__
from engine.cli.root import COMMANDS
from engine.core.identity import schedule_id
from engine.receiver import verify
from engine.store.statements import migrations
from engine.web.dashboard import read_dashboard
from tests.end_to_end.journal import read_journal
from tests.end_to_end.processes import DEADLINE_SECONDS, Engine, Receiver, until


@pytest.fixture
def engine(make_engine: Callable[..., Engine], binary: Path) -> Engine:
    engine = make_engine()
    engine.program, engine.environment = (binary,), {}
    return engine


def offbeat(binary: Path, *arguments: str) -> str:
    """What it prints, with an environment in which nothing is set."""
    done = subprocess.run(
        [binary, *arguments],
        check=False,
        env={},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_says_its_version(binary: Path) -> None:
    assert offbeat(binary, "--version") == f"offbeat {__version__}\n"


def test_it_has_zones_of_its_own(binary: Path) -> None:
    """On 4 October 2026 Lord Howe's clocks go from 02:00 to 02:30."""
    shown = offbeat(
        binary,
        *("next", "30 2 * * *", "--tz", "Australia/Lord_Howe", "-n", "1"),
        *("--after", "2026-10-03T00:00:00Z"),
    )
    assert "2026-10-03T15:30:00Z" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_it(binary: Path, name: str) -> None:
    assert f"Usage: offbeat {name} " in offbeat(binary, name, "--help")


def test_it_delivers_what_its_receiver_can_verify_and_ends_in_order(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start()
    engine.put("tick", {"every": 1, "jitter_seconds": 0, "target": {"url": receiver.url("/")}})
    (entry,) = engine.ask("GET", "/v1/secrets").document["data"]
    request = until(receiver.requests, "it is delivered")[0]
    delivery = verify(request.fields, request.body, [entry["secret"]])
    assert delivery.schedule_id == schedule_id("default", "tick")
    engine.signal(signal.SIGTERM)
    assert engine.exit_code() == 0, engine.said()
    journal = read_journal(engine.database)
    assert journal.integrity == "ok"
    assert "succeeded" in {run.state for run in journal.runs.values()}


def test_its_dashboard_is_whole_and_its_database_of_this_version(engine: Engine) -> None:
    engine.start()
    dashboard = read_dashboard()
    assert engine.ask("GET", "/").document == dashboard.page.decode()
    for path, content in dashboard.files.items():
        served = engine.ask("GET", f"/static/{dashboard.digest}/{path}").document
        assert served == content.decode(), path
    engine.stop()
    with closing(sqlite3.connect(engine.database)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (migrations()[-1][0],)


FILES = {
    "toml": """
        [schedules.report]
        cron = "0 3 * * 1"
        timezone = "Asia/Tokyo"
        target.url = "http://127.0.0.1:9/"
        target.headers.Authorization = "Bearer canary"
        target.body = "Łódź"
        """,
    "yaml": """
        schedules:
          report:
            cron: 0 3 * * 1
            timezone: Asia/Tokyo
            target:
              url: http://127.0.0.1:9/
              headers: {Authorization: Bearer canary}
              body: Łódź
        """,
    "json": """
        {"schedules": {"report": {
            "cron": "0 3 * * 1",
            "timezone": "Asia/Tokyo",
            "target": {
                "url": "http://127.0.0.1:9/",
                "headers": {"Authorization": "Bearer canary"},
                "body": "Łódź"}}}}""",
}


@pytest.mark.parametrize("form", FILES)
def test_it_reads_and_writes_schedules_in_every_form_and_seals_credentials(
    binary: Path, engine: Engine, directory: Path, form: str
) -> None:
    engine.start()
    file, copy = directory / f"all.{form}", directory / "copy.db"
    file.write_text(FILES[form])
    server, data = f"--server={engine.url}", f"--data-dir={engine.data_dir}"
    assert "report" in offbeat(binary, "apply", str(file), server)
    exported = offbeat(binary, "export", "-o", form, server)
    assert "Asia/Tokyo" in exported
    assert "Łódź" in exported
    assert "canary" not in exported
    offbeat(binary, "backup", str(copy), data)
    assert offbeat(binary, "check", str(copy)) == f"{copy} is whole\n"
    assert b"canary" not in copy.read_bytes()


CRONJOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  timeZone: Europe/Warsaw
  jobTemplate:
    spec: {template: {spec: {containers: [{name: it, image: it:1, args: [all]}]}}}
"""


def test_it_imports_crontabs_and_cronjobs(binary: Path, directory: Path) -> None:
    crontab, manifest = directory / "crontab", directory / "jobs.yaml"
    crontab.write_text("CRON_TZ=Asia/Seoul\n0 * * * * curl http://127.0.0.1:9/\n")
    manifest.write_text(CRONJOB)
    (job,) = json.loads(offbeat(binary, "import", "crontab", str(crontab), "-o", "json"))[
        "schedules"
    ].values()
    assert job["timezone"] == "Asia/Seoul"
    made = offbeat(
        binary, "import", "kubernetes", str(manifest), "--target=http://127.0.0.1:9/", "-o", "json"
    )
    (job,) = json.loads(made)["schedules"].values()
    assert job["timezone"] == "Europe/Warsaw"


def test_killed_it_leaves_no_engine_behind(engine: Engine, directory: Path) -> None:
    """What was started is the process that unpacked it; the engine is its child."""
    engine.environment = {"TMPDIR": str(directory)}  # What it unpacked stays, and goes with this.
    engine.start()
    engine.kill()
    engine.start("--lock-timeout", f"{DEADLINE_SECONDS:g}")
    engine.stop()
