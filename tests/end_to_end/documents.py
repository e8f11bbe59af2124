"""What a document asks its reader to do, and whether what came is what it shows.

A fenced block says by its language what is done with it:

* `console`: lines after `$ ` are typed (after `> `: the rest of one), the others are what is shown;
* `sh`: lines to be typed, of which nothing is shown;
* any other: a file to be saved, under the name that the line above ends with, as in "Save as `x`:".

A block that is none of these is a fault: nothing is left out in silence. Left out aloud is a
command that ends with `# needs NAME` where no such program is.

Shown and seen are compared to the letter, but for what is another at each time (`_VARIES`). Nothing
varies after a command that names an instant: there even instants must be right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`([\w./-]+)`[^`\n]*:\s*$")
_NEEDS = re.compile(r"# needs (\S+)$")
_INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z"
_VARIES = (
    (_INSTANT, "(an instant)"),
    (r"\bin \d+ (?:s|min|h)\b|\b\d+ (?:s|min|h) ago\b|\bnow\b", "(an instant from now)"),
    (r"[+-]\d+ ms", "(milliseconds)"),
    (r"age_seconds: \d+", "(seconds)"),
    (r"whsec_[\w+/=]+", "(a secret)"),
)
# Said by the shell, of its own jobs, in words that depend on how it was started.
_OF_JOBS = re.compile(r"^(\[\d+\].*|.*: line \d+: +\d+ (Killed|Terminated).*)$")


class Unrunnable(Exception):
    """A block that tells nobody what to do with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """A file that the reader is told to write."""

    line: int
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """A command that the reader is told to type; `shown` None: the document shows no output."""

    line: int
    command: str
    shown: str | None

    @property
    def needs(self) -> str | None:
        """The program without which this is left out."""
        match = _NEEDS.search(self.command)
        return match[1] if match else None

    def accepts(self, seen: str) -> bool:
        """Whether `seen` is what the document shows."""
        if self.shown is None:
            return True
        varies = not re.search(_INSTANT, self.command)
        return _plain(seen, varies) == _plain(self.shown, varies)


def steps(document: str) -> Iterator[Save | Type]:
    """Everything that a reader does, in order. Raises Unrunnable."""
    for block in _FENCE.finditer(document):
        line = document.count("\n", 0, block.start()) + 1
        language, text = block.groups()
        if language == "console":
            yield from _console(text, line)
        elif language == "sh":
            for number, command in enumerate(text.splitlines(), line + 1):
                yield Type(line=number, command=command, shown=None)
        else:
            yield _file(document[: block.start()].rstrip(), text, line)


def _console(text: str, line: int) -> Iterator[Type]:
    if not text.startswith("$ "):
        raise Unrunnable(f"line {line}: a console block begins with what is typed, after '$ '")
    for typed in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line += 1
        first, *rest = typed.splitlines()
        more = 0
        while more < len(rest) and rest[more].startswith("> "):
            more += 1
        command = "\n".join([first, *(each[2:] for each in rest[:more])])
        yield Type(line=line, command=command, shown="\n".join(rest[more:]))
        line += len(rest)


def _file(above: str, text: str, line: int) -> Save:
    match = _NAME.search(above)
    if match is None:
        raise Unrunnable(
            f"line {line}: say above the block under which name to save it, as in 'Save as `x`:'"
        )
    return Save(line=line, name=match[1], text=text)


def _plain(text: str, varies: bool) -> list[str]:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    lines = [line for line in lines if not _OF_JOBS.match(line)]
    return [_masked(line) for line in lines] if varies else lines


def _masked(line: str) -> str:
    masked = line
    for pattern, name in _VARIES:
        masked = re.sub(pattern, name, masked)
    # Columns are as wide as what they hold, and that has varied.
    return masked if masked == line else re.sub(r" {2,}", "  ", masked)
