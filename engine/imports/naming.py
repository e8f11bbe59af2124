"""Names for imported jobs: the same for the same job, wherever its line stands.

A job is who runs what: never its times and never its line number. So a second import changes
nothing, an edited time updates the schedule it had, and moving lines about does nothing at all.

Jobs that do the same thing at several times have one name to share, and nothing in the file says
whose it is. No rule on the file alone can be right: where an only line keeps its name when its time
changes, its name says nothing of its time; then of two lines one is named otherwise than it would
be alone, and adding or removing the other renames it. What tells them apart is what they were
called before. So names of an earlier import stay, first by equal times and bodies, then by equal
times; what is left of lines and of names is a change of time, paired in the order of times. Only a
line that is left then is new. Where nothing tells lines apart, names go in the order in which they
were made, which is that of the lines.

Without an earlier import, as in a file that is only shown, the first by its time has the plain
name and the others the digest of theirs: reordering moves nothing, and a new line can move the
plain name alone, when its time comes before all others.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from hashlib import sha256

# A name is at most 128 characters; this leaves room for two digests.
WORDS_LENGTH_MAX = 64
DIGEST_LENGTH = 8


Mark = tuple[str, str]
"""What tells jobs of equal identity apart: when they run, and what they send."""


def name_jobs(
    jobs: Sequence[tuple[tuple[str, ...], Mark]], earlier: Mapping[str, Mark]
) -> list[str]:
    """A name for each (identity, mark) pair, in their order.

    `identity`: what is done, its last text readable. `earlier`: the names of earlier imports.
    """
    families: defaultdict[str, dict[str, Mark]] = defaultdict(dict)
    for name, mark in sorted(earlier.items()):
        families[name][name] = families[name.rpartition("-")[0]][name] = mark
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, (identity, _) in enumerate(jobs):
        groups[identity].append(index)
    names = [""] * len(jobs)
    for identity, members in groups.items():
        plain = f"{_words(identity[-1])}-{_digest(*identity)}"
        marks = [jobs[index][1] for index in members]
        for index, name in zip(members, _share(plain, marks, families[plain]), strict=True):
            names[index] = name
    return names


def _share(plain: str, marks: Sequence[Mark], earlier: Mapping[str, Mark]) -> list[str]:
    """Names for the lines of one command: kept, handed on, or new."""
    names: dict[int, str] = {}
    left: dict[Mark, list[str]] = {}
    for alike in (_whole, _time_alone):
        left = _by_mark(plain, {name: alike(mark) for name, mark in earlier.items()}, names)
        for index, mark in enumerate(marks):
            if index not in names and left.get(alike(mark)):
                names[index] = left[alike(mark)].pop()
    rest = sorted(set(range(len(marks))) - names.keys(), key=lambda index: marks[index][0])
    handed_on = [name for mark in sorted(left) for name in left[mark]]
    names |= zip(rest, handed_on, strict=False)
    new = _new_names(plain, [marks[index][0] for index in rest[len(handed_on) :]], earlier)
    names |= zip(rest[len(handed_on) :], new, strict=True)
    return [names[index] for index in range(len(marks))]


def _whole(mark: Mark) -> Mark:
    return mark


def _time_alone(mark: Mark) -> Mark:
    return mark[0], ""


def _by_mark(
    plain: str, earlier: Mapping[str, Mark], taken: Mapping[int, str]
) -> dict[Mark, list[str]]:
    """Names that are free, by mark; of each the one that was made first is the last."""
    gone = set(taken.values())
    times = Counter(time for time, _ in earlier.values())
    made = [f"{plain}-{_digest(time, str(n))}" for time, most in times.items() for n in range(most)]
    ranks = {name: rank for rank, name in enumerate([plain, *made])}
    found: defaultdict[Mark, list[str]] = defaultdict(list)
    for name in sorted(earlier, key=lambda name: (ranks.get(name, len(ranks)), name), reverse=True):
        if name not in gone:
            found[earlier[name]].append(name)
    return found


def _new_names(plain: str, times: Sequence[str], earlier: Container[str]) -> Iterator[str]:
    made: set[str] = set()
    seen: Counter[str] = Counter()  # The same line may stand there twice.
    for time in times:
        name = plain
        while name in made or name in earlier:
            name = f"{plain}-{_digest(time, str(seen[time]))}"
            seen[time] += 1
        made.add(name)
        yield name


def _digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()[:DIGEST_LENGTH]


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
