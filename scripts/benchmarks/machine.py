"""Where the figures were taken: processor, versions, and what the disk takes for an fsync."""

import os
import platform
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from benchmarks.findings import percentile, seconds

SYNCS = 200
PAGE_BYTES = 4_096


def facts(directory: Path) -> Iterator[str]:
    """Lines about the machine and about the file system that holds `directory`."""
    load = " ".join(f"{average:.2f}" for average in os.getloadavg())
    yield f"{_processor()}, {os.cpu_count()} cores, load {load}"
    yield f"{platform.system()} {platform.release()}, Python {platform.python_version()}, " + (
        f"SQLite {sqlite3.sqlite_version}, uvloop {version('uvloop')}, aiohttp {version('aiohttp')}"
    )
    syncs = fsync_ms(directory)
    yield (
        f"data on {_file_system(directory)}; a page appended and fsynced takes "
        f"{percentile(syncs, 50):.2f} ms at the median, {percentile(syncs, 99):.2f} ms at p99"
    )


def fsync_ms(directory: Path) -> list[float]:
    """Milliseconds of an appended page and its fsync, again and again."""
    with tempfile.TemporaryFile(dir=directory) as file:

        def append() -> None:
            os.write(file.fileno(), bytes(PAGE_BYTES))
            os.fsync(file.fileno())

        return [seconds(append) * 1_000 for _ in range(SYNCS)]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _file_system(directory: Path) -> str:
    """Its type and device, as df(1) says."""
    asked = ["df", "--output=fstype,source", str(directory)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True)
    return " on ".join(answer.stdout.splitlines()[-1].split())
