"""Labels and selectors: what schedules are marked with, and how some of them are chosen (SPEC §4).

Both are written as in Kubernetes, whose equality-based selectors operators know by heart. A key is
a name, with a DNS name and a slash before it if it is somebody's own (`example.com/team`). A
selector is requirements with commas between them, all of which must hold:

    env=prod   env==prod   the label has this value
    env!=prod              it has another one, or is not there
    env                    it is there
    !env                   it is not there

The set-based ones (`env in (a, b)`) are refused: they are several lists, or `!=` repeated.

Source: kubernetes.io/docs/concepts/overview/working-with-objects/labels
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

LABELS_MAX = 32
"""Labels of a schedule: each is a row of the index that selectors are answered from."""

LABEL_LENGTH_MAX = 63
"""A label's name and its value: as Kubernetes has them, so that its labels can be taken over."""

PREFIX_LENGTH_MAX = 253
"""What stands before the slash in a label's name: a DNS name."""

SELECTOR_LENGTH_MAX = 1_024
"""`selector`: the requirements that a person writes, and they fit in an address."""

KEY_RULE = (
    f"write a key of 1 to {LABEL_LENGTH_MAX} letters, digits, dots, hyphens and underscores that "
    "begins and ends with a letter or digit, after a DNS name and a slash if need be"
)
VALUE_RULE = (
    f"write a text of at most {LABEL_LENGTH_MAX} letters, digits, dots, hyphens and underscores "
    "that begins and ends with a letter or digit"
)
SELECTOR_RULE = "write requirements like env=prod, env!=prod, env or !env, with commas between them"

_NAME = rf"[A-Za-z0-9](?:[A-Za-z0-9._-]{{0,{LABEL_LENGTH_MAX - 2}}}[A-Za-z0-9])?"
_DNS_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
KEY = re.compile(rf"(?:{_DNS_LABEL}(?:\.{_DNS_LABEL})*/)?{_NAME}")
VALUE = re.compile(rf"(?:{_NAME})?")
_REQUIREMENT = re.compile(
    r"(?P<absent>!)?(?P<key>[^=!\s]+)\s*(?:(?P<sign>!=|==?)\s*(?P<value>\S*))?"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """That a label has `value`, or any when that is None; with `wanted` false, that it has not."""

    key: str
    value: str | None = None
    wanted: bool = True

    def allows(self, labels: Mapping[str, str]) -> bool:
        """Whether something with these labels meets it."""
        found = labels.get(self.key)
        return (found is not None if self.value is None else found == self.value) is self.wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFilter:
    """Which schedules: those whose name begins so, that meet each requirement, and rest or do not.

    `is_paused` None: either.
    """

    name_prefix: str = ""
    requirements: tuple[Requirement, ...] = ()
    is_paused: bool | None = None

    def holds(self, labels: Mapping[str, str], *, is_paused: bool) -> bool:
        """Whether a schedule of the right name is among them."""
        if self.is_paused not in (None, is_paused):
            return False
        return all(requirement.allows(labels) for requirement in self.requirements)

    def lead(self) -> Requirement | None:
        """The requirement that narrows the search most, as far as one can say without looking."""
        wanted = [each for each in self.requirements if each.wanted]
        return min(wanted, key=lambda each: each.value is None, default=None)


def is_key(text: str) -> bool:
    """Whether a label may be called so; `KEY_RULE` says what may."""
    return KEY.fullmatch(text) is not None and text.rfind("/") <= PREFIX_LENGTH_MAX


def is_value(value: object) -> bool:
    """Whether a label may have this value; `VALUE_RULE` says which."""
    return type(value) is str and VALUE.fullmatch(value) is not None


def as_value(text: str) -> str:
    """The value that comes closest to a text: what may not stand in one becomes a hyphen."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:LABEL_LENGTH_MAX].strip("._-")


def read_selector(text: str) -> tuple[Requirement, ...]:
    """The requirements that a selector states. Raises ValueError with what to write instead."""
    if len(text) > SELECTOR_LENGTH_MAX:
        raise ValueError(f"write at most {SELECTOR_LENGTH_MAX:,} characters")
    return tuple(_requirement(part.strip()) for part in text.split(","))


def _requirement(text: str) -> Requirement:
    found = _REQUIREMENT.fullmatch(text)
    if found is None or (found["absent"] and found["sign"]):
        raise ValueError(SELECTOR_RULE)
    key, value = found["key"], found["value"]
    if not is_key(key):
        raise ValueError(f"{key[:LABEL_LENGTH_MAX]} is no label's key: {KEY_RULE}")
    if value is not None and not is_value(value):
        raise ValueError(f"{key}: {VALUE_RULE}")
    return Requirement(key, value, not found["absent"] and found["sign"] != "!=")
