"""Which headers a schedule may send.

Names are RFC 9110 §5.6.2 tokens, values visible ASCII with blanks inside: what cannot break out of
its line, and what every server reads alike. Headers that frame the message, steer the connection or
carry the engine's own claims about the run belong to the engine.
"""

import re

from engine.core.errors import Fault
from engine.core.fields import FAULTS_MAX, member_pointer
from engine.core.request import ENGINE_HEADERS

HEADERS_MAX = 32
"""Headers of a target: the engine adds a dozen, and Apache httpd takes a hundred in all."""

HEADERS_BYTES_MAX = 8_192
"""Headers of a target together: nginx, Apache and aiohttp refuse more than about so much."""

# Name and value travel with ": " and CRLF.
_LINE_OVERHEAD_BYTES = 4

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?")

RESERVED_NAMES = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "connection",
        "keep-alive",
        "upgrade",
        "expect",
        "forwarded",
        "proxy",  # CGI makes HTTP_PROXY of it (CVE-2016-5385 and its kin).
        *map(str.lower, ENGINE_HEADERS),
    }
)
RESERVED_PREFIXES = ("proxy-", "x-forwarded-", "webhook-", "x-scheduler-")


def read_headers(
    members: object, *, pointer: str, faults: list[Fault]
) -> tuple[tuple[str, str], ...]:
    """The headers in their order; what is wrong with them goes to `faults`."""
    if members is None:
        return ()
    if type(members) is not dict:
        faults.append(Fault(pointer, 'write a JSON object like {"X-Name": "value"}'))
        return ()
    if len(members) > HEADERS_MAX:
        faults.append(Fault(pointer, f"write at most {HEADERS_MAX} headers"))
        return ()
    seen: set[str] = set()
    for name, value in members.items():
        detail = _fault(name, value, seen)
        if detail is not None and len(faults) < FAULTS_MAX:
            faults.append(Fault(member_pointer(pointer, name), detail))
        seen.add(name.lower())
    headers = tuple(members.items())
    if sum(len(n) + len(str(v)) + _LINE_OVERHEAD_BYTES for n, v in headers) > HEADERS_BYTES_MAX:
        faults.append(Fault(pointer, f"headers take at most {HEADERS_BYTES_MAX:,} bytes together"))
    return headers


def _fault(name: str, value: object, seen: set[str]) -> str | None:
    lowered = name.lower()
    if not HEADER_NAME.fullmatch(name):
        return "a header name is letters, digits and hyphens (an RFC 9110 token)"
    # CGI and WSGI make no difference between the two: Webhook_Id would be read as webhook-id.
    hyphenated = lowered.replace("_", "-")
    if hyphenated in RESERVED_NAMES or hyphenated.startswith(RESERVED_PREFIXES):
        return "the engine or HTTP itself sets this header; leave it out"
    if lowered in seen:
        return "the same header appears twice; upper and lower case are one"
    if type(value) is not str:
        return 'write the value as text, like "5"'
    if not HEADER_VALUE.fullmatch(value):
        return "a header value is visible ASCII, with blanks only inside"
    return None
