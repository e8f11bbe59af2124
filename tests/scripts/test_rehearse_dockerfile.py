"""The Dockerfile: hadolint finds no fault, and its steps, run without Docker, make an engine.

What that shows and what it does not is said in scripts/rehearse_dockerfile.py.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config import Config
from scripts.rehearse_dockerfile import is_let_in
from tests.end_to_end.processes import DEADLINE_SECONDS, ROOT, until

DOCKERFILE = ROOT / "Dockerfile"
STEPS_SECONDS = 300


@pytest.fixture(scope="module")
def image() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)  # The image's user looks into it.
        done = subprocess.run(
            [sys.executable, ROOT / "scripts" / "rehearse_dockerfile.py", name],
            check=False,
            capture_output=True,
            text=True,
            timeout=STEPS_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        yield json.loads(done.stdout)


@pytest.mark.skipif(
    (sys.platform, os.uname().machine) != ("linux", "x86_64"), reason="hadolint is not locked here"
)
def test_hadolint_finds_no_fault() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    said = subprocess.run([hadolint, DOCKERFILE], check=False, capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "")


def test_what_is_left_out_is_debians_packages_alone(image: dict[str, Any]) -> None:
    assert image["left_out"] == [
        "apt-get update",
        "apt-get install -y --no-install-recommends ca-certificates python3",
    ]
    pip = Path(image["root"], "offbeat", "bin", "pip")
    assert not pip.exists(), "nothing is installed into what runs"


def test_an_engine_of_its_steps_runs_as_its_user_writes_to_its_volume_alone_and_stops(
    image: dict[str, Any], tmp_path: Path
) -> None:
    root, port = Path(image["root"]), free_port()
    environment = {**image["environment"], "OFFBEAT_ENGINE__LISTEN": f"127.0.0.1:{port}"}
    default_port = Config().listen.rpartition(":")[2]
    health = [word.replace(f":{default_port}/", f":{port}/") for word in image["healthcheck"]]
    before = everything_in(root)
    as_user: dict[str, Any] = {"env": environment, "cwd": image["directory"]}
    if os.getuid() == 0:
        user, group = map(int, image["user"].split(":"))
        as_user |= {"user": user, "group": group, "extra_groups": ()}

    def is_healthy() -> bool:
        asked = subprocess.run(health, check=False, capture_output=True, timeout=30, **as_user)
        return asked.returncode == 0

    assert not is_healthy()
    log = tmp_path / "log"
    with log.open("wb") as output:
        engine = subprocess.Popen(
            [*image["entrypoint"], *image["command"]], stdout=output, stderr=output, **as_user
        )
    try:
        until(lambda: engine.poll() is not None or is_healthy(), "it is healthy")
        engine.send_signal(signal.Signals[image["stop_signal"]])
        assert engine.wait(DEADLINE_SECONDS) == 0, log.read_text()
    finally:
        engine.kill()
        engine.wait()
    assert {path.name for path in everything_in(root) - before} == {
        *("lock", "master.key", "offbeat.db")
    }
    assert image["volumes"] == ["/data"]


def everything_in(root: Path) -> set[Path]:
    return set(root.rglob("*"))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@pytest.mark.parametrize(
    ("path", "let_in"),
    [
        ("engine/app.py", True),
        ("engine/store/sql/sqlite/queries.sql", True),
        ("requirements-build.lock", True),
        ("engine/__pycache__/app.pyc", False),
        ("tests/conftest.py", False),
        (".git/config", False),
        ("master.key", False),
    ],
)
def test_the_context_is_what_dockerignore_lets_in(path: str, let_in: bool) -> None:
    assert is_let_in(path, (ROOT / ".dockerignore").read_text()) == let_in
