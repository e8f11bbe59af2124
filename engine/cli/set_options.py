"""What `apply` and `diff` are told: the files, the set that they are, and whether it is pruned."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from engine.cli.client import Client
from engine.cli.output import talk
from engine.core.labels import VALUE_RULE, is_value
from engine.core.schedule_set import SET_LABEL, keep_marks, mark, strays
from engine.schedule_files import read_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The schedules of files, marked if they are a set."""

    files: Sequence[Path]
    documents: list[dict[str, Any]]
    set_name: str | None
    prune: bool

    def against(self, client: Client) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """What is to be put, and what the set has and the files do not: to be deleted.

        Raises as `schedule_set.strays` and `keep_marks`.
        """
        if self.set_name is None:
            return in_their_sets(client, self.documents), []
        marked = _marked(client)
        names = {document["name"] for document in self.documents}
        left = strays(names, _sets(marked).items(), self.set_name)
        return self.documents, [marked[name] for name in left] if self.prune else []


def in_their_sets(client: Client, documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Schedules that are put without a set: those of one stay in it, which is said."""
    sets = _sets(_marked(client))
    whole, kept = keep_marks(documents, sets)
    for its_set in sorted({sets[name] for name in kept}):
        names = [name for name in kept if sets[name] == its_set]
        them = f"{names[0]} is" if len(names) == 1 else f"{len(names):,} schedules are"
        talk(f"{them} of the set {its_set}, which stays so: the set's own files may put it back")
    return whole


def _marked(client: Client) -> dict[str, dict[str, Any]]:
    rows = client.rows("/v1/schedules", selector=SET_LABEL)
    return {row["name"]: row for row in rows}


def _sets(marked: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {name: row["labels"][SET_LABEL] for name, row in marked.items()}


def declared(function: Callable[..., int]) -> Callable[..., int]:
    """The argument FILE... and the options `--set` and `--prune`, given as a `Declared`."""

    @wraps(function)
    def read(*, files: Sequence[Path], set_name: str | None, prune: bool, **others: Any) -> int:
        if prune and set_name is None:
            raise click.UsageError(
                "--prune deletes within a set alone: name it with --set, the first time without"
                " --prune"
            )
        documents = read_files(files)
        if set_name is not None:
            documents = [mark(document, set_name) for document in documents]
        return function(
            declared=Declared(files=files, documents=documents, set_name=set_name, prune=prune),
            **others,
        )

    return _files(_set(_prune(read)))


def _set_name(text: str) -> str:
    if not text or not is_value(text):
        raise click.BadParameter(VALUE_RULE)
    return text


_files = click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
_set = click.option(
    "--set",
    "set_name",
    type=_set_name,
    metavar="NAME",
    help=f"What the files are together: a label ({SET_LABEL}) on each of their schedules.",
)
_prune = click.option(
    "--prune", is_flag=True, help="Delete schedules of the set that the files do not have any more."
)
