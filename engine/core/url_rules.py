"""Which URLs can be called, and how they go onto the wire.

Whatever the HTTP client would refuse or quietly change at delivery time is found when the schedule
is written. The result is pure ASCII and is sent as it stands: a host beyond ASCII becomes its IDNA
form (UTS 46, RFC 5891), characters beyond ASCII in path and query become percent-encoded UTF-8
(RFC 3987 §3.1), and nothing else is touched: `%61`, `%2F` and `+` arrive as written. Stricter than
RFC 3986 only where resolvers and servers disagree (`127.1`, `0x7f.0.0.1`, user information, a bare
`?`); `[` and `]` are let through after the host as browsers do, for `?ids[]=1`.
"""

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import quote

import idna

URL_LENGTH_MAX = 2_048
"""A target's URL: what proxies and servers accept without settings."""

HOST_LENGTH_MAX = 253
"""A host's name in a URL: what DNS can hold (RFC 1035 §2.3.4, without the length bytes)."""

# A batch of schedules calls many addresses at few hosts.
AUTHORITIES_SHARED_MAX = 4_096


def wire_url(text: str) -> str:
    """`text` as it will be sent. Raises ValueError with what to write instead."""
    if len(text) > URL_LENGTH_MAX:
        raise ValueError(f"write a URL of at most {URL_LENGTH_MAX:,} characters")
    if _BLANKS.search(text):
        raise ValueError("a URL holds no blanks and no control characters; write %20 for a space")
    match = _PARTS.fullmatch(text)
    if match is None:
        raise ValueError("write http:// or https:// with a host, like https://example.com/hook")
    url = f"{match['scheme'].lower()}://{_authority(match['authority'])}{_rest(match['rest'])}"
    if len(url) > URL_LENGTH_MAX:
        raise ValueError(f"percent-encoded, the URL is longer than {URL_LENGTH_MAX:,} characters")
    return url


@lru_cache(maxsize=AUTHORITIES_SHARED_MAX)
def _authority(text: str) -> str:
    if "@" in text:
        raise ValueError("a URL holds no user name or password; send an Authorization header")
    host, colon, port = text, "", ""
    if not text.endswith("]"):
        head, colon, tail = text.rpartition(":")
        host, port = (head, tail) if colon else (text, "")
    if colon and not (_PORT.fullmatch(port) and 1 <= int(port) <= 65_535):
        raise ValueError("write a port from 1 to 65535, or none")
    return f"{_host(host)}{colon}{port}"


def _host(text: str) -> str:
    if text.startswith("["):
        return _ipv6(text)
    host = text if text.isascii() else _idna(text)
    if len(host) > HOST_LENGTH_MAX or not _HOST.fullmatch(host):
        raise ValueError("write a host of letters, digits, hyphens and dots, or an IP address")
    for label in _ENCODED_LABEL.findall(host):
        _check_encoded(label)
    last_label = host.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last_label) and not _IPV4.fullmatch(host):
        # Resolvers read 127.1, 0177.0.0.1 and 2130706433 as addresses, each its own way.
        raise ValueError("write an IPv4 address as four decimal numbers, like 192.0.2.1")
    return host


def _ipv6(text: str) -> str:
    try:
        IPv6Address(text[1:-1] if text.endswith("]") and "%" not in text else "")
    except AddressValueError:
        raise ValueError("write an IPv6 address in brackets, like [::1], without a zone") from None
    return text


def _idna(text: str) -> str:
    if len(text) > HOST_LENGTH_MAX:
        raise ValueError(f"write a host of at most {HOST_LENGTH_MAX} characters")
    try:
        return idna.encode(text, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise ValueError("the host is not a valid international domain name (IDNA)") from None


def _check_encoded(label: str) -> None:
    """Refuse `xn--` with nothing behind it that the written form could have been."""
    try:
        idna.ulabel(label)
    except (idna.IDNAError, UnicodeError):
        raise ValueError(
            f"{label} stands for no valid international name (IDNA); write the name itself"
        ) from None


def _rest(text: str) -> str:
    if "#" in text:
        raise ValueError("a URL to call has no fragment; remove the # and what follows")
    if bad := _FORBIDDEN.search(text):
        raise ValueError(f"a URL cannot hold {bad[0]} as it is; write %{ord(bad[0]):02X}")
    if _BROKEN_ESCAPE.search(text):
        raise ValueError("a % starts two hexadecimal digits; write %25 for the sign itself")
    if text.endswith("?") and text.count("?") == 1:
        raise ValueError("remove the ? that nothing follows; HTTP clients drop it")
    try:
        return text if text.isascii() else quote(text, safe=_PRINTABLE)
    except UnicodeEncodeError:
        raise ValueError("the URL holds half of a surrogate pair") from None


_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_BLANKS = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]")
_PARTS = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#\\]+)(?P<rest>.*)", re.I)
_PORT = re.compile(r"[0-9]{1,5}")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_ENCODED_LABEL = re.compile(r"(?<![^.])xn--[^.]*", re.I)
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_FORBIDDEN = re.compile(r'["<>\\^`{|}]')
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
