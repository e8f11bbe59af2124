"""Declarative schedule files: a table `schedules` from names to documents, in TOML, JSON or YAML.

    [schedules.nightly-report]
    cron = "0 2 * * *"
    timezone = "Europe/Berlin"
    target = { url = "https://example.com/report", json = { kind = "nightly" } }

A TOML date and time is an instant when it has an offset, else the local time of `timezone`. What
YAML would read one way here and another way elsewhere is refused (`core/yaml_text.py`).
"""

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from engine.core.errors import Fault, Invalid, Malformed
from engine.core.json_text import exact_float
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


def _schedules(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    content = _parse(path)
    table = content.get("schedules") if isinstance(content, dict) else None
    if not isinstance(table, dict) or len(content) > 1:
        raise Malformed("the file holds one table, schedules, from names to documents")
    for name in list(table):
        document = table.pop(name)  # Freed one by one: all at once, no other thread runs meanwhile.
        if not isinstance(document, dict):
            raise Malformed(f"{name} is not a table")
        if document.get("name", name) != name:
            raise Malformed(f"{name} calls itself {document['name']}")
        yield name, {"name": name, **_plain(document)}


def _parse(path: Path) -> Any:
    suffix = ".json" if path == STDIN else path.suffix
    if suffix not in _PARSERS:
        raise Malformed("write schedules in a file that ends in .toml, .json, .yaml or .yml")
    try:
        content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
        return _PARSERS[suffix](content.decode("utf-8"))
    except OSError as error:
        raise Malformed(str(error.strerror)) from None
    except ValueError as error:
        raise Malformed(f"not {suffix[1:].upper()}: {error}") from None


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


def _plain(value: Any) -> Any:
    """What JSON has no word for, as text."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return value.isoformat() if isinstance(value, datetime | date | time) else value


_PARSERS: dict[str, Callable[[str], Any]] = {
    ".toml": _parse_toml,
    ".json": _parse_json,
    ".yaml": parse_yaml,
    ".yml": parse_yaml,
}
SUFFIXES = frozenset(_PARSERS)
