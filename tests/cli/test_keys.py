"""An engine with keys, from the operator's file to a key that is revoked, by the command line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from engine.cli.options import Server
from tests.cli.conftest import Offbeat

ADMIN_KEY = "obk_operator_" + "0123456789abcdef" * 4


def key_file(path: Path, text: str = ADMIN_KEY, mode: int = 0o600) -> Path:
    path.write_text(text + "\n")
    path.chmod(mode)
    return path


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The directory of an engine with keys; commands find the engine, and no key."""
    # Not under tmp_path: a socket's path has 108 bytes at most.
    with TemporaryDirectory() as directory:
        address = f"unix:{directory}/engine.sock"
        admin = key_file(Path(directory) / "admin.key")
        command = [sys.executable, "-m", "engine", "run", "--listen", address]
        command += ["--data-dir", f"{directory}/data"]
        environ = {"OFFBEAT_AUTH__ADMIN_KEY_FILE": str(admin)}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if '"listening"' in line:
                    break
            monkeypatch.setenv("OFFBEAT_SERVER", address)
            yield directory
            process.terminate()
            process.communicate(timeout=30)
        assert process.returncode == 0


def test_from_the_first_key_to_a_tenants_and_to_its_end(
    offbeat: Offbeat, keyed: str, monkeypatch: pytest.MonkeyPatch
):
    admin = ("--key-file", f"{keyed}/admin.key")
    made = offbeat("tenant", "create", "acme", "--schedules-max", "1", "-o", "json", *admin)
    assert json.loads(made.out)[0]["schedules_max"] == 1
    created = offbeat("key", "create", "--tenant", "acme", "--scope", "write", *admin)
    key = created.out.strip()
    assert key.startswith("obk_")
    assert key not in created.err
    (row,) = json.loads(offbeat("key", "list", "-o", "json", *admin).out)
    assert (row["tenant"], row["scope"], row["last_used_at"]) == ("acme", "write", None)
    assert key.split("_")[2] not in json.dumps(row)

    monkeypatch.setenv("OFFBEAT_KEY", key)
    file = Path(keyed) / "two.json"
    target = {"url": "http://h.example/"}
    schedules = {name: {"every": 60, "target": target} for name in ("a", "b")}
    file.write_text(json.dumps({"schedules": schedules}))
    applied = offbeat("apply", str(file))
    assert (applied.code, "schedules_max of this tenant is 1:" in applied.err) == (2, True)
    assert "  1" in offbeat("tenant", "list", *admin).out
    refused = offbeat("tenant", "list")
    assert (refused.code, "needs a key of scope admin" in refused.err) == (1, True)
    assert refused.err.endswith(" (--key-file FILE, or OFFBEAT_KEY)\n")

    assert offbeat("key", "revoke", row["id"], *admin).code == 0
    after = offbeat("schedules")
    assert (after.code, "--key-file FILE" in after.err) == (1, True)
    assert key not in after.err


@pytest.mark.parametrize(
    "holds",
    [
        ("hunter2-hunter2-hunter2-hunter2", 0o600, "holds no key: write obk_ID_SECRET"),
        (ADMIN_KEY, 0o644, "is open to others: chmod 600"),
        ("é" + ADMIN_KEY, 0o600, "cannot be read: it is not ASCII text"),
    ],
)
def test_a_first_key_that_is_none_or_is_open_to_others_is_refused_without_showing_it(
    offbeat: Offbeat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: tuple[str, int, str]
):
    text, mode, says = holds
    file = key_file(tmp_path / "admin.key", text, mode)
    monkeypatch.setenv("OFFBEAT_AUTH__ADMIN_KEY_FILE", str(file))
    result = offbeat("run", "--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert says in result.err
    assert "hunter2" not in result.err
    assert not (tmp_path / "data").exists()


def test_without_keys_an_engine_does_not_listen_to_others(offbeat: Offbeat, tmp_path: Path):
    result = offbeat("run", "--data-dir", str(tmp_path / "data"), "--listen", "0.0.0.0:0")
    assert result.code == 2
    assert result.err == (
        "offbeat: --listen 0.0.0.0:0 is open to others: name a file with the first key in "
        "OFFBEAT_AUTH__ADMIN_KEY_FILE, or listen on 127.0.0.1 or unix:PATH\n"
    )


def test_a_key_is_never_shown_by_what_holds_it(offbeat: Offbeat, monkeypatch: pytest.MonkeyPatch):
    assert repr(Server("http://h", "obk_x")) == "Server(url='http://h')"
    monkeypatch.setenv("OFFBEAT_KEY", "hunter2")
    result = offbeat("schedules")
    assert (result.code, "hunter2" in result.err) == (2, False)
