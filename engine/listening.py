"""Where an engine listens: `HOST:PORT`, or `unix:PATH`."""

import os
import re
from ipaddress import IPv6Address, ip_address
from pathlib import Path

SOCKET_PATH_BYTES_MAX = 107
"""What the kernel's sun_path holds before its NUL (unix(7))."""


def read_listen(text: str) -> tuple[str, int] | Path:
    """`HOST:PORT` as a pair, `unix:PATH` as the socket's path. Raises ValueError.

    Port 0 lets the kernel choose.
    """
    if text.startswith("unix:"):
        return _socket_path(text.removeprefix("unix:"))
    host, colon, port = text.rpartition(":")
    if not colon or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65_535:
        raise ValueError(f"{text!r} is not HOST:PORT or unix:PATH")
    if not host:
        raise ValueError(f"{text!r} has no host: for all addresses write 0.0.0.0 or [::]")
    if ":" in host or "[" in host:
        return _ipv6(host), int(port)
    if not _HOST.fullmatch(host):
        raise ValueError(f"{host!r} is neither an IP address nor a host's name")
    return host, int(port)


def is_private(listen: str) -> bool:
    """Whether only this machine can reach what listens there: loopback or a Unix socket."""
    place = read_listen(listen)
    if isinstance(place, Path) or place[0] == "localhost":
        return True
    try:
        return ip_address(place[0]).is_loopback
    except ValueError:
        return False


_HOST = re.compile(r"(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?")
"""Labels as a resolver takes them (RFC 1035 §2.3.4), underscores too."""


def _ipv6(text: str) -> str:
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else ""
    try:
        IPv6Address(inner)
    except ValueError:
        raise ValueError(f"{text!r} is not an IPv6 address in brackets, as in [::1]") from None
    return inner


def _socket_path(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError("unix: needs a path, as in unix:/run/offbeat.sock")
    if len(os.fsencode(text)) > SOCKET_PATH_BYTES_MAX:
        raise ValueError(
            f"a socket's path has {SOCKET_PATH_BYTES_MAX} bytes at most; write a shorter one"
        )
    return Path(text)
