"""New connections: which addresses they may go to, and whom TLS believes.

Theory. Between looking a name up and connecting there is time, and whoever answers for the name
may answer something else the next time (DNS rebinding; Jackson et al., CCS 2007). A check of the
URL, or of a lookup of one's own, is therefore no check. Here the last step before `connect(2)` is
judged: aiohttp asks `socket_factory` for a socket for one address, given as numbers, and connects
the socket to that very address. Where the answer is `Blocked` there is no socket, and so nothing
that could send a packet; a literal, a name, a second answer and a retry all come by here.

A name's addresses are judged once before, as `names.py` gives them. That is for the outcome and
not for safety: a refused address must not use up the tries of one that is allowed, nor hide how
that one failed.

Trade-off. Only new connections are judged, for 5 µs each; one that rests went where it may. What a
packet meets behind its address (a NAT, a proxy, a translator with a prefix of its own) is not ours
to see; docs/security.md says what follows.
"""

import functools
import socket
import ssl
from pathlib import Path

from aiohttp import TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType

from engine.core.addresses import read_address
from engine.core.egress import Refusal
from engine.core.errors import ConfigError
from engine.services.names import Names


class Blocked(OSError):
    """An address that deliveries may not reach; the text says what would allow it.

    An OSError, since aiohttp swallows anything else that a socket factory raises.
    """


class Connector(TCPConnector):
    """aiohttp's connector, making `protocol` and connecting where `refusal` lets it.

    Its own pool stays empty: it would take the connection that rested longest, and has no bound.
    `limit` guards only, since resting connections make way before it is reached. Nor does it keep
    names: it would have one tenant's attempt wait for what another asked.
    """

    def __init__(
        self,
        protocol: type[ResponseHandler],
        refusal: Refusal,
        *,
        limit: int,
        tls: ssl.SSLContext | None,
        names: Names,
    ) -> None:
        """`tls` None: the system's authorities. Whoever made `names` closes it."""
        super().__init__(
            limit=limit,
            ssl=tls or True,
            use_dns_cache=False,
            resolver=_Narrowed(names, refusal),
            socket_factory=functools.partial(open_socket, refusal),
        )
        self._factory = functools.partial(protocol, loop=self._loop)


def open_socket(refusal: Refusal, info: AddrInfoType) -> socket.socket:
    """A socket for one answer of `getaddrinfo`, which it will connect to. Raises Blocked."""
    family, kind, protocol, _, address = info
    if family not in (socket.AF_INET, socket.AF_INET6):
        raise Blocked("only IPv4 and IPv6 addresses are connected to")
    host, port, *rest = address
    zone = rest[1] if rest else 0
    if refused := _judge(refusal, f"{host}%{zone}" if zone else str(host), int(port)):
        raise Blocked(refused)
    return socket.socket(family, kind, protocol)


def trusting(ca_file: Path) -> ssl.SSLContext:
    """Settings of TLS that believe the authorities in `ca_file` (PEM) besides the system's."""
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca_file)
    except ssl.SSLError:
        raise ConfigError(f"egress.ca_file: {ca_file} holds no certificate in PEM form") from None
    except OSError as error:
        raise ConfigError(f"egress.ca_file: {ca_file}: {error.strerror}") from None
    context.set_alpn_protocols(["http/1.1"])
    return context


class _Narrowed(AbstractResolver):
    """What `names` knows, without what is refused."""

    def __init__(self, names: Names, refusal: Refusal) -> None:
        self._names = names
        self._refusal = refusal

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host)
        refusals = [_judge(self._refusal, address, port) for address in found]
        if None not in refusals:
            raise Blocked(refusals[0])
        return [
            _numeric(host, address, port)
            for address, refused in zip(found, refusals, strict=True)
            if refused is None
        ]

    async def close(self) -> None:
        pass


def _numeric(name: str, address: str, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=name,
        host=address,
        port=port,
        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


def _judge(refusal: Refusal, host: str, port: int) -> str | None:
    address = read_address(host)
    if address is None:
        return f"{host} is no address of a network's; no setting allows one with a zone"
    return refusal(address, port)
