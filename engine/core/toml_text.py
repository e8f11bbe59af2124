"""TOML as files of schedules are written: a table for each schedule, all else inline.

A JSON string is a TOML string, but for DEL; numbers and booleans are the same (toml.io/en/v1.0.0).
TOML has no null, so a value with one in it cannot be written.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from engine.core.errors import Malformed


def write_toml(tables: Mapping[str, Mapping[str, Any]], *, under: str) -> str:
    """A table `under.NAME` for each name. Raises Malformed where TOML has no word for a value."""
    return "\n".join(
        f"[{under}.{_key(name)}]\n"
        + "".join(
            f"{_key(key)} = {_value(value, f'{name}: {key}')}\n" for key, value in table.items()
        )
        for name, table in tables.items()
    )


def _value(value: Any, place: str) -> str:
    match value:
        case None:
            raise Malformed(f"{place}: TOML has no null; write JSON or YAML (-o json, -o yaml)")
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(_value(item, place) for item in value)}]"
        case dict():
            members = (f"{_key(key)} = {_value(member, place)}" for key, member in value.items())
            return f"{{ {', '.join(members)} }}" if value else "{}"
        case _:
            return json.dumps(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name, name)


_BARE = re.compile(r"[A-Za-z0-9_-]+")
