"""What becomes of another scheduler's file: schedules, refusals and notes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.core.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One schedule: the document that a PUT accepts, with its name, and the line it came from."""

    line: int
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A sentence about lines of the file; no lines: about the whole file."""

    lines: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What became of a file: schedules and refusals cover every job, notes what changed."""

    schedules: tuple[Imported, ...]
    refused: tuple[Remark, ...]
    notes: tuple[Remark, ...]


def reason_of(error: Exception) -> str:
    """Why something is refused; what a schedule may not hold after the member's own name."""
    if not isinstance(error, Invalid):
        return str(error)
    named = (f"{fault.pointer.rpartition('/')[2]}: {fault.detail}" for fault in error.faults)
    return "; ".join(each.removeprefix(": ") for each in named)


def merge(remarks: Iterable[tuple[int, str]]) -> tuple[Remark, ...]:
    """One remark per text, in the order of their first lines."""
    lines: dict[str, list[int]] = {}
    for line, text in remarks:
        at = lines.setdefault(text, [])
        if line not in at:
            at.append(line)
    return tuple(Remark(lines=tuple(at), text=text) for text, at in lines.items())
