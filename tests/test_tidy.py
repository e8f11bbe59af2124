"""Style is a test: what a linter cannot know about this project, checked with `ast`.

Each rule is a function from a source file to its faults, and each fault says what to write instead.
The rules are tried on bad snippets first, so that they can fail; then on the whole tree.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import pytest

from tests.python_source import ROOT, Source, docstrings, dotted, origins_of, python_files

FUNCTION_LINES_MAX = 70
MODULE_LINES_MAX = 400

# Who may import whom: dependencies point one way (docs/ARCHITECTURE.md).
LAYERS = {
    "core": {"core"},
    "clock": set(),
    "listening": set(),
    "settings": {"listening", "core"},
    "config": {"settings", "core"},
    "about": {"config", "settings"},
    "imports": {"imports", "core"},
    "schedule_files": {"core"},
    "daemon_calls": set(),
    "schedule_directory": {"schedule_files", "daemon_calls", "core"},
    "secret_file": {"core"},
    "store": {"store", "core", "clock", "secret_file"},
    "services": {"services", "store", "core", "clock", "config"},
    "web": {"web", "services", "store", "core", "clock", "config", "listening", "about"},
    "loops": {"core"},
    "supervisor": set(),
    # The HTTP interface is a part like others: `Engine.web_app()` and a process serve the same.
    "app": {"web", "services", "store", "core", "clock", "config", "listening", "secret_file"}
    | {"loops", "about"},
    "process": {"app", "web", "services", "config", "schedule_directory", "supervisor"},
    "cli": {"cli", "imports", "process", "web", "services", "store", "core", "clock", "config"}
    | {"settings", "listening", "schedule_files", "secret_file"},
    "testing": {"services", "core", "clock"},
    "receiver": {"core"},
    "__main__": {"cli"},
    "__init__": {"app", "config", "core"},
}

# These run where no Clock of ours is: the one that reads the calendar, and a receiver's program.
OWN_TIME = {"clock", "receiver"}

# Concrete classes meet in engine/app.py; these layers know protocols and values alone.
ABSTRACT_LAYERS = {"services", "web", "testing"}
CONCRETE = re.compile(r"engine\.store\.[a-z]|engine\.services\.transport\.Aiohttp")

# Where a package may be imported; elsewhere, go through the protocol that hides it.
PLACES = {
    "aiohttp": (
        "engine/app.py",
        "engine/services/connector.py",
        "engine/services/transport.py",
        "engine/web/",
        "engine/cli/",
    ),
    "aiosqlite": ("engine/store/",),
    "cryptography": ("engine/services/credentials.py",),
    "sqlite3": ("engine/store/", "engine/app.py"),
    "uvloop": ("engine/process.py",),
    "yaml": ("engine/core/yaml_text.py",),
    "click": ("engine/cli/",),
    "rich": ("engine/cli/",),
}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIREMENTS = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["encryption"]]
IMPORTED_AS = {"pyyaml": "yaml"}
REQUIRED = [re.split(r"[<>=]", text)[0].replace("-", "_") for text in REQUIREMENTS]
DEPENDENCIES = {IMPORTED_AS.get(name, name) for name in REQUIRED}
CORE_PACKAGES = {"croniter", "idna", "yaml"}
IMPURE = (
    {"asyncio", "logging", "random", "secrets", "time", "threading", "multiprocessing"}
    | {"os", "pathlib", "shutil", "tempfile", "sqlite3", "subprocess", "signal"}
    | {"selectors", "socket", "ssl"}
)

THE_CLOCK = "the injected Clock (engine/clock.py); in the core, a now_ms argument"
BANNED_IN_ENGINE = {
    "time.time": THE_CLOCK,
    "time.time_ns": THE_CLOCK,
    "time.monotonic": THE_CLOCK,
    "time.monotonic_ns": THE_CLOCK,
    "time.perf_counter": THE_CLOCK,
    "time.perf_counter_ns": THE_CLOCK,
    "datetime.datetime.now": THE_CLOCK,
    "datetime.datetime.utcnow": THE_CLOCK,
    "datetime.datetime.today": THE_CLOCK,
    "datetime.date.today": THE_CLOCK,
    "hash": "hashlib.sha256, as engine/core/identity.py: hash() differs between processes",
    "print": "structlog; for a command's output, engine/cli/output.py",
}
BANNED_IN_TESTS = {
    "asyncio.sleep": "await clock.run_for(ms) in virtual time, or await what you wait for",
    "time.sleep": "await what you wait for, or move a VirtualClock",
}
BANNED_MODULES = {
    ("engine/", "random"): "identity.unit_u53: what is seeded by identity can be computed again",
    ("engine/", "logging"): "structlog.get_logger()",
    ("tests/", "unittest.mock"): "a fake of engine/testing.py, or the real thing",
}

SQL = re.compile(
    r"\b(select\s.+?\sfrom|insert\s+(or\s+\w+\s+)?into|update\s+\w+\s+set|delete\s+from|"
    r"(create|drop|alter)\s+(unique\s+|temp\s+)?(table|index|view|trigger))\b",
    re.IGNORECASE | re.DOTALL,
)
SQL_CONTROL = re.compile(r"\s*(PRAGMA|BEGIN IMMEDIATE|COMMIT|ROLLBACK|SAVEPOINT|VACUUM|ATTACH)\b")

VAGUE = re.compile(r"(^|_)(utils?|common|helpers?|base|managers?|misc)($|_)")
VAGUE_CLASS = re.compile(r"(Utils?|Helpers?|Manager|Base)$|^Base[A-Z]")
SUPPRESSION = re.compile(
    r"#\s*(type:\s*ignore|noqa|nosec)(?P<codes>\[[\w,-]+\]|:?\s*[A-Z]+\d+(,\s*\w+)*)?"
)


Faults = Iterator[tuple[int, str]]
Rule = Callable[[Source], Faults]


def layers(source: Source) -> Faults:
    if source.layer is None:
        return
    if source.layer not in LAYERS:
        yield 1, f"give {source.layer} a place in LAYERS, or a home in a layer that has one"
        return
    for line, name in source.imports():
        if name.startswith("."):
            yield line, "write the import in full: from engine.core.model import Run"
        if not is_within(name, "engine"):
            continue
        if source.path == "engine/core/identity.py":
            yield line, "identity is copied by receivers: the standard library only"
        if source.layer == "receiver" and not is_within(name, "engine.core.identity"):
            yield line, "receivers copy this beside engine/core/identity.py, and nothing else"
        layer = name.split(".")[1]
        if layer in LAYERS and layer not in LAYERS[source.layer]:
            yield line, f"{source.layer} may not import {layer}: declare a Protocol here instead"
        if source.layer in ABSTRACT_LAYERS and CONCRETE.match(name):
            yield line, f"{name} is for engine/app.py alone: take its Protocol as an argument"


def packages(source: Source) -> Faults:
    if source.layer is None:
        return
    for line, name in source.imports():
        top = name.split(".")[0]
        if top in PLACES and not source.path.startswith(PLACES[top]):
            yield line, f"{top} belongs in {', '.join(PLACES[top])}: go through its protocol"
        if top not in sys.stdlib_module_names | DEPENDENCIES | {"engine"}:
            yield line, f"name {top} among the dependencies in pyproject.toml"
        if source.layer == "core" and not is_pure(top):
            yield line, f"the core is pure: take what {top} gives as an argument"


def banned(source: Source) -> Faults:
    for line, name in source.imports():
        for (place, module), instead in BANNED_MODULES.items():
            if source.path.startswith(place) and is_within(name, module):
                yield line, f"instead of {module}: {instead}"
    calls = BANNED_IN_TESTS if PurePosixPath(source.path).name.startswith("test_") else {}
    if source.layer and source.layer not in OWN_TIME:
        calls = BANNED_IN_ENGINE
    origins = dict(origins_of(source.tree))
    turns = {call.func for call in ast.walk(source.tree) if gives_a_turn(call)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name | ast.Attribute) and node not in turns:
            name = dotted(node, origins)
            if name in calls:
                yield node.lineno, f"instead of {name}: {calls[name]}"


def reasons(source: Source) -> Faults:
    """Whoever silences a checker, or catches everything, says why there or just above."""
    for line, comment in source.comments.items():
        found = SUPPRESSION.search(comment)
        if found is None:
            continue
        rest = comment[: found.start()] + comment[found.end() :]
        above = any(near in source.comments for near in range(line - 3, line))
        if not found["codes"] or not (re.search(r"\w{2}", rest) or above):
            yield line, f"{found[1]} needs the code and the reason, there or just above"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and catches_everything(node):
            head = range(node.lineno, (node.body[0].end_lineno or 0) + 1)
            if source.comments.keys().isdisjoint(head):
                yield node.lineno, "name the exceptions, or say in a comment why all are caught"


def sql(source: Source) -> Faults:
    if source.layer is None:
        return
    prose = set(docstrings(source.tree))
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node in prose:
            continue
        if SQL.search(node.value):
            yield node.lineno, "put the statement, named, into engine/store/sql/sqlite/queries.sql"
        elif SQL_CONTROL.match(node.value) and source.layer != "store":
            yield node.lineno, "connections and transactions belong to engine/store/"


def names(source: Source) -> Faults:
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if VAGUE.search(part):
            yield 1, f"{part} says nothing: name what is in it"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and VAGUE_CLASS.search(node.name):
            yield (
                node.lineno,
                f"{node.name} says nothing: name what it does; a Protocol has no Base",
            )


def lengths(source: Source) -> Faults:
    lines = source.text.count("\n")
    if lines > MODULE_LINES_MAX:
        yield 1, f"{lines} lines, at most {MODULE_LINES_MAX}: this file wants to be two"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield node.lineno, f"{node.name}: {length} lines, at most {FUNCTION_LINES_MAX}"


def openings(source: Source) -> Faults:
    if source.tree.body and ast.get_docstring(source.tree) is None:
        yield 1, "open the module with a docstring that says what it is for"


RULES: tuple[Rule, ...] = (layers, packages, banned, reasons, sql, names, lengths, openings)

BAD = [
    (layers, "engine/core/x.py", "import engine.store.writer", "core may not import store"),
    (layers, "engine/services/x.py", "from engine.web import api", "declare a Protocol"),
    (layers, "engine/web/x.py", "from engine import testing", "web may not import testing"),
    (layers, "engine/store/x.py", "from . import writer", "write the import in full"),
    (layers, "engine/web/x.py", "from engine.store.writer import Writer", "for engine/app.py"),
    (layers, "engine/core/identity.py", "from engine.core import model", "standard library only"),
    (layers, "engine/receiver.py", "from engine.core.model import Run", "and nothing else"),
    (layers, "engine/thing.py", "", "give thing a place"),
    (packages, "engine/services/x.py", "import aiohttp.web", "aiohttp belongs in"),
    (packages, "engine/app.py", "def f():\n    from aiosqlite import connect", "engine/store/"),
    (packages, "engine/web/x.py", "import multidict", "name multidict among the dependencies"),
    (packages, "engine/core/x.py", "import asyncio", "the core is pure"),
    (packages, "engine/core/x.py", "import structlog", "the core is pure"),
    (banned, "engine/app.py", "import time\ntime.time()", "the injected Clock"),
    (banned, "engine/app.py", "import time as t\nf = t.monotonic", "the injected Clock"),
    (banned, "engine/app.py", "from time import time_ns as n\nn()", "the injected Clock"),
    (banned, "engine/app.py", "import datetime\ndatetime.datetime.now()", "the injected Clock"),
    (banned, "engine/app.py", "from datetime import datetime\ndatetime.now()", "the injected"),
    (banned, "engine/app.py", "hash('a')", "hashlib.sha256"),
    (banned, "engine/web/x.py", "print('a')", "structlog"),
    (banned, "engine/app.py", "import logging", "structlog.get_logger()"),
    (banned, "engine/app.py", "from random import random", "identity.unit_u53"),
    (banned, "tests/test_x.py", "import asyncio\nasyncio.sleep(0.1)", "clock.run_for"),
    (banned, "tests/x.py", "from unittest import mock", "a fake of engine/testing.py"),
    (reasons, "engine/app.py", "x = 1  # type: ignore", "needs the code and the reason"),
    (reasons, "engine/app.py", "x = 1  # type: ignore[misc]", "needs the code and the reason"),
    (reasons, "tests/x.py", "x = 1  # noqa", "needs the code and the reason"),
    (reasons, "engine/app.py", "x = 1  # nosec", "needs the code and the reason"),
    (reasons, "engine/app.py", "try: f()\nexcept Exception: pass", "name the exceptions"),
    (reasons, "engine/app.py", "try: f()\nexcept: pass", "name the exceptions"),
    (sql, "engine/store/x.py", "q = 'SELECT id FROM t'", "queries.sql"),
    (sql, "engine/store/x.py", "q = f'''\n  update t set a = {1}'''", "queries.sql"),
    (sql, "engine/web/x.py", "q = 'PRAGMA user_version'", "belong to engine/store/"),
    (names, "engine/web/http_utils.py", "", "http_utils says nothing"),
    (names, "engine/web/x.py", "class RunManager: ...", "RunManager says nothing"),
    (lengths, "engine/app.py", "x = 1\n" * 401, "401 lines, at most 400"),
    (lengths, "tests/x.py", "def f():\n" + "    x = 1\n" * 70, "f: 71 lines, at most 70"),
    (openings, "scripts/x.py", "x = 1\n", "docstring"),
]

GOOD = [
    (layers, "engine/app.py", "from engine.store.writer import Writer"),
    (layers, "engine/services/x.py", "from engine.store import Journal"),
    (layers, "tests/x.py", "from engine.testing import run_virtual"),
    (packages, "engine/core/x.py", "import zoneinfo\nfrom croniter import croniter"),
    (banned, "engine/clock.py", "import time\ntime.time_ns()"),
    (banned, "tests/test_x.py", "import asyncio\nasyncio.sleep(0)"),
    (banned, "engine/app.py", "clock.now()\nloop.time()\nself.hash(1)"),
    (reasons, "engine/app.py", "x = 1  # type: ignore[misc]  # The stub is wrong."),
    (reasons, "engine/app.py", "# Loaded late: slow.\nimport rich  # noqa: PLC0415"),
    (reasons, "engine/app.py", "try: f()\nexcept Exception:  # It is a caller's.\n    pass"),
    (sql, "engine/store/x.py", '"""Select what is from update sets."""\n"PRAGMA user_version"'),
    (names, "engine/web/baseline.py", "class Database: ..."),
    (lengths, "engine/app.py", "x = 1\n" * 400),
]


@pytest.mark.parametrize(("rule", "path", "text", "says"), BAD)
def test_a_rule_sees_what_it_forbids_and_says_what_to_do(rule, path, text, says):
    assert says in "; ".join(message for _, message in rule(Source(path=path, text=text)))


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_a_rule_leaves_good_code_alone(rule, path, text):
    assert list(rule(Source(path=path, text=text))) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_the_rule(rule):
    faults = [
        f"{source.path}:{line}: {message}"
        for source in python_files()
        for line, message in rule(source)
    ]
    assert not faults, "\n" + "\n".join(faults)


def is_within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def is_pure(top: str) -> bool:
    known = sys.stdlib_module_names | CORE_PACKAGES | {"engine"}
    return top in known and top not in IMPURE


def gives_a_turn(node: ast.AST) -> bool:
    """`asyncio.sleep(0)` lets others run and takes no time."""
    return isinstance(node, ast.Call) and ast.unparse(node) == "asyncio.sleep(0)"


def catches_everything(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or getattr(kind, "id", None) in {"Exception", "BaseException"}
        for kind in caught
    )
