"""GNU wget command lines as requests (wget(1), 1.x).

wget is called from cron to make a page do its work, and seldom for the page. So what it would
save under a name of its own is let go, with a note; a file that was asked for is not.
"""

from collections.abc import Sequence

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

NOT_SAVED = "the page that wget would save is not kept"


def read_wget(arguments: Sequence[str], _stdin: str | None) -> WebCall:
    """The request that `wget` makes with these arguments. Raises `NotPlain`."""
    words = _split_nv(arguments)
    options = read_options(words, shorts=_SHORT, valued=_VALUED, equals=True)
    _refuse_what_has_no_counterpart(options)
    headers = _headers(options)
    url = whole_url(only_address(options), headers)
    if (user := options.last("user", "http-user")) is not None:
        authorize(headers, f"{user}:{options.last('password', 'http-password') or ''}")
    body = options.last("post-data", "body-data")
    if body is not None and not has_header(headers, "Content-Type"):
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    return WebCall(
        method=_method(options),
        url=url,
        headers=headers,
        body=body,
        timeout_seconds=read_timeout(_timeout(options)),
        notes=_notes(options),
    )


_SHORT = {
    "4": "inet4-only",
    "6": "inet6-only",
    "O": "output-document",
    "S": "server-response",
    "T": "timeout",
    "U": "user-agent",
    "a": "append-output",
    "b": "background",
    "o": "output-file",
    "q": "quiet",
    "t": "tries",
    "v": "verbose",
}
_IGNORED_VALUED = frozenset({"append-output", "output-file", "max-redirect", "connect-timeout"})
_RETRY = frozenset({"tries", "waitretry"})
_VALUED = (
    _IGNORED_VALUED
    | _RETRY
    | {"output-document", "timeout", "read-timeout", "user-agent", "header", "referer"}
    | {"post-data", "body-data", "method", "user", "http-user", "password", "http-password"}
)
_IGNORED = {
    "background",
    "inet4-only",
    "inet6-only",
    "no-hsts",
    "no-verbose",
    "quiet",
    "retry-connrefused",
    "server-response",
    "verbose",
}
_NOT_SAVING = {"output-document", "delete-after", "spider"}
_KNOWN = _VALUED | _IGNORED | _NOT_SAVING | {"no-cache"}


def _refuse_what_has_no_counterpart(options: Options) -> None:
    if "no-check-certificate" in options.names():
        raise NotPlain("it turns off certificate checks, which the engine always makes")
    for place in options.values("output-document"):
        check_output(place)
    for name in sorted(options.names() - _KNOWN):
        raise NotPlain(f"wget's {'--' if len(name) > 1 else '-'}{name} has no counterpart")


def _headers(options: Options) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in options.values("header"):
        name, _, value = line.partition(":")
        add_header(headers, name.strip(), value.strip())
    for option, name in (("user-agent", "User-Agent"), ("referer", "Referer")):
        for value in options.values(option):
            add_header(headers, name, value)
    if "no-cache" in options.names():
        headers |= {"Cache-Control": "no-cache", "Pragma": "no-cache"}
    return headers


def _method(options: Options) -> str:
    if (method := options.last("method")) is not None:
        return method.upper()
    if options.values("post-data"):
        return "POST"
    return "HEAD" if "spider" in options.names() else "GET"


def _timeout(options: Options) -> str:
    return options.last("timeout", "read-timeout") or "0"


def _notes(options: Options) -> tuple[str, ...]:
    names = options.names()
    notes = [REDIRECTS]
    if names & _RETRY:
        notes.append(RETRIES)
    if not names & _NOT_SAVING:
        notes.append(NOT_SAVED)
    if waits_longer(_timeout(options)):
        notes.append(LONG)
    return tuple(notes)


def _split_nv(arguments: Sequence[str]) -> list[str]:
    """wget's `-n` takes a letter: `-nv` is one option, also as the start of `-nvq`."""
    words: list[str] = []
    for word in arguments:
        if word.startswith("-nv"):
            words += ["--no-verbose", *([f"-{word[3:]}"] if word[3:] else [])]
        else:
            words.append(word)
    return words
