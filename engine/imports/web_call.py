"""An HTTP request as a command line made it, and what curl and wget readers have in common."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from engine.core.errors import Fault, Invalid
from engine.core.target_document import read_target
from engine.imports.shell import NotPlain

# The longest wait that a schedule may have (SPEC §4). Neither curl nor wget gives up earlier by
# itself, and pages that are called from cron work while the caller waits.
TIMEOUT_SECONDS_MAX = 300

REDIRECTS = "redirects are not followed: a 3xx answer fails, so give the final address"
LONG = (
    f"an attempt waits {TIMEOUT_SECONDS_MAX} s at most for its answer, so what takes longer answers"
    " first and works then"
)
RETRIES = "its own retry options are dropped; the schedule's retry policy takes their place"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebCall:
    """One request. `notes` say what means something else once the engine makes it."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str | None
    timeout_seconds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """(long name, value) per option, ("", word) per operand, in their order."""

    pairs: tuple[tuple[str, str], ...]

    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.pairs if name)

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.pairs if name in names]

    def last(self, *names: str) -> str | None:
        return next(reversed(self.values(*names)), None)


def request_of(call: WebCall) -> dict[str, Any]:
    """The member `target` of a schedule that makes the call.

    Raises Invalid for a request that no schedule may hold, as one with a Host of its own.
    """
    request: dict[str, Any] = {"url": call.url, "method": call.method}
    request |= {"headers": dict(call.headers)} if call.headers else {}
    request |= {"body": call.body} if call.body is not None else {}
    request["timeout_seconds"] = call.timeout_seconds
    faults: list[Fault] = []
    read_target(request, faults)
    if faults:
        raise Invalid(*faults)
    return request


def read_options(
    arguments: Sequence[str],
    *,
    shorts: Mapping[str, str],
    valued: frozenset[str],
    equals: bool,
) -> Options:
    """Options and operands as getopt_long reads them, short names made long.

    `valued`: the options that take a value. `equals`: whether `--name=value` is understood (wget)
    or part of the name (curl).
    """
    return Options(tuple(_split(iter(arguments), shorts, valued, equals)))


def only_address(options: Options, *names: str) -> str:
    """The one address that is called: an operand, or the value of one of these options."""
    addresses = options.values("", *names)
    if len(addresses) != 1:
        raise NotPlain("it calls several addresses" if addresses else "it has no address")
    return addresses[0]


def whole_url(text: str, headers: dict[str, str]) -> str:
    """The URL with a scheme, without fragment; user information moves into `headers`."""
    url = urldefrag(text if "://" in text else f"http://{text}").url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise NotPlain(f"{parts.scheme}: is not http or https")
    if "@" in parts.netloc:
        user_information, _, host = parts.netloc.rpartition("@")
        authorize(headers, unquote(user_information))
        url = url.replace(parts.netloc, host, 1)
    return url


def authorize(headers: dict[str, str], user_and_password: str) -> None:
    """Adds Basic credentials (RFC 7617), unless the command sends its own header."""
    if ":" not in user_and_password:
        raise NotPlain("it would ask for a password")
    headers.setdefault("Authorization", f"Basic {b64encode(user_and_password.encode()).decode()}")


def add_header(headers: dict[str, str], name: str, value: str) -> None:
    """Adds a header that may be sent once."""
    if name.lower() in (known.lower() for known in headers):
        raise NotPlain(f"it sends the header {name} twice")
    headers[name] = value


def check_output(place: str) -> None:
    """Refuses output that goes to a file: nothing keeps it here."""
    if place not in ("-", "/dev/null", "/dev/stdout", "/dev/stderr"):
        raise NotPlain(f"its output goes to {place}")


def has_header(headers: Mapping[str, str], name: str) -> bool:
    return name.lower() in (known.lower() for known in headers)


def read_timeout(text: str) -> int:
    """Seconds as a command line writes them, within what a schedule may wait."""
    try:
        seconds = ceil(float(text))
    except (ValueError, OverflowError):
        raise NotPlain(f"{text!r} is not a number of seconds") from None
    # 0 means "no limit" to both programs.
    return min(seconds, TIMEOUT_SECONDS_MAX) if seconds > 0 else TIMEOUT_SECONDS_MAX


def waits_longer(text: str) -> bool:
    """Whether a command waits longer than a schedule may, for seconds that `read_timeout` reads."""
    return float(text) > TIMEOUT_SECONDS_MAX


def _split(
    rest: Iterator[str], shorts: Mapping[str, str], valued: frozenset[str], equals: bool
) -> Iterator[tuple[str, str]]:
    for word in rest:
        if word == "--":
            yield from (("", operand) for operand in rest)
        elif word.startswith("--"):
            name, sign, value = word[2:].partition("=") if equals else (word[2:], "", "")
            if name in valued and not sign:
                value = _next(rest, word)
            yield name, value
        elif word.startswith("-") and word != "-":
            yield from _cluster(word, rest, shorts, valued)
        else:
            yield "", word


def _cluster(
    word: str, rest: Iterator[str], shorts: Mapping[str, str], valued: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """The options in `-sSXPOST`: letters until one takes what remains, or the next word."""
    for index, letter in enumerate(word[1:], start=2):
        name = shorts.get(letter, letter)
        if name in valued:
            yield name, word[index:] or _next(rest, f"-{letter}")
            return
        yield name, ""


def _next(rest: Iterator[str], option: str) -> str:
    try:
        return next(rest)
    except StopIteration:
        raise NotPlain(f"{option} has no value") from None
