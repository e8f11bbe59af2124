"""Who may speak to an engine that listens on loopback: programs, not other people's web pages.

A page can make its own name resolve to 127.0.0.1 (DNS rebinding) and then read what the engine
answers; its requests carry that name in Host. And a page can send a request anywhere without being
allowed to read the answer; a browser then says in Origin where the page came from, and in
Sec-Fetch-Site (W3C Fetch Metadata) how far that is from here.
"""

import re
from ipaddress import ip_address

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from engine.listening import is_private
from engine.web.problems import Problem

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

OWN_SITES = frozenset({"same-origin", "none"})
"""What a browser says of a page of ours, and of what a person typed."""


def host_guard(listen: str) -> Middleware:
    """A middleware for an engine that listens on `listen`.

    A Unix socket has no name, and an address that others can reach has any; keys guard it.
    """
    on_loopback = is_private(listen) and not listen.startswith("unix:")

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = _authority(request)
        if on_loopback and not _is_local(host):
            raise Problem(
                421, "host_not_allowed", "this engine answers to 127.0.0.1, [::1] and localhost"
            )
        origin = request.headers.get("Origin")
        foreign = origin is not None and origin.partition("://")[2] != host
        foreign |= request.headers.get("Sec-Fetch-Site", "none") not in OWN_SITES
        if foreign and request.method not in SAFE_METHODS:
            raise Problem(403, "cross_origin", "web pages of other origins change nothing here")
        return await handler(request)

    return guard


def _authority(request: web.Request) -> str:
    """Whom the request is for: a target in absolute form says it instead of Host (RFC 9112
    §3.2.2), and other readers on the way go by that too."""
    absolute = _ABSOLUTE.match(request.raw_path)
    return absolute["authority"] if absolute else request.headers.get("Host", "")


def _is_local(host: str) -> bool:
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    if match["name"] is not None and match["name"].lower() == "localhost":
        return True
    try:
        return ip_address(match["name"] or match["bracketed"]).is_loopback
    except ValueError:
        return False


_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<authority>[^/?#]*)")
_HOST = re.compile(r"(?:\[(?P<bracketed>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]]+))(?::[0-9]*)?")
