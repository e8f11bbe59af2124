"""The receivers of docs/how-to-verify-a-signature.md, in four languages, on a real delivery."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.documents import Save, Type, steps
from tests.end_to_end.processes import ROOT, Engine, Receiver, until

PAGE = (ROOT / "docs" / "how-to-verify-a-signature.md").read_text()
STEPS = list(steps(PAGE))
PROGRAMS = {step.name: step.text for step in STEPS if isinstance(step, Save)}
TYPED = [step for step in STEPS if isinstance(step, Type)]
COMMANDS = [next(step for step in TYPED if f" {name}" in step.command) for name in PROGRAMS]


def test_the_page_has_four_languages():
    assert list(PROGRAMS) == ["verify.py", "verify.mjs", "verify.go", "verify.php"]


@pytest.fixture
def delivery(engine: Engine, receiver: Receiver, directory: Path) -> Path:
    """A directory with headers, body and secrets of a request that has arrived."""
    engine.start()
    engine.put("nightly", {"every": 3_600, "target": {"url": receiver.url("/204"), "body": "ß"}})
    assert engine.ask("POST", "/v1/schedules/nightly:trigger").status == 202
    (request,) = until(receiver.requests, "a delivery")
    secrets = [row["secret"] for row in engine.ask("GET", "/v1/secrets").document["data"]]
    lines = "".join(f"{name}: {value}\n" for name, value in request.headers)
    (directory / "headers.txt").write_text(lines)
    (directory / "body.json").write_bytes(request.body)
    (directory / "secrets.txt").write_text("\n".join(secrets) + "\n")
    return directory


@pytest.mark.parametrize("step", COMMANDS, ids=lambda step: step.command.split()[0])
def test_a_receiver_takes_the_delivery_and_nothing_else(step: Type, delivery: Path):
    if step.needs and not shutil.which(step.needs):
        pytest.skip(f"there is no {step.needs} here")
    for name, text in PROGRAMS.items():
        (delivery / name).write_text(text)
    headers = (delivery / "headers.txt").read_text()
    secrets = (delivery / "secrets.txt").read_text()
    fields = dict(line.split(": ", 1) for line in headers.lower().splitlines())
    key, sent, schedule = (
        fields[name] for name in ("webhook-id", "webhook-timestamp", "x-schedule-id")
    )

    assert _said(step, delivery) == (0, f"genuine: {key}")

    other = "whsec_" + "A" * 43 + "="
    (delivery / "secrets.txt").write_text(f"{other}\n{secrets}")
    assert _said(step, delivery) == (0, f"genuine: {key}")

    (delivery / "secrets.txt").write_text(f"{other}\n")
    assert _said(step, delivery) == (1, "not genuine: no signature holds")
    (delivery / "secrets.txt").write_text(secrets)

    (delivery / "headers.txt").write_text(headers.replace(sent, str(int(sent) - 301)))
    assert _said(step, delivery) == (1, "not genuine: sent too long ago")

    (delivery / "headers.txt").write_text(headers.replace(schedule, "sch_" + "0" * 26))
    assert _said(step, delivery) == (1, "not genuine: the key is another occurrence's")

    (delivery / "headers.txt").write_text(headers)
    (delivery / "body.json").write_bytes("ß ".encode())
    assert _said(step, delivery) == (1, "not genuine: no signature holds")


def _said(step: Type, directory: Path) -> tuple[int, str]:
    done = subprocess.run(
        step.command,
        check=False,
        shell=True,
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(directory)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()[0]
