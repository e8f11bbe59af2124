"""A machine that systemd has started: this one, in a container, over a layer of its own.

Its files are this machine's; what is written lies in memory and goes with the container. It has no
network but its own loopback. Root alone can make one, and systemd-nspawn must be there.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Self

from tests.end_to_end.processes import DEADLINE_SECONDS, until

BOOT = """
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    [ -e $hierarchy/cgroup.procs ] || continue
    mkdir "$hierarchy/$3"
    echo $$ >"$hierarchy/$3/cgroup.procs"
done
mount -t tmpfs -o size=1g layer "$1"
mkdir "$1/above" "$1/between" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/above,workdir=$1/between" overlay "$1/root"
exec systemd-nspawn --quiet --boot --directory="$1/root" --bind-ro="$2:/mnt" --private-network \
    --register=no --keep-unit systemd.unit=basic.target
"""
"""In a control group of its own, for it leaves others there; mounts of a namespace of its own end
with it. Basic: this machine's own services stay out."""


class NoMachine(Exception):
    """There can be none here: whose container this is may not mount, or has no control groups."""


class Machine:
    """Use as a context manager, which raises `NoMachine`. `files`: what it has under /mnt."""

    def __init__(self, layer: Path, files: Path) -> None:
        self._group = f"offbeat-{os.getpid()}"
        self._command = ("unshare", "--mount", "sh", "-ec", BOOT, "sh", layer, files, self._group)

    def __enter__(self) -> Self:
        if os.geteuid() != 0:
            raise NoMachine("only root can boot a container")
        if not shutil.which("systemd-nspawn"):
            raise NoMachine("./scripts/install-systemd brings systemd-nspawn")
        self._container = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            until(lambda: self.type("systemctl is-active basic.target")[0] == 0, "it is up")
        except BaseException as error:  # Whatever it was, the container does not outlive it.
            self.__exit__()
            if isinstance(error, AssertionError):
                raise NoMachine(f"a container does not boot: {error}") from error
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._container.terminate()  # An orderly shutdown.
        try:
            self._container.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            self._container.kill()
            self._container.wait()
        left = ("/sys/fs/cgroup", "-depth", "-path", f"*/{self._group}*", "-type", "d")
        # Where it could not begin there may be no control groups at all.
        subprocess.run(["find", *left, "-exec", "rmdir", "{}", ";"], check=False)

    def type(self, script: str) -> tuple[int, str]:
        """What root's shell there makes of `script`: exit code of what fails first, and output."""
        done = subprocess.run(
            ["nsenter", "--all", f"--target={self._init()}", "sh", "-ec", script],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
            text=True,
            timeout=2 * DEADLINE_SECONDS,
        )
        return done.returncode, done.stdout

    def sees(self, script: str) -> str:
        """The output of `script`, of which nothing may fail."""
        code, seen = self.type(script)
        assert code == 0, f"{script}\n{seen}"
        return seen.strip()

    def _init(self) -> str:
        """Its first process; while it is being made, one that is no more when it is asked for."""
        assert self._container.poll() is None, "systemd-nspawn ended"
        of = self._container.pid
        return Path(f"/proc/{of}/task/{of}/children").read_text().strip()
