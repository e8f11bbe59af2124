"""The bytes of an HTTP/1.1 request (RFC 9112), once, from values that tenants chose.

Two rules. What the tenant wrote goes out as written: no percent-encoding is normalised, no header
is renamed, nothing is added but `Host`, `Content-Length` and a `User-Agent` of last resort. And
nothing in a value can become another header, another request or a second body: what could is
refused here once more, whatever was checked when the schedule was written.

Every request of a target shares its URL and its header names, so both are judged once and cached.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from yarl import URL

from engine import __version__

ROUTES_CACHED = 4_096
"""Parsed URLs, up to 5 KiB each; more targets than that in turn parse theirs again, for 15 us."""

NAME_SETS_CACHED = 1_024
"""Checked lists of header names, about 1 KiB each; most targets share a few."""

_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection"})
_USER_AGENT = f"\r\nUser-Agent: offbeat/{__version__}"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_VISIBLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A method and a URL, taken apart.

    `origin`: scheme, host and port, what a connection is made to. `start`: request line and `Host`
    without the last CRLF. `sends_length`: the method wants `Content-Length` even for no body.
    """

    origin: str
    start: str
    sends_length: bool


@functools.lru_cache(ROUTES_CACHED)
def read_route(method: str, url: str) -> Route:
    """`url` as `core.url_rules` leaves it; ValueError, without a word of it, when it is not so."""
    if not _VISIBLE.fullmatch(method + url):
        raise ValueError("the method or URL holds a blank or what is not ASCII")
    try:
        parsed = URL(url, encoded=True)
        origin, host = str(parsed.origin()), parsed.host_port_subcomponent
    except ValueError:
        raise ValueError("the URL cannot be read") from None
    if parsed.scheme not in {"http", "https"} or not host:
        raise ValueError("the URL names no http or https host")
    if parsed.raw_user is not None or parsed.raw_password is not None:
        raise ValueError("the URL holds credentials")
    return Route(
        origin=origin,
        start=f"{method} {parsed.raw_path_qs} HTTP/1.1\r\nHost: {host}",
        sends_length=method in {"POST", "PUT", "PATCH"},  # RFC 9110 §8.6
    )


def request_bytes(route: Route, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    """The whole request, header values in UTF-8; ValueError when `headers` cannot go out."""
    fields = "".join([f"\r\n{name}: {value}" for name, value in headers])
    lines = len(headers)
    if fields.count("\r") != lines or fields.count("\n") != lines or "\0" in fields:
        raise ValueError("a header holds a line break or NUL")
    agent = "" if _bring_user_agent(tuple([name for name, _ in headers])) else _USER_AGENT
    length = f"\r\nContent-Length: {len(body)}" if body or route.sends_length else ""
    return f"{route.start}{agent}{fields}{length}\r\n\r\n".encode() + body


@functools.lru_cache(NAME_SETS_CACHED)
def _bring_user_agent(names: tuple[str, ...]) -> bool:
    """Whether `User-Agent` is among header `names`; ValueError when they cannot go out together."""
    seen: set[str] = set()
    for name in map(str.lower, names):
        if not _TOKEN.fullmatch(name):
            raise ValueError("a header name is no token")
        if name in _FRAMING or name in seen:
            raise ValueError(f"header {name} would be sent twice")
        seen.add(name)
    return "user-agent" in seen
