"""Names for imported jobs: the same for the same job, wherever its line stands.

A job is who runs what: never its times and never its line number. So a second import changes
nothing, an edited time updates the schedule it had, and moving lines about does nothing at all.
Jobs that do the same thing at several times are told apart by their times, in an order of the
times' own (not the file's).
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256

# A name is at most 128 characters; this leaves room for digest and number.
WORDS_LENGTH_MAX = 64
DIGEST_LENGTH = 8


def name_jobs(jobs: Sequence[tuple[tuple[str, ...], str]]) -> list[str]:
    """A name for each (identity, order) pair, in their order.

    `identity`: what is done, its last text readable; `order`: what tells equal identities apart.
    """
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, (identity, _) in enumerate(jobs):
        groups[identity].append(index)
    names = [""] * len(jobs)
    for identity, members in groups.items():
        name = _name(identity)
        for number, index in enumerate(sorted(members, key=lambda i: jobs[i][1]), start=1):
            names[index] = name if number == 1 else f"{name}-{number}"
    return names


def _name(identity: tuple[str, ...]) -> str:
    digest = sha256("\0".join(identity).encode()).hexdigest()[:DIGEST_LENGTH]
    return f"{_words(identity[-1])}-{digest}"


def _words(text: str) -> str:
    """Two telling words of a command, or host and path of a URL, as the grammar of names allows."""
    if match := _URL.match(text):
        telling = [match["place"]]
    else:
        bare = (word.rpartition("/")[2] for word in _BETWEEN.split(text) if word[:1] != "-")
        named = (word for word in bare if re.search("[A-Za-z]", word) and word not in _COMMON)
        telling = list(dict.fromkeys(named))[:2]
    words = re.sub(r"[^A-Za-z0-9._]+", "-", "-".join(telling))[:WORDS_LENGTH_MAX].strip("-._")
    # The prefix `sch_` is for ids.
    return "job" if not words or words.startswith("sch_") else words


_URL = re.compile(r"https?://(?P<place>[^?#]+)")
_BETWEEN = re.compile(r"""[\s|&;<>(){}$="'`]+""")
# What stands around programs in crontabs and tells none from another.
_COMMON = {
    "bash",
    "cd",
    "command",
    "elif",
    "else",
    "env",
    "exec",
    "fi",
    "if",
    "nice",
    "null",
    "root",
} | {"sh", "system", "test", "then"}
