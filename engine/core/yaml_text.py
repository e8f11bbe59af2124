"""YAML as two programs can agree on it: only what means one thing in every version of it.

YAML 1.1, which PyYAML and Kubernetes' tools keep to, and 1.2 read the same plain word differently:
`no` is false or a text, `010` is 8 or 10, `12:30` is 750 or a text. A schedule that two programs
read differently is a schedule that somebody did not ask for. So a plain scalar is taken when all
agree (`true`, `5`, `0.5`, `null`, any other text) and refused with its line when they do not; dates
stay the text that they are, for the reader of a schedule to judge. A name twice in a mapping, tags
of one's own and merge keys are refused, too.

Documents are read one by one: a fault in one does not hide the others. An alias stands for what its
anchor marks, each time; the whole is bounded, so that aliases of aliases cost nothing.

Sources: yaml.org/spec/1.1 (types), yaml.org/spec/1.2.2 §10.3 (core schema).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from engine.core.errors import Malformed
from engine.core.json_text import DEPTH_MAX, exact_float

NODES_MAX = 1_000_000
"""Values in a YAML document, aliases written out: ten thousand schedules with a hundred members."""

Document = tuple[int, Any]
"""The line where a document begins, and its value; a `Malformed` where it has none."""


@dataclass(frozen=True, slots=True, repr=False)
class Ambiguous:
    """A plain word that readers of YAML take differently, for whoever may not need it."""

    word: str
    line: int

    def __repr__(self) -> str:
        return self.word

    def __str__(self) -> str:
        if self.word == "<<":
            return f"line {self.line}: << is not read; write the members out"
        return (
            f"line {self.line}: {self.word} means different things to different readers of YAML;"
            f' write true, false or a plain number, or the text in quotes: "{self.word}"'
        )


class Located(dict[str, Any]):
    """A mapping of another program's document, and the line where it begins."""

    __slots__ = ("line",)

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


def parse_yaml(text: str) -> Any:
    """The value of a text that is one document. Raises Malformed, with its line."""
    documents = _documents(text, strict=True)
    values = [value for _, value in documents if value is not None]
    for value in values:
        if isinstance(value, Malformed):
            raise value
    if len(values) > 1:
        raise Malformed("it holds several documents (---); write one")
    return values[0] if values else None


def parse_documents(text: str) -> Iterator[Document]:
    """Each document of a text, with its first line from 1; None for an empty one.

    Of another program's files a part is read: what is ambiguous is `Ambiguous`, wherever it stands,
    and mappings are `Located`.
    """
    return _documents(text, strict=False)


def write_yaml(value: Any) -> str:
    """`value` as one document that `parse_yaml` reads back equal, members in their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def _documents(text: str, *, strict: bool) -> Iterator[Document]:
    for line, part in _parts(text):
        try:
            yield line, _read(part, line, strict=strict)
        except Malformed as error:
            yield line, error


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Documents end where a line begins with ---, whatever stands before it (YAML 1.2 §9.1.2).

    Directives (`%YAML 1.2`) stand before the --- of their own document.
    """
    begins = [0, *(_begin(text, marker) for marker in _markers(text))]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        if text[begin:end].strip():
            yield text.count("\n", 0, begin) + 1, text[begin:end]


def _markers(text: str) -> Iterator[int]:
    """Where they are; found plainly, since a regular expression holds other threads up for long."""
    lines = f"\n{text}"
    at = lines.find("\n---")
    while at >= 0:
        if not lines[at + 4 : at + 5].strip():
            yield at
        at = lines.find("\n---", at + 1)


def _begin(text: str, marker: int) -> int:
    """Where the first directive of a document stands, else its marker; comments may be between."""
    begin = line = marker
    while line:
        end, line = line, text.rfind("\n", 0, line - 1) + 1
        words = text[line:end].strip()
        if text[line] == "%":
            begin = line
        elif words and not words.startswith("#"):
            break
    return begin


