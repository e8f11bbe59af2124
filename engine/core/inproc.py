"""`inproc:NAME`: a target in the engine's own process, a handler of the program that embeds it.

Such a target can be made from Python only. Over HTTP a tenant would name what runs in the engine's
own process, which no guard of addresses judges.
"""

import re

SCHEME = "inproc:"

NAME_RULE = (
    "1 to 64 letters, digits, dots, hyphens and underscores, starting with a letter or digit"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def is_inproc(url: str) -> bool:
    """Whether a handler is called, not a receiver."""
    return url.startswith(SCHEME)


def is_handler_name(text: str) -> bool:
    """Whether a handler may have this name; `NAME_RULE` says which."""
    return _NAME.fullmatch(text) is not None


def read_inproc(url: str, *, allowed: bool) -> str:
    """`url`, which `is_inproc`. Raises ValueError with what to write instead."""
    if not allowed:
        raise ValueError(
            "a handler in the engine's process can be named from Python only;"
            " write http:// or https:// with a host"
        )
    if not is_handler_name(url.removeprefix(SCHEME)):
        raise ValueError(f"write {SCHEME} and the handler's name: {NAME_RULE}")
    return url
