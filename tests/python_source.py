"""The Python files of this repository, parsed, for the tests that read code."""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
PYTHON = b"#!/usr/bin/env python3\n"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A Python file; `path` is relative to the repository's root."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def comments(self) -> dict[int, str]:
        """Comments by line."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}

    @property
    def layer(self) -> str | None:
        """The part of the engine that the file belongs to, or None outside it."""
        parts = PurePosixPath(self.path).with_suffix("").parts
        return parts[1] if parts[0] == "engine" else None

    def imports(self) -> Iterator[tuple[int, str]]:
        """Each imported name in full, with its line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                dots = "." * node.level
                yield from (
                    (node.lineno, f"{dots}{node.module or ''}.{alias.name}") for alias in node.names
                )


@cache
def python_files() -> list[Source]:
    return [
        Source(path=path.relative_to(ROOT).as_posix(), text=path.read_text())
        for folder in ("engine", "tests", "scripts", "loadtest")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix == ".py" or (path.is_file() and path.read_bytes().startswith(PYTHON))
    ]


def origins_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What each imported name stands for: `n` for `from time import time_ns as n`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def dotted(node: ast.expr, origins: dict[str, str]) -> str:
    """`time.time` for any spelling of it; "" for what is not a plain name."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value, origins)
        return f"{owner}.{node.attr}" if owner else ""
    if isinstance(node, ast.Name):
        return origins.get(node.id, node.id)
    return ""


def docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            yield body[0].value
