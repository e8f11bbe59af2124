"""`offbeat run --demo`: deliveries within seconds, with nothing else running."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli.demo import accompany, demo_documents
from engine.config import Config
from engine.core.document import read_schedule
from engine.core.errors import ConfigError


def test_there_are_a_dozen_examples_and_all_are_valid():
    documents = demo_documents("http://127.0.0.1:8421")
    names = {read_schedule(each, tenant="default").definition.name for each in documents}
    assert len(names) == 12


def test_a_port_that_nobody_knows_is_refused():
    with pytest.raises(ConfigError, match="name one in --listen"):
        accompany(Config(listen="127.0.0.1:0"))


def test_a_newcomer_sees_a_signed_delivery(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "engine", "run", "--demo", "--listen", f"127.0.0.1:{port}"]
    command += ["--data-dir", str(tmp_path / "data")]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        first = process.stdout.readline()
        process.terminate()
        process.stdout.read()
    assert first.endswith("  attempt 1  signature valid\n")
    assert process.returncode == 0
    assert "12 created" in (tmp_path / "log").read_text()
