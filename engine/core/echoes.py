"""Credentials that come back: where a response repeats what it was sent, however it is written.

A receiver that refuses a request often says what it got, and what it says is kept. So of what is
kept each credential is masked: the whole value, its token without the scheme, each cookie's value,
of `Basic` the user with the password and the password alone; each as it is, in hexadecimal, and in
base64 at each of the three places where it can begin, in both alphabets (RFC 4648 §4, §5).

A response is read as it is written, and again with the escapes of URLs, JSON, JavaScript and HTML
undone, three times, for what is JSON inside JSON or a URL inside HTML; and so is the value, since a
cookie's is often escaped already. Each byte of a reading knows where
it was written, so that the mask lies over the escapes and the rest stays as it came.

Nothing here is a wall against a receiver that wants to tell its secret to those who sent it: what
it has compressed, reversed or cut in pieces is kept.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

ECHO_LENGTH_MIN = 6
"""Shorter texts are no secrets, and are in answers for other reasons."""

PARTS_MAX = 32
"""Parts of a target's credentials that are looked for: so many take a few milliseconds at worst. Of
an answer to a target with more nothing is kept: it could hold any of them."""

LEVELS = 3
"""How often escapes are undone."""

TARGETS_KEPT = 128
"""Targets of which is kept what is looked for, 100 KB for the largest: many schedules call one API
with one credential, and it takes 10 µs to make."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]* +")
_BETWEEN = re.compile(r"[;,\s]+")
_ESCAPE = re.compile(
    rb"(?:%|\\u00|\\x)(?P<hex>[0-9A-Fa-f]{2})|&#[xX]0{0,4}(?P<entity>[0-9A-Fa-f]{2});"
    rb"|&#0{0,4}(?P<decimal>1?[0-9]{2});|&(?P<name>amp|lt|gt|quot|apos);|\\(?P<quoted>[\"'/\\])"
)
_NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}


class _Reading(NamedTuple):
    """A response in other words: of each byte, and of the end, where it was written."""

    text: bytes
    places: list[int]


def without_echoes(response: bytes, values: Iterable[str], *, mask: bytes, is_cut: bool) -> bytes:
    """`response` with `mask` over each credential among `values`; never longer than it was.

    `is_cut`: it went on, so that its end may be the beginning of one.
    """
    if len(response) < ECHO_LENGTH_MIN:
        return response
    needles = _needles(tuple(values))
    if needles is None:
        return mask[: len(response)]
    spans: list[tuple[int, int]] = []
    for text, places in _readings(response):
        for needle in needles:
            found = _found(text, needle, is_cut=is_cut)
            spans += ((places[start], places[end]) for start, end in found)
    return _covered(response, sorted(spans), mask)


@lru_cache(maxsize=TARGETS_KEPT)
def _needles(values: tuple[str, ...]) -> frozenset[bytes] | None:
    """What is looked for; None when it is too much."""
    parts = {part for value in values for part in _parts(value)}
    if len(parts) > PARTS_MAX:
        return None
    meant = {reading.text for part in parts for reading in _readings(part)}
    long_enough = (part for part in meant if len(part) >= ECHO_LENGTH_MIN)
    return frozenset(form for part in long_enough for form in _forms(part))


def _parts(value: str) -> set[bytes]:
    """What of a header's value is a secret by itself."""
    scheme = _SCHEME.match(value)
    rest = value[scheme.end() :] if scheme else value
    parts = {value.encode(), rest.encode()}
    for piece in _BETWEEN.split(rest):
        told = piece.partition("=")[2].strip('"')
        parts.add((told if len(told) >= ECHO_LENGTH_MIN else piece).encode())
    if scheme and scheme[0].strip().lower() == "basic":
        try:
            pair = b64decode(rest, validate=True)
        except ValueError:
            pair = b""
        parts |= {pair, pair.partition(b":")[2]}
    return {part for part in parts if len(part) >= ECHO_LENGTH_MIN}


def _forms(part: bytes) -> Iterator[bytes]:
    """How a part may be written; escapes are undone elsewhere."""
    yield part
    yield part.hex().encode()
    yield part.hex().upper().encode()
    for before in range(3):
        encoded = b64encode(bytes(before) + part)
        # The characters that are made of the part's own bits alone.
        own = encoded[-(-8 * before // 6) : 8 * (before + len(part)) // 6]
        yield own
        yield own.translate(_URL_SAFE)


def _readings(response: bytes) -> Iterator[_Reading]:
    reading = _Reading(response, list(range(len(response) + 1)))
    yield reading
    for _ in range(LEVELS):
        undone = _undone(*reading)
        if undone.text == reading.text:
            return
        reading = undone
        yield reading


def _undone(text: bytes, places: list[int]) -> _Reading:
    """A reading with its escapes undone once."""
    read, kept, last = bytearray(), list[int](), 0
    for match in _ESCAPE.finditer(text):
        meant = _meaning(match)
        read += text[last : match.start()] + meant
        kept += places[last : match.start()]
        kept += [places[match.start()]] * len(meant)
        last = match.end()
    return _Reading(bytes(read + text[last:]), kept + places[last:])


def _meaning(escape: re.Match[bytes]) -> bytes:
    if digits := escape["hex"] or escape["entity"]:
        return bytes([int(digits, 16)])
    if digits := escape["decimal"]:
        return bytes([int(digits)])
    return _NAMED[escape["name"]] if escape["name"] else escape["quoted"]


def _found(text: bytes, needle: bytes, *, is_cut: bool) -> Iterator[tuple[int, int]]:
    """Where it stands, (start, end), and where the end of the text is its beginning."""
    start = text.find(needle)
    while start >= 0:
        yield start, start + len(needle)
        start = text.find(needle, start + len(needle))
    if is_cut:
        begin = needle[:ECHO_LENGTH_MIN]
        start = text.find(begin, max(0, len(text) - len(needle)))
        while start >= 0:
            if needle.startswith(text[start:]):
                yield start, len(text)
                return
            start = text.find(begin, start + 1)


def _covered(response: bytes, spans: list[tuple[int, int]], mask: bytes) -> bytes:
    """The mask in the place of each stretch; those that touch are one."""
    pieces, last, covered = bytearray(), 0, 0
    for start, end in spans:
        if start > covered or not covered:
            pieces += response[last:start] + mask[: end - start]
        covered = max(covered, end)
        last = covered
    return bytes(pieces + response[last:])


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
