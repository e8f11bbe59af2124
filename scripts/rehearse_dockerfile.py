"""Run the Dockerfile's steps without Docker: `python scripts/rehearse_dockerfile.py DIR`.

Each stage's file system is a folder of DIR, and absolute paths in instructions mean that folder.
The machine's own programs do the work. What is left out is what would change the machine or needs
the base image: `apt-get`. So this shows that the instructions that are ours succeed, with the files
that `.dockerignore` lets in, that packages match their hashes, and what the result needs to run; it
does not show that the base image holds what the machine has, nor anything that Docker itself does.

Prints one document of JSON: what a container would be started with, and the commands left out.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent

LEFT_OUT = ("apt-get",)

ABSOLUTE = re.compile(r"(?<![^\s=:'\"])/(?=\w)")
"""Where a path begins that is absolute; the slash of `http://` and of `./` is none."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where Debian's images look for programs."""

STEP_SECONDS = 600


@dataclass(slots=True, kw_only=True)
class Stage:
    """What the instructions so far have made. `root` stands for / while the stage is built."""

    root: Path
    directory: Path
    name: str = ""
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": SYSTEM_PATH})
    user: str = "0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)
    stop_signal: str = ""
    volumes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def place(self, path: str) -> Path:
        """Where a path of the image is on this machine."""
        return self.root / path[1:] if path.startswith("/") else self.directory / path

    def here(self, text: str) -> str:
        """A text with its absolute paths moved into `root`."""
        return ABSOLUTE.sub(f"{self.root}/", text)


def rehearse(dockerfile: Path, scratch: Path) -> Stage:
    """The last stage, built in `scratch / "root"`; earlier ones lie beside it."""
    stages: dict[str, Path] = {}
    stage = None
    for word, rest in instructions(dockerfile.read_text()):
        if word == "FROM":
            if stage is not None:
                stages[stage.name] = stage.root.rename(scratch / f"stage-{stage.name}")
            stage = _begin(rest, scratch / "root")
        else:
            assert stage is not None, "FROM comes first"
            _STEPS[word](stage, rest, stages)
    assert stage is not None
    return stage


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """(INSTRUCTION, rest) with comments left out and continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


def is_let_in(path: str, rules: str) -> bool:
    """Whether `.dockerignore` lets a file of the context in: the last rule that matches decides."""
    parents = [path, *(str(parent) for parent in Path(path).parents)]
    let_in = True
    for rule in rules.split():
        pattern = rule.removeprefix("!").removeprefix("**/")
        deep = "**/" in rule
        if any(fnmatch(Path(p).name if deep else p, pattern) for p in parents if p != "."):
            let_in = rule.startswith("!")
    return let_in


def _begin(rest: str, root: Path) -> Stage:
    root.mkdir()
    root.chmod(0o755)
    image, _, name = rest.partition(" AS ")
    assert ":" in image, f"{image} has no tag"
    return Stage(root=root, directory=root, name=name)


def _run(stage: Stage, rest: str, _: dict[str, Path]) -> None:
    for command in rest.split("&&"):
        if command.split()[0] in LEFT_OUT:
            stage.left_out.append(" ".join(command.split()))
            continue
        subprocess.run(
            ["sh", "-ec", stage.here(command)],
            check=True,
            cwd=stage.directory,
            env={**os.environ, **stage.environment},
            stdout=sys.stderr,
            timeout=STEP_SECONDS,
        )


def _copy(stage: Stage, rest: str, stages: dict[str, Path]) -> None:
    *sources, target = rest.split()
    place = stage.place(target)
    if sources[0].startswith("--from="):
        origin = stages[sources.pop(0).removeprefix("--from=")]
        for source in sources:
            shutil.copytree(origin / source.lstrip("/"), place, symlinks=True)
        return
    rules = (ROOT / ".dockerignore").read_text()
    for source in sources:
        for file in _files(ROOT / source):
            path = file.relative_to(ROOT)
            if is_let_in(str(path), rules):
                inner = file.relative_to(ROOT / source) if (ROOT / source).is_dir() else path
                (place / inner).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place / inner)


def _files(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from (path for path in place.rglob("*") if path.is_file())
    else:
        yield place


def _work_in(stage: Stage, rest: str, _: dict[str, Path]) -> None:
    stage.directory = stage.place(rest)
    stage.directory.mkdir(parents=True, exist_ok=True)


def _set(stage: Stage, rest: str, _: dict[str, Path]) -> None:
    for name, value in (item.split("=", 1) for item in rest.split()):
        before = stage.environment.get(name, "")
        stage.environment[name] = stage.here(value).replace(f"${name}", before)


def _check_health(stage: Stage, rest: str, _: dict[str, Path]) -> None:
    stage.healthcheck = json.loads(rest.partition("CMD ")[2])


def _keep(name: str, read: Callable[[str], object]) -> Callable[..., None]:
    return lambda stage, rest, _: setattr(stage, name, read(rest))


_STEPS: dict[str, Callable[[Stage, str, dict[str, Path]], None]] = {
    "RUN": _run,
    "COPY": _copy,
    "WORKDIR": _work_in,
    "ENV": _set,
    "HEALTHCHECK": _check_health,
    "USER": _keep("user", str),
    "VOLUME": _keep("volumes", str.split),
    "STOPSIGNAL": _keep("stop_signal", str),
    "ENTRYPOINT": _keep("entrypoint", json.loads),
    "CMD": _keep("command", json.loads),
}


if __name__ == "__main__":
    last = rehearse(ROOT / "Dockerfile", Path(sys.argv[1]).resolve())
    print(json.dumps(asdict(last), default=str, indent=2))
