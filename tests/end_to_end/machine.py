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


class Machine:
    """Use as a context manager. `files`: what it has under /mnt."""

    @staticmethod
    def lacks() -> str | None:
        """Why there can be none here."""
        if os.geteuid() != 0:
            return "only root can boot a container"
        return None if shutil.which("systemd-nspawn") else "./scripts/install-systemd brings it"

    def __init__(self, layer: Path, files: Path) -> None:
        self._group = f"offbeat-{os.getpid()}"
        self._command = ("unshare", "--mount", "sh", "-ec", BOOT, "sh", layer, files, self._group)

    def __enter__(self) -> Self:
        self._container = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            until(lambda: self.type("systemctl is-active basic.target")[0] == 0, "it is up")
        except BaseException:  # Whatever it was, the container does not outlive it.
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._container.terminate()  # An orderly shutdown.
        self._container.wait(DEADLINE_SECONDS)
        left = ("/sys/fs/cgroup", "-depth", "-path", f"*/{self._group}*", "-type", "d")
        subprocess.run(["find", *left, "-exec", "rmdir", "{}", ";"], check=True)

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
