"""What kind of address a socket would connect to.

Whoever lets others name the places that a server calls lets them call, in its name, what only it
can reach: its loopback, its network, the metadata service that hands out its cloud's credentials
(server-side request forgery, CWE-918). A URL cannot be judged for that, since a name resolves
anew each time and an address has many spellings. An address can, once it is a number.

Public is what IANA has given out as unicast and no registry of special purposes lists, whatever
the list says of reachability. `ipaddress.is_global` is not that: it calls multicast, 6to4,
AS 112 and the documentation prefix 3fff::/20 global.

IPv6 has many ways to say an IPv4 address. A mapped one (::ffff:0:0/96) is that IPv4 address to the
kernel and is judged as such; translators and tunnels take the packet elsewhere, and `carried` says
whom it reaches from there. Of some the address does not tell: a network's own NAT64 has a prefix
of any length, and ISATAP the prefix of its site. `perhaps_carried` has every reading of these.

Sources: IANA's IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), multicast (RFC 5771),
global unicast and IPv4-compatible (RFC 4291), NAT64 (RFC 6052, RFC 8215), IPv4-translated
(RFC 2765), 6to4 (RFC 3056), Teredo (RFC 4380), ISATAP (RFC 5214); each cloud's page on its
metadata.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Literal

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Kind = Literal["public", "loopback", "private", "metadata", "special"]

KINDS_KEPT = 4_096
"""Addresses whose kind is remembered: a batch names few, and thirty networks are asked for each."""


def read_address(text: str) -> Address | None:
    """The address that a resolver or a URL gave, IPv4-mapped ones unwrapped.

    None for what is no address in the canonical spelling, and for one with a zone (`%eth0`): that
    names a neighbour on a wire of this machine, and no setting should.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return address
    return None if address.scope_id else address.ipv4_mapped or address


@lru_cache(maxsize=KINDS_KEPT)
def kind_of(address: Address) -> Kind:
    """Who could be there; the last resort is `special`, so that what is new is not public."""
    if _is_in(address, _METADATA):
        return "metadata"
    if address.is_loopback:
        return "loopback"
    if _is_in(address, _PRIVATE):
        return "private"
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "special"
    return "special" if _is_in(address, _SPECIAL) else "public"


def carried(address: Address) -> tuple[IPv4Address, ...]:
    """Where a translator or a tunnel takes packets for `address`; of Teredo, server and client."""
    if isinstance(address, IPv4Address) or address.is_loopback or address.is_unspecified:
        return ()
    octets = address.packed
    if octets[:12] in _ENDING_IN_IPV4:
        return (IPv4Address(octets[12:]),)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    return address.teredo or ()


def perhaps_carried(address: Address) -> tuple[IPv4Address, ...]:
    """Where such a one takes them in a network that has set it up so: every reading there is."""
    if isinstance(address, IPv4Address):
        return ()
    octets = address.packed
    if octets[:6] == _NAT64_OF_A_NETWORK:
        # Prefixes of 48, 56, 64 and 96 bits; octet 8 is left free (RFC 6052 §2.2).
        parts = octets[:8] + octets[9:]
        return tuple(map(IPv4Address, (parts[6:10], parts[7:11], parts[8:12], octets[12:])))
    return (IPv4Address(octets[12:]),) if octets[8:12] in _ISATAP else ()


def _is_in(address: Address, networks: dict[int, list[Network]]) -> bool:
    return any(address in network for network in networks[address.version])


def _by_version(texts: Iterable[str]) -> dict[int, list[Network]]:
    networks: dict[int, list[Network]] = {4: [], 6: []}
    for network in map(ip_network, texts):
        networks[network.version].append(network)
    return networks


# Link-local as a whole: most clouds have their services somewhere in 169.254.0.0/16 (instance
# metadata, ECS and EKS credentials, DNS, time), OpenStack and Linode in fe80::/10.
_METADATA = _by_version(
    [
        "169.254.0.0/16",
        "168.63.129.16/32",  # Azure's wire server, in public address space.
        "100.100.100.200/32",  # Alibaba.
        "192.0.0.192/32",  # Oracle Cloud Classic.
        "fe80::/10",
        "fd00:ec2::/32",  # AWS: metadata, DNS, time, EKS credentials.
        "fd20:ce::254/128",  # Google.
        "fd00:c1::a9fe:a9fe/128",  # Oracle.
        "fd00:42::42/128",  # Scaleway.
        "fd00:a9fe:a9fe::1/128",  # Linode.
    ]
)
_PRIVATE = _by_version(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"])
_SPECIAL = _by_version(
    [
        "0.0.0.0/8",  # Reaches loopback on Linux.
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # Multicast, reserved and broadcast.
        "2001::/23",  # Teredo, benchmarking, ORCHID and the like.
        "2001:db8::/32",
        "2002::/16",
        "2620:4f:8000::/48",
        "3fff::/20",
    ]
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_ENDING_IN_IPV4 = (
    IPv6Address("64:ff9b::").packed[:12],  # NAT64.
    IPv6Address("::ffff:0:0:0").packed[:12],  # IPv4-translated.
    IPv6Address("::").packed[:12],  # IPv4-compatible.
)
_NAT64_OF_A_NETWORK = IPv6Address("64:ff9b:1::").packed[:6]
_ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")
