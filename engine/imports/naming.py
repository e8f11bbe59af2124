"""Names for imported jobs: the same for the same job, wherever its line stands.

A job is who runs what: never its times and never its line number. So a second import changes
nothing, an edited time updates the schedule it had, and moving lines about does nothing at all.

Jobs that do the same thing at several times have one name to share, and nothing in the file says
whose it is. No rule on the file alone can be right: where an only line keeps its name when its time
changes, its name says nothing of its time; then of two lines one is named otherwise than it would
be alone, and adding or removing the other renames it. What tells them apart is what they were
called before. So names of an earlier import stay, first by equal times; what is left of lines and
of names is a change of time, paired in the order of times. Only a line that is left then is new.

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


def name_jobs(jobs: Sequence[tuple[tuple[str, ...], str]], earlier: Mapping[str, str]) -> list[str]:
    """A name for each (identity, time) pair, in their order.

    `identity`: what is done, its last text readable; `time`: what tells equal identities apart.
    `earlier`: the names of earlier imports, with their times.
    """
    families: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, time in sorted(earlier.items()):
        families[name][name] = families[name.rpartition("-")[0]][name] = time
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, (identity, _) in enumerate(jobs):
        groups[identity].append(index)
    names = [""] * len(jobs)
    for identity, members in groups.items():
        plain = f"{_words(identity[-1])}-{_digest(*identity)}"
        times = [jobs[index][1] for index in members]
        for index, name in zip(members, _share(plain, times, families[plain]), strict=True):
            names[index] = name
    return names


def _share(plain: str, times: Sequence[str], earlier: Mapping[str, str]) -> list[str]:
    """Names for the lines of one command: kept, handed on, or new."""
    left: defaultdict[str, list[str]] = defaultdict(list)
    for name, time in sorted(earlier.items(), reverse=True):
        left[time].append(name)
    names = {index: left[time].pop() for index, time in enumerate(times) if left[time]}
    rest = sorted(set(range(len(times))) - names.keys(), key=times.__getitem__)
    handed_on = [name for time in sorted(left) for name in left[time]]
    names |= zip(rest, handed_on, strict=False)
    new = _new_names(plain, [times[index] for index in rest[len(handed_on) :]], earlier)
    names |= zip(rest[len(handed_on) :], new, strict=True)
    return [names[index] for index in range(len(times))]


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
