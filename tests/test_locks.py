"""The lock files: whole, hashed, and silent about where packages come from."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("lock", sorted(ROOT.glob("*.lock")), ids=lambda lock: lock.name)
def test_a_lock_pins_every_package_by_version_and_hash_and_names_no_place(lock):
    requirements = re.sub(r"\\\n", "", lock.read_text()).splitlines()
    pins = [line for line in requirements if not line.lstrip().startswith("#")]
    assert pins
    assert [pin for pin in pins if not re.match(r"[\w.-]+==\S+ .*--hash=sha256:", pin)] == []
    assert "://" not in lock.read_text()


def test_the_locks_hold_every_dependency_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {
        "requirements.lock": project["project"]["dependencies"],
        "requirements-build.lock": project["build-system"]["requires"],
        "requirements-dev.lock": project["dependency-groups"]["dev"],
    }
    for lock, requirements in wanted.items():
        pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / lock).read_text(), re.MULTILINE))
        assert {re.split(r"[<>=~\[]", text)[0] for text in requirements} - pinned == set(), lock
