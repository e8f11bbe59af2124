"""Where deliveries may connect to: the public, and what the operator opened (SPEC §11).

`egress.allow` holds openings: a network in CIDR notation, or one address, and perhaps a port. An
address inside is then judged as if it were public, with two exceptions. What must not be meant by
accident has to be named alone: a metadata service by its address, the engine's own API by its
address and port; `0.0.0.0/0` opens neither. And a translator (NAT64, 6to4) is opened to what could
be reached directly: behind `64:ff9b::/96` there is still the public alone. Where an address may be
such a one's or not, it is refused for a metadata service or loopback behind it alone.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_network

from engine.core.addresses import (
    Address,
    Kind,
    Network,
    carried,
    kind_of,
    perhaps_carried,
    read_address,
)

LITERALS_SHARED_MAX = 4_096
"""Addresses in URLs that are kept read: a batch of schedules calls few of them."""

Refusal = Callable[[Address, int], str | None]
"""Judges an address and a port: why it is refused, and what would allow it; None: it may be."""

_WHAT: dict[Kind, str] = {
    "loopback": "a loopback address",
    "private": "a private address",
    "metadata": "where clouds keep metadata services",
    "special": "not a public unicast address",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """An entry of `egress.allow`; `port` None: every port."""

    network: Network
    port: int | None = None

    def holds(self, address: Address, port: int) -> bool:
        return self.port in (None, port) and address in self.network

    def __str__(self) -> str:
        """As it is written, where it may differ in the length of a prefix."""
        if self.port is None:
            return str(self.network)
        network = f"[{self.network}]" if self.network.version == 6 else self.network
        return f"{network}:{self.port}"

    @property
    def is_one_address(self) -> bool:
        return self.network.num_addresses == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Egress:
    """What may be connected to; `private`: loopback and private networks as well."""

    openings: tuple[Opening, ...] = ()
    private: bool = False

    def refusal(self, address: Address, port: int, *, own: bool = False) -> str | None:
        """Why nothing may connect to `address`, with the opening that would change it, or None.

        `address` is one of `read_address`; `own`: the engine itself listens there.
        """
        kind = kind_of(address)
        reached = kind == "public" or (self.private and kind in ("loopback", "private"))
        if (reached and not own) or self._is_opened(address, port, kind, own=own):
            refusals = (self.refusal(ipv4, port) for ipv4 in _behind(address))
            return next(filter(None, refusals), None)
        what = "this engine's own address" if own else _WHAT[kind]
        return f'{address} is {what}; to allow it: egress.allow = ["{_line(address, port)}"]'

    def _is_opened(self, address: Address, port: int, kind: Kind, *, own: bool) -> bool:
        openings = [o for o in self.openings if o.holds(address, port)]
        if own:
            return any(o.is_one_address and o.port for o in openings)
        return any(o.is_one_address or kind != "metadata" for o in openings)


def read_opening(text: str) -> Opening:
    """`10.0.0.0/8`, `10.0.0.7:443`, `[fd00::/8]:443`. Raises ValueError with what to write."""
    match = _WITH_PORT.fullmatch(text)
    written, port = (match["ipv6"] or match["ipv4"], int(match["port"])) if match else (text, None)
    try:
        network = ip_network(written, strict=False)
    except ValueError:
        network = None
    if network is None or "%" in text or (port is not None and not 1 <= port <= 65_535):
        raise ValueError(f"{text!r} is not like 10.0.0.0/8, 10.0.0.7:443 or [fd00::/8]:443")
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped:
        raise ValueError(f"{text!r} is judged as IPv4; write the IPv4 network")
    if network.network_address != ip_address(written.partition("/")[0]):
        raise ValueError(f"{text!r} is an address inside a network; write {network}")
    return Opening(network=network, port=port)


def literal_of(url: str) -> tuple[Address, int] | None:
    """Address and port of a URL as `url_rules` leaves it; None when its host is a name."""
    match = _LITERAL.match(url)
    return None if match is None else _literal(*match.group("scheme", "ipv6", "ipv4", "port"))


@lru_cache(maxsize=LITERALS_SHARED_MAX)
def _literal(
    scheme: str, ipv6: str | None, ipv4: str | None, port: str | None
) -> tuple[Address, int]:
    address = read_address(ipv6 or ipv4 or "")
    assert address is not None, "url_rules let no other spelling pass"
    return address, int(port or (443 if scheme == "https" else 80))


def _behind(address: Address) -> list[IPv4Address]:
    """The IPv4 addresses that must be allowed for `address` to be."""
    perhaps = (a for a in perhaps_carried(address) if kind_of(a) in ("metadata", "loopback"))
    return [*carried(address), *perhaps]


def _line(address: Address, port: int) -> str:
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"


_WITH_PORT = re.compile(r"(?:\[(?P<ipv6>[^]]+)\]|(?P<ipv4>[^:]+)):(?P<port>[0-9]{1,5})")
_LITERAL = re.compile(
    r"(?P<scheme>https?)://(?:\[(?P<ipv6>[^\]]+)\]|(?P<ipv4>[0-9.]+))(?::(?P<port>[0-9]+))?"
    r"(?=[/?]|$)"
)
