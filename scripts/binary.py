"""Make `offbeat` as one file: `python scripts/binary.py DIR`. scripts/build_binary sets it up.

The file is an archive of the interpreter, the modules that the program can reach and their data. It
unpacks itself into a folder under $TMPDIR (else /tmp), runs there as a child of its own, passes
signals on to it and removes the folder when it ends. So that folder's file system must not be
mounted `noexec`, and a `kill -9` leaves it behind.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from PyInstaller.__main__ import run

ROOT = Path(__file__).parent.parent

UNUSED = (
    # Tracebacks in colour, Markdown, a debugger: rich's, structlog's and the standard library's.
    *("curses", "markdown_it", "pdb", "pydoc", "pygments", "readline"),
    # Archives, other processes, tests, browsers and XML, of which the standard library knows.
    *("bz2", "concurrent.futures.process", "ftplib", "lzma", "multiprocessing", "tarfile"),
    *("unittest", "uvloop._testbase", "webbrowser", "xml", "xmlrpc"),
    # Code pages of East Asia: all text here is UTF-8.
    *("_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp", "_codecs_kr", "_codecs_tw"),
    "_multibytecodec",
    # What is there in C, again in Python; and in C++, whose library is as large as SQLite.
    *("_pydecimal", "multidict._multidict_py", "frozenlist._frozenlist"),
)
"""Reachable, and never used."""


def build(directory: Path) -> Path:
    """Make `directory / "offbeat"`; what is made on the way lies elsewhere, and goes."""
    sys.path.insert(0, str(ROOT))  # Submodules and data are looked for where Python looks.
    with tempfile.TemporaryDirectory() as place:
        run(
            [
                *("--onefile", "--strip", "--log-level=ERROR", "--name=offbeat"),
                *(f"--distpath={directory}", f"--workpath={place}", f"--specpath={place}"),
                f"--runtime-hook={ROOT / 'scripts' / 'binary_start.py'}",
                # Commands are imported by name: nothing else leads to them.
                "--collect-submodules=engine",
                *("--collect-data=engine", "--collect-data=tzdata"),
                *(f"--exclude-module={name}" for name in (*UNUSED, *developers_modules())),
                str(ROOT / "engine" / "__main__.py"),
            ]
        )
    return directory / "offbeat"


def developers_modules() -> Iterator[str]:
    """What is installed here for tests and tools, and not among what an engine is locked to."""
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    wanted = {plain(name) for name in (*locked, "offbeat")}
    for module, packages in packages_distributions().items():
        if wanted.isdisjoint(map(plain, packages)):
            yield module


def plain(name: str) -> str:
    """A distribution's name as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).resolve()))
