"""Commands and options that the documents name exist. What they do, other tests show."""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import click
import pytest

from tests.cli.test_root import ALL

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])  # docs/reference is made.
BLOCK = re.compile(r"^ *```(\S*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
TYPED = {"", "sh", "console"}
OF_THE_SHELL = set("();<>|&")
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*") if path.is_file())
SECRET_TO_FILE = re.compile(r"offbeat (?:secrets|key create)\b[^|)]*>|openssl rand.*>")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_names_commands_and_options_that_exist(page: Path) -> None:
    assert [fault for line in typed(page.read_text()) for fault in faults(line)] == []


def test_secrets_are_written_to_files_of_their_owner_alone() -> None:
    texts = [path.read_text() for path in (*PAGES, *EXAMPLES)]
    lines = [line for text in texts for line in text.splitlines() if SECRET_TO_FILE.search(line)]
    assert len(lines) >= 6
    assert [line for line in lines if "(umask 077; " not in line] == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("forecast --bin 1", []),
        ("forecast --bins 1", ["forecast has no --bins"]),
        ("schedules pause x --reason 'moving a disk'", []),
        ("schedules stop x", ["schedules has no stop"]),
        ("stop", ["offbeat has no stop"]),
    ],
)
def test_what_does_not_exist_is_found(line: str, found: list[str]) -> None:
    (words,) = typed(f"```\n(cd x; offbeat {line} | cat)  # or so\n```\n")
    assert list(faults(words)) == found


def typed(text: str) -> Iterator[list[str]]:
    """The words after `offbeat` in the blocks of a page, up to what is the shell's own."""
    blocks = (block for language, block in BLOCK.findall(text) if language in TYPED)
    for block in blocks:
        for line in re.findall(r"^.*\boffbeat .*$", block.replace("\\\n", ""), re.MULTILINE):
            lexer = shlex.shlex(line, posix=True, punctuation_chars="".join(OF_THE_SHELL))
            lexer.whitespace_split = True
            words = list(lexer)
            for place, word in enumerate(words):
                if word == "offbeat":
                    yield list(takewhile(lambda word: set(word) - OF_THE_SHELL, words[place + 1 :]))


def faults(line: list[str]) -> Iterator[str]:
    """Commands and options of a line that there are not."""
    path, *words = line
    if path not in ALL:
        yield f"offbeat has no {path}"
        return
    if words and f"{path} {words[0]}" in ALL:
        path = f"{path} {words.pop(0)}"
    elif words and isinstance(ALL[path], click.Group) and not words[0].startswith("-"):
        yield f"{path} has no {words[0]}"
        return
    known = {name for option in ALL[path].params for name in (*option.opts, *option.secondary_opts)}
    given = (word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word))
    yield from (f"{path} has no {name}" for name in given if name not in known | {"--help"})
