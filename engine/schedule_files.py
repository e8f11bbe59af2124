"""Declarative schedule files: a table `schedules` from names to documents, in TOML, JSON or YAML.

    [schedules.nightly-report]
    cron = "0 2 * * *"
    timezone = "Europe/Berlin"
    target = { url = "https://example.com/report", json = { kind = "nightly" } }

A TOML date and time is an instant when it has an offset, else the local time of `timezone`. What
YAML would read one way here and another way elsewhere is refused (`core/yaml_text.py`).
"""

import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from engine.core.errors import Fault, Invalid, Malformed
from engine.core.fields import unknown_name
from engine.core.json_text import DEPTH_MAX, exact_float
from engine.core.schedule_members import SCHEDULE
from engine.core.yaml_text import parse_yaml

STDIN = Path("-")


def read_files(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The documents of all files, each with its `name`, in their order; `-` is JSON on stdin.

    Raises Invalid with every fault: files that are not what their ending says, and names that
    appear twice.
    """
    documents: dict[str, dict[str, Any]] = {}
    homes: dict[str, Path] = {}
    faults: list[Fault] = []
    for path in paths:
        try:
            for name, document in _schedules(path):
                if name in homes:
                    faults.append(Fault("", f"{path}: {name} is in {homes[name]} already"))
                homes[name], documents[name] = path, document
        except Malformed as error:
            faults.append(Fault("", f"{path}: {error}"))
    if faults:
        raise Invalid(*faults)
    return list(documents.values())


def find_places(names: Collection[str], paths: Iterable[Path]) -> dict[str, str]:
    """FILE:LINE of each schedule, where a line begins with its name; the outermost such line."""
    found: dict[str, tuple[int, str]] = {}
    for path in paths:
        if path == STDIN:
            continue
        for number, line in enumerate(_text(path).split("\n"), start=1):
            match = _HEAD.match(line)
            if match is None or (name := match["table"] or match["member"]) not in names:
                continue
            depth = len(match["indent"])
            if name not in found or depth < found[name][0]:
                found[name] = (depth, f"{path}:{number}")
    return {name: place for name, (_, place) in found.items()}


# A table of TOML; a member of JSON or YAML.
_HEAD = re.compile(
    r"""(?P<indent>[ \t]*) (?:
        \[ [ \t]* schedules [ \t]* \. [ \t]* (?P<q>["']?) (?P<table>[^"'\]]+?) (?P=q) [ \t]* [].]
      | (?P<p>["']?) (?P<member>[^"'\s:]+) (?P=p) [ \t]* :
    )""",
    re.VERBOSE,
)


def _schedules(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    table = _table(_parse(path))
    for name in list(table):
        document = table.pop(name)  # Freed one by one: all at once, no other thread runs meanwhile.
        if not isinstance(document, dict):
            raise Malformed(f"{name} is not a table")
        if document.get("name", name) != name:
            raise Malformed(f"{name} calls itself {document['name']}")
        plain = _plain(document)
        if path.suffix == ".toml" and (inner := _inner_table(plain)):
            dotted = f"{name}.{inner}"
            raise Malformed(f'a name with dots wants quotes, or is no name: [schedules."{dotted}"]')
        yield name, {"name": name, **plain}


def _inner_table(document: dict[str, Any]) -> str | None:
    """A table in a schedule's that no schedule has: to TOML, dots are steps into tables."""
    tables = (key for key, value in document.items() if isinstance(value, dict))
    return next((key for key in tables if key not in SCHEDULE.names), None)


def _table(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or not content:
        raise Malformed(f"it declares nothing; {_RULE}")
    for name in content.keys() - {"schedules"}:
        raise Malformed(f"{name}: {unknown_name(name, {'schedules'})}")
    if not isinstance(content["schedules"], dict):
        raise Malformed(f"schedules is no table; {_RULE}")
    return content["schedules"]


_RULE = "write one table, schedules, from names to documents: [schedules.NAME] in TOML"


def _parse(path: Path) -> Any:
    suffix = ".json" if path == STDIN else path.suffix
    if suffix not in _PARSERS:
        raise Malformed("write schedules in files that end in .toml, .json, .yaml or .yml")
    text = _text(path)
    try:
        return _PARSERS[suffix](text)
    except ValueError as error:
        form = "JSON, as standard input is" if path == STDIN else suffix[1:].upper()
        raise Malformed(f"not {form}: {error}") from None
    except RecursionError:
        raise Malformed(_DEEP) from None


def _text(path: Path) -> str:
    """The text of a file, without the byte order mark that some editors write."""
    try:
        content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise Malformed(str(error.strerror)) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise Malformed(f"line {line} is not UTF-8; save the file as that") from None


def _parse_toml(text: str) -> Any:
    return tomllib.loads(text, parse_float=exact_float)


def _parse_json(text: str) -> Any:
    return json.loads(
        text, object_pairs_hook=_each_once, parse_float=exact_float, parse_constant=exact_float
    )


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    # The last of two schedules of one name would silently win.
    for name, times in Counter(name for name, _ in members).items():
        if times > 1:
            raise ValueError(f"{name} appears twice in an object")
    return dict(members)


def _plain(value: Any, depth: int = 0) -> Any:
    """What JSON has no word for, as text. Raises Malformed, as the API would, for what is deep."""
    if depth > DEPTH_MAX:
        raise Malformed(_DEEP)
    if isinstance(value, dict):
        return {name: _plain(member, depth + 1) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member, depth + 1) for member in value]
    return value.isoformat() if isinstance(value, datetime | date | time) else value


_DEEP = f"nested deeper than {DEPTH_MAX} levels"
_PARSERS: dict[str, Callable[[str], Any]] = {
    ".toml": _parse_toml,
    ".json": _parse_json,
    ".yaml": parse_yaml,
    ".yml": parse_yaml,
}
SUFFIXES = frozenset(_PARSERS)
