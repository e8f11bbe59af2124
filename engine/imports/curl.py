"""curl command lines as requests (curl(1), 8.x).

What has no counterpart is refused by name rather than dropped: a schedule that sends almost what
the command sent would be worse than none. Options about output and connections that change
nothing for the receiver are ignored.
"""

import re
from collections.abc import Sequence
from urllib.parse import quote_plus

from engine.imports.shell import NotPlain
from engine.imports.web_call import (
    LONG,
    REDIRECTS,
    RETRIES,
    Options,
    WebCall,
    add_header,
    authorize,
    check_output,
    has_header,
    only_address,
    read_options,
    read_timeout,
    waits_longer,
    whole_url,
)


def read_curl(arguments: Sequence[str], stdin: str | None) -> WebCall:
    """The request that `curl` makes with these arguments. Raises `NotPlain`.

    `stdin`: what crond would feed it; None is empty.
    """
    options = read_options(arguments, shorts=_SHORT, valued=_VALUED, equals=False)
    _refuse_what_has_no_counterpart(options)
    address = only_address(options, "url")
    if "globoff" not in options.names() and not set("[]{}").isdisjoint(_LITERAL.sub("", address)):
        raise NotPlain("curl would expand [] or {} in its address")
    headers = _headers(options)
    url = whole_url(address, headers)
    if (credentials := options.last("user")) is not None:
        authorize(headers, credentials)
    body = _body(options, stdin or "")
    if body is not None and "get" in options.names():
        url, body = f"{url}{'&' if '?' in url else '?'}{body}", None
    if body is not None:
        _add_content_type(options, headers)
    return WebCall(
        method=options.last("request") or _method(options, body),
        url=url,
        headers=headers,
        body=body,
        timeout_seconds=read_timeout(options.last("max-time") or "0"),
        notes=_notes(options),
    )


# An IPv6 address as host: its brackets are no glob to curl either.
_LITERAL = re.compile(r"(?<![^/@])\[[0-9a-fA-F.]*:[0-9a-fA-F:.]*\]")

_SHORT = {
    "0": "http1.0",
    "4": "ipv4",
    "6": "ipv6",
    "A": "user-agent",
    "D": "dump-header",
    "G": "get",
    "H": "header",
    "I": "head",
    "L": "location",
    "N": "no-buffer",
    "S": "show-error",
    "X": "request",
    "#": "progress-bar",
    "b": "cookie",
    "d": "data",
    "e": "referer",
    "f": "fail",
    "g": "globoff",
    "i": "include",
    "k": "insecure",
    "m": "max-time",
    "o": "output",
    "q": "disable",
    "s": "silent",
    "u": "user",
    "v": "verbose",
    "w": "write-out",
}
_DATA = frozenset({"data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json"})
_IGNORED_VALUED = frozenset({"write-out", "connect-timeout", "max-redirs", "keepalive-time"})
_RETRY_VALUED = frozenset({"retry", "retry-delay", "retry-max-time"})
_VALUED = (
    _DATA
    | _IGNORED_VALUED
    | _RETRY_VALUED
    | {"request", "header", "user-agent", "cookie", "referer", "max-time", "output", "user"}
    | {"dump-header", "oauth2-bearer", "url"}
)
_RETRY = _RETRY_VALUED | {"retry-connrefused", "retry-all-errors"}
_IGNORED = {
    "basic",
    "compressed",
    "disable",
    "fail",
    "fail-early",
    "fail-with-body",
    "http1.0",
    "http1.1",
    "http2",
    "include",
    "ipv4",
    "ipv6",
    "no-buffer",
    "no-keepalive",
    "no-progress-meter",
    "path-as-is",
    "progress-bar",
    "show-error",
    "silent",
    "tlsv1.2",
    "tlsv1.3",
    "verbose",
}
_KNOWN = _VALUED | _RETRY | _IGNORED | {"get", "head", "globoff", "location"}
_HEADER_OPTIONS = (
    ("user-agent", "User-Agent", ""),
    ("referer", "Referer", ""),
    ("cookie", "Cookie", ""),
    ("oauth2-bearer", "Authorization", "Bearer "),
)


def _refuse_what_has_no_counterpart(options: Options) -> None:
    if "insecure" in options.names():
        raise NotPlain("-k turns off certificate checks, which the engine always makes")
    for place in options.values("output", "dump-header"):
        check_output(place)
    for name in sorted(options.names() - _KNOWN):
        raise NotPlain(f"curl's {'--' if len(name) > 1 else '-'}{name} has no counterpart")


def _headers(options: Options) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in options.values("header"):
        name, colon, value = line.partition(":")
        if line.startswith("@"):
            raise NotPlain(f"its headers are in the file {line[1:]}")
        if colon and value.strip():
            add_header(headers, name.strip(), value.strip())
        elif not colon and line.endswith(";"):
            add_header(headers, line[:-1].strip(), "")
        elif not colon:
            raise NotPlain(f"{line!r} is not a header")
    for option, name, prefix in _HEADER_OPTIONS:
        for value in options.values(option):
            add_header(headers, name, prefix + value)
    if any("=" not in cookies for cookies in options.values("cookie")):
        raise NotPlain("its cookies are in a file")
    if "json" in options.names() and not has_header(headers, "Accept"):
        headers["Accept"] = "application/json"
    return headers


def _body(options: Options, stdin: str) -> str | None:
    """The data options, each piece read and all joined in their order; None without any."""
    pieces = [_piece(name, value, stdin) for name, value in options.pairs if name in _DATA]
    if not pieces:
        return None
    return ("" if "json" in options.names() else "&").join(pieces)


def _piece(name: str, value: str, stdin: str) -> str:
    if name == "data-urlencode":
        return _urlencode(value)
    if name == "data-raw" or not value.startswith("@"):
        return value
    if value != "@-":
        raise NotPlain(f"its body is in the file {value[1:]}")
    return _without_line_ends(stdin) if name in ("data", "data-ascii") else stdin


def _urlencode(value: str) -> str:
    """curl(1) --data-urlencode: `content`, `=content` or `name=content`."""
    name, equals, content = value.partition("=")
    if not equals and "@" in value:
        raise NotPlain(f"its body is in the file {value.partition('@')[2]}")
    if not equals:
        return quote_plus(value)
    return f"{name}={quote_plus(content)}" if name else quote_plus(content)


def _without_line_ends(stdin: str) -> str:
    # curl -d strips line ends from what it reads. One line end at the end is what everybody has;
    # several lines glued together is what nobody expects, so somebody should look.
    lines = stdin.splitlines()
    if len(lines) > 1:
        raise NotPlain("curl -d @- joins the lines of its input; --data-binary @- keeps them")
    return "".join(lines)


def _add_content_type(options: Options, headers: dict[str, str]) -> None:
    if has_header(headers, "Content-Type"):
        return
    if any(line.lower().replace(" ", "") == "content-type:" for line in options.values("header")):
        raise NotPlain("it sends a body without a Content-Type")
    is_json = "json" in options.names()
    headers["Content-Type"] = "application/json" if is_json else "application/x-www-form-urlencoded"


def _method(options: Options, body: str | None) -> str:
    if "head" in options.names():
        return "HEAD"
    return "GET" if body is None else "POST"


def _notes(options: Options) -> tuple[str, ...]:
    names = options.names()
    meant = ((REDIRECTS, {"location"}), (RETRIES, _RETRY))
    notes = [note for note, causes in meant if names & causes]
    return (*notes, LONG) if waits_longer(options.last("max-time") or "0") else tuple(notes)
