"""SQL lives in files; here a file becomes a set of named statements.

A statement starts with a line `-- name: words_with_underscores`; what follows up to the next such
line, comments included, is the statement. The idea is yesql's, by way of procrastinate.
"""

import re
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_FOLDER = resources.files("engine.store") / "sql" / "sqlite"


@cache
def statements() -> dict[str, str]:
    """Every statement of `queries.sql` by name."""
    parts = _NAME.split((_FOLDER / "queries.sql").read_text("utf-8"))
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def migrations() -> list[tuple[int, str]]:
    """(version, script) of each file `migrations/NNNN_*.sql`, oldest first."""
    files = sorted(
        (f for f in (_FOLDER / "migrations").iterdir() if f.name.endswith(".sql")),
        key=lambda f: f.name,
    )
    return [(int(f.name[:4]), f.read_text("utf-8")) for f in files]