def _read(part: str, first_line: int, *, strict: bool) -> Any:
    try:
        node = yaml.compose(part, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 0 if mark is None else min(mark.line, part.count("\n"))
        source = part.split("\n")[line]
        raise Malformed(
            f"line {first_line + line}: not YAML: {error.problem}{_hint(source)}"
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise Malformed(f"line {first_line}: not YAML: {' '.join(str(error).split())}") from None
    if node is None:
        return None
    value = _Values(first_line, strict=strict).of(node, 0)
    _take_apart(node)
    return value


def _take_apart(node: yaml.Node) -> None:
    """Free a large tree node by node: all at once, no other thread runs meanwhile."""
    left = [node]
    while left:
        each = left.pop()
        parts, each.value = each.value, None
        if isinstance(each, yaml.MappingNode):
            left += (part for pair in parts or () for part in pair)
        elif isinstance(each, yaml.SequenceNode):
            left += parts or ()


def _hint(source: str) -> str:
    if _STARS.search(source):
        return '; a value that begins with * or @ wants quotes: "*/5 * * * *"'
    if source.lstrip(" ").startswith("\t"):
        return "; indent with blanks, not with tabs"
    return ""


class _Values:
    """Turns the nodes of a document into values."""

    def __init__(self, first_line: int, *, strict: bool) -> None:
        self._first_line = first_line
        self._strict = strict
        self._left = NODES_MAX

    def of(self, node: yaml.Node, depth: int) -> Any:
        self._left -= 1
        if depth > DEPTH_MAX:
            raise self._error(node, f"nested deeper than {DEPTH_MAX} levels")
        if self._left < 0:
            raise self._error(node, f"more than {NODES_MAX:,} values, aliases written out")
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.of(item, depth + 1) for item in node.value]
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            return self._scalar(node)
        raise self._error(node, f"the tag {node.tag} is not read")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {} if self._strict else Located(self._line(node))
        for key, value in node.value:
            name = self._name(key, depth + 1)
            if name in mapping:
                raise self._error(key, f"{name} appears twice")
            mapping[name] = self.of(value, depth + 1)
        return mapping

    def _name(self, key: yaml.Node, depth: int) -> str:
        name = self.of(key, depth)
        if isinstance(name, Ambiguous) and (self._strict or name.word == "<<"):
            raise Malformed(str(name))
        if isinstance(key, yaml.ScalarNode) and not self._strict:
            return str(key.value)  # Text or not: it names what others read.
        if not isinstance(name, str):
            raise self._error(key, "write names as text; put quotes around this one")
        return name

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text = node.value
        match node.tag.removeprefix(_TAG):
            case "str" | "timestamp" if node.style or not _AMBIGUOUS.fullmatch(text):
                return text
            case "null":
                return None
            case "bool" if text.lower() in _BOOLEANS:
                return _BOOLEANS[text.lower()]
            case "int" if _INTEGER.fullmatch(text):
                return int(text)
            case "float" if _FRACTION.fullmatch(text):
                return exact_float(text)
        ambiguous = Ambiguous(text, self._line(node))
        if self._strict:
            raise Malformed(str(ambiguous))
        return ambiguous

    def _line(self, node: yaml.Node) -> int:
        return self._first_line + int(node.start_mark.line)

    def _error(self, node: yaml.Node, sentence: str) -> Malformed:
        return Malformed(f"line {self._line(node)}: {sentence}")


# libyaml's parser where it is compiled in: ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + name for name in ("str", "timestamp", "null", "bool", "int", "float")} | {
    _TAG + name
    for name in ("merge", "value")  # The plain words << and =, which are refused.
}
_BOOLEANS = {"true": True, "false": False}
_STARS = re.compile(r"(?:[:-]\s+|^\s*)[*@]")
# Numbers as JSON writes them; so many digits as `json_text` takes.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,4299})")
_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][+-]?[0-9]+)?")
# Text to PyYAML, numbers to YAML 1.2: 0o17 and 1e3.
_AMBIGUOUS = re.compile(r"[+-]?(?:0o[0-7]+|[0-9]+(?:\.[0-9]*)?[eE][+-]?[0-9]+)")


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # Found late.
    """Writes texts in quotes that another reader takes for numbers."""


_Dumper.add_implicit_resolver(f"{_TAG}float", _AMBIGUOUS, list("+-0123456789"))
