"""Reading the members of a JSON object so that every fault is found, not just the first.

A method takes one member (`members.py` says what they are), checks type and range, and gives back
a value of the right type: the document's, or the default when it is absent, null or refused. So the
code that reads a document is straight-line, and what it builds from defaults after a fault is
thrown away with the whole.
"""

import re
from collections.abc import Collection, Iterable, Set
from difflib import get_close_matches
from typing import Any, TypeVar

from engine.core.errors import Fault
from engine.core.identity import parse_instant
from engine.core.members import INSTANT_LENGTH_MAX, Choice, Flag, Instant, Integer, Text

FAULTS_MAX = 64
"""Faults told of one document: enough to repair any by hand, and a bound to the answer."""

# Longer names than this are nobody's typing error, and comparing them is quadratic.
NAME_SHOWN_MAX = 64

CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")

_Default = TypeVar("_Default")
_Word = TypeVar("_Word", bound=str)


class Fields:
    """One JSON object under `pointer`; its faults, and those of its members, go to `faults`.

    `known`: the members that it may have; `ignored`: those of them that nobody is advised to write.
    """

    __slots__ = ("_broken", "_faults", "_members", "_pointer")

    def __init__(
        self,
        value: object,
        *,
        pointer: str,
        known: Set[str],
        ignored: Set[str] = frozenset(),
        faults: list[Fault],
    ) -> None:
        self._pointer = pointer
        self._faults = faults
        self._broken: set[str] = set()
        self._members: dict[str, Any] = value if type(value) is dict else {}
        if type(value) is not dict:
            faults.append(Fault(pointer, "write a JSON object"))
        if not self._members.keys() <= known:
            for name in sorted(self._members.keys() - known)[:FAULTS_MAX]:
                self.refuse(name, unknown_name(name, known - ignored))

    def refuse(self, name: str, detail: str) -> None:
        """Record what is wrong with the member `name`."""
        self._broken.add(name)
        if len(self._faults) < FAULTS_MAX:
            self._faults.append(Fault(member_pointer(self._pointer, name), detail))

    def sound(self, *names: str) -> bool:
        """Whether none of these was refused, so that they can be compared with each other."""
        return self._broken.isdisjoint(names)

    def given(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that are there and not null."""
        return [name for name in names if self._members.get(name) is not None]

    def raw(self, name: str) -> Any:
        """The member as it stands, None when absent."""
        return self._members.get(name)

    def integer(self, member: Integer[_Default]) -> int | _Default:
        value = self._members.get(member.name)
        if value is None:
            return member.default
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is int and member.low <= value <= member.high:
            return value
        self.refuse(member.name, f"write a whole number from {member.low:,} to {member.high:,}")
        return member.default

    def flag(self, member: Flag[_Default]) -> bool | _Default:
        value = self._members.get(member.name)
        if value is None:
            return member.default
        if type(value) is bool:
            return value
        self.refuse(member.name, "write true or false")
        return member.default

    def text(self, member: Text[_Default]) -> str | _Default:
        text = self._text(member.name, member.longest)
        if text is None:
            return member.default
        if member.pattern is not None and not member.pattern.fullmatch(text):
            self.refuse(member.name, member.rule)
            return member.default
        return text

    def choice(self, member: Choice[_Word, _Default]) -> _Word | _Default:
        value = self._members.get(member.name)
        if value is None:
            return member.default
        for option in member.options:
            if value == option:
                return option
        options = ", ".join(f'"{option}"' for option in member.options)
        self.refuse(member.name, f"write one of {options}")
        return member.default

    def instant(self, member: Instant) -> int | None:
        """Milliseconds since the epoch."""
        text = self._text(member.name, INSTANT_LENGTH_MAX)
        if text is None:
            return None
        try:
            return parse_instant(text)
        except ValueError as error:
            self.refuse(member.name, str(error))
            return None

    def _text(self, name: str, longest: int) -> str | None:
        value = self._members.get(name)
        if value is None:
            return None
        if type(value) is str and len(value) <= longest and not CONTROL_CHARACTERS.search(value):
            return value
        self.refuse(name, f"write text of at most {longest:,} characters, no control characters")
        return None


def member_pointer(pointer: str, name: str) -> str:
    """RFC 6901; a name too long to repeat is pointed at by its object."""
    if len(name) > NAME_SHOWN_MAX:
        return pointer
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


def unknown_name(name: str, known: Collection[str]) -> str:
    """What to tell somebody who wrote a name that is not one of `known`."""
    if not known:
        return "unknown field; there are none here"
    near = get_close_matches(name, known, n=1) if len(name) <= NAME_SHOWN_MAX else []
    if near:
        return f'unknown field; did you mean "{near[0]}"?'
    return "unknown field; the fields here are " + ", ".join(sorted(known))
