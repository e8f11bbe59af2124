"""The members that a JSON object or a query may have, each said once, as a value.

`Fields` reads by them, so that bounds, defaults and words are what is enforced; and each gives its
JSON Schema (2020-12), of which `/openapi.json` is made. Null means absent: where a member may be
left out, its schema allows null.

A schema is never stricter than its reader. It may be looser: what only holds between members (a
deadline that has room for the jitter), or takes more than a pattern (a cron expression), is judged
by the reader alone, which brings a schema of its own (`Judged`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Generic, Protocol, TypeVar

# Longer than any date and time that RFC 3339 can write to the millisecond.
INSTANT_LENGTH_MAX = 64

NO_CONTROL_CHARACTERS = r"^[^\x00-\x1f\x7f]*$"

JsonSchema = dict[str, Any]

InstantText = Annotated[str, "date-time"]
"""An instant as answers write it, with its JSON Schema format."""

_Default_co = TypeVar("_Default_co", covariant=True)
_Word_co = TypeVar("_Word_co", bound=str, covariant=True)


class Member(Protocol):
    """A member of an object, or a parameter."""

    @property
    def name(self) -> str: ...

    @property
    def default(self) -> object:
        """What its absence means; None: that it is absent."""
        ...

    @property
    def about(self) -> str:
        """What it is for, in a sentence."""
        ...

    def schema(self) -> JsonSchema:
        """Of its values, null aside."""
        ...


@dataclass(frozen=True, slots=True)
class Integer(Generic[_Default_co]):
    """A whole number; 60.0 is one (as in JSON Schema), true and "60" are not."""

    name: str
    default: _Default_co
    _: KW_ONLY
    low: int
    high: int
    about: str = ""

    def schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Flag(Generic[_Default_co]):
    """True or false."""

    name: str
    default: _Default_co
    _: KW_ONLY
    about: str = ""

    def schema(self) -> JsonSchema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Text(Generic[_Default_co]):
    """Text without control characters, at most `longest` characters.

    `pattern` matches it as a whole, and `rule` says what to write.
    """

    name: str
    default: _Default_co
    _: KW_ONLY
    longest: int
    pattern: re.Pattern[str] | None = None
    rule: str = ""
    about: str = ""

    def schema(self) -> JsonSchema:
        pattern = NO_CONTROL_CHARACTERS if self.pattern is None else whole(self.pattern)
        return {"type": "string", "maxLength": self.longest, "pattern": pattern}


@dataclass(frozen=True, slots=True)
class Choice(Generic[_Word_co, _Default_co]):
    """One of a few words."""

    name: str
    default: _Default_co
    options: Iterable[_Word_co]
    _: KW_ONLY
    about: str = ""

    def schema(self) -> JsonSchema:
        return {"type": "string", "enum": list(map(str, self.options))}


@dataclass(frozen=True, slots=True)
class Instant:
    """An RFC 3339 date and time with its offset."""

    name: str
    default: None = None
    _: KW_ONLY
    about: str = ""

    def schema(self) -> JsonSchema:
        return {"type": "string", "format": "date-time", "maxLength": INSTANT_LENGTH_MAX}


@dataclass(frozen=True, slots=True)
class Judged:
    """What its reader judges by itself, with the schema of what may pass."""

    name: str
    judged: JsonSchema
    default: None = None
    _: KW_ONLY
    about: str = ""

    def schema(self) -> JsonSchema:
        return self.judged


@dataclass(frozen=True, slots=True)
class Nested:
    """An object with members of its own."""

    name: str
    shape: "Shape"
    default: None = None
    _: KW_ONLY
    about: str = ""

    def schema(self) -> JsonSchema:
        return self.shape.schema()


@dataclass(frozen=True, slots=True)
class Shape:
    """The members that an object may have.

    `required`: those that must be there. `one_of`: of these exactly one. `ignored`: what the engine
    adds to an answer, so that an answer can be sent back as it is.
    """

    members: tuple[Member, ...] = ()
    _: KW_ONLY
    required: frozenset[str] = frozenset()
    one_of: tuple[str, ...] = ()
    ignored: frozenset[str] = frozenset()
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        names = frozenset(member.name for member in self.members) | self.ignored
        object.__setattr__(self, "names", names)

    def schema(self) -> JsonSchema:
        schema: JsonSchema = {
            "type": "object",
            "properties": {member.name: self._property(member) for member in self.members}
            | {name: {"readOnly": True} for name in sorted(self.ignored)},
            "additionalProperties": False,
        }
        if self.required:
            schema["required"] = sorted(self.required)
        if self.one_of:
            schema["oneOf"] = [
                {"required": [name], "properties": {name: {"not": {"type": "null"}}}}
                for name in self.one_of
            ]
        return schema

    def _property(self, member: Member) -> JsonSchema:
        schema = member.schema()
        if member.name not in self.required:
            schema = nullable(schema)
        return schema | annotations(member)


def annotations(member: Member) -> JsonSchema:
    """What a member's schema says beside what it allows."""
    default = {} if member.default is None else {"default": member.default}
    return default | ({"description": member.about} if member.about else {})


def whole(pattern: re.Pattern[str]) -> str:
    """The pattern of a schema that matches what `pattern` matches as a whole."""
    return f"^(?:{pattern.pattern})$"


def nullable(schema: JsonSchema) -> JsonSchema:
    """What `schema` allows, and null."""
    kind = schema.get("type")
    if kind is None:
        return schema
    kinds = list(dict.fromkeys([*([kind] if isinstance(kind, str) else kind), "null"]))
    words = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": kinds} | words


def patch_schema(schema: Mapping[str, Any]) -> JsonSchema:
    """What may be merged (RFC 7396) into what `schema` describes: parts of it, and null to remove.

    Even a name that is not known may be removed.
    """
    loose = {"required", "oneOf", "propertyNames", "maxProperties"}
    patch = {name: value for name, value in schema.items() if name not in loose}
    for name, value in schema.get("properties", {}).items():
        patch["properties"] = patch["properties"] | {name: nullable(patch_schema(value))}
    extra = schema.get("additionalProperties")
    if extra is False:
        patch["additionalProperties"] = {"type": "null"}
    elif extra:
        patch["additionalProperties"] = nullable(extra)
    return patch
