"""Nothing depends on where it was made: hashed locks, no registry, no path of one machine."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REGISTRY = re.compile(r"py" r"pi\.org|python" r"hosted|npm" r"js\.org|index-url", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|opt/offbeat|root/\.)(?=[/\w])")


@pytest.mark.parametrize(
    "lock", sorted(ROOT.glob("requirements*.lock")), ids=lambda lock: lock.name
)
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


def test_no_file_names_a_package_registry_or_a_path_of_one_machine():
    faults = [
        f"{path.relative_to(ROOT)}: leave {found} to the user's own settings"
        for path in project_files()
        if (found := faults_of(path.read_text(errors="replace")))
    ]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize("text", ["https://py" + "pi.org/simple", "cd /work" + "/main && ls"])
def test_a_registry_and_a_path_of_one_machine_are_recognised(text):
    assert faults_of(text)


def faults_of(text: str) -> list[str]:
    return [found[0] for rule in (REGISTRY, MACHINE_PATH) for found in rule.finditer(text)]


def project_files() -> Iterator[Path]:
    """What a clone holds: no caches, no data, and not the lock that scripts/lock leaves behind."""
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != "uv.lock")
    for folder in ("engine", "tests", "scripts", "loadtest", "docs", "examples", ".ci"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path != Path(__file__):
                yield path
