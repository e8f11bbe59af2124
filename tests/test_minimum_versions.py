"""Versions with a known hole that is within reach of ours are not run, and not asked for.

Offline: each floor is written down with the advisory that it comes from. A new advisory is a new
line here; a line is raised, never removed.
"""

import re
import sqlite3
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent

AIOHTTP_MIN = (3, 14, 4)
"""PYSEC-2026-4371 (CVE-2026-111750, GHSA-pqxq-w44r-73xw): request smuggling past the pure-Python
parser, fixed in 3.14.4. The floor holds those before it, CVE-2026-22815 (trailers without end,
3.13.4) and CVE-2025-69228 and CVE-2025-69229
(memory and time without bound, 3.13.3) among them."""

SQLITE_MIN = (3, 39, 2)
"""CVE-2022-35737: an overflow by strings of billions of bytes given to the C API, fixed in 3.39.2.
The machine's own library is used, which distributions patch without a new number. Later advisories
(CVE-2025-6965: 3.50.2) need SQL of an attacker's, which nobody can send here; the reset of the WAL
(3.51.3, sqlite.org/wal.html#walresetbug) needs two connections that write, and there is one."""


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))


def test_what_runs_is_at_least_the_floor() -> None:
    assert numbers(version("aiohttp")) >= AIOHTTP_MIN
    assert sqlite3.sqlite_version_info >= SQLITE_MIN


def test_what_is_asked_for_and_what_is_locked_are_at_least_the_floor() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (asked,) = [text for text in project["dependencies"] if text.startswith("aiohttp")]
    assert numbers(asked) >= AIOHTTP_MIN
    for name in ("requirements.lock", "requirements-dev.lock"):
        locked = re.search(r"^aiohttp==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
        assert locked is not None, name
        assert numbers(locked[1]) >= AIOHTTP_MIN, name
