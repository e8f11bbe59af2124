"""Where this process listens: what is delivered there would reach the engine from inside.

A tenant who cannot reach the API, or whom it knows by where requests come from, could otherwise
have the engine call itself, or what else its machine offers at that address to who comes from
there. So the whole address is the engine's, with every port. Loopback is not: what listens there is
no neighbour of the API's but the machine's own, and judged as loopback.

Mounted in another program the engine listens nowhere itself; what it is sent by itself the API
refuses then (`web/access.py`).
"""

import socket
from ipaddress import ip_address

from engine.core.addresses import Address, carried, perhaps_carried


class OwnAddresses:
    """The addresses and ports at which the engine answers."""

    def __init__(self) -> None:
        self._listeners: set[tuple[Address, int]] = set()

    def add(self, listener: socket.socket) -> None:
        """A bound socket. One that is no internet socket has nothing to guard."""
        if listener.family in (socket.AF_INET, socket.AF_INET6):
            host, port = listener.getsockname()[:2]
            self._listeners.add((ip_address(host), port))

    def hold(self, address: Address, port: int) -> bool:
        """Whether the engine answers there, at another port of the address, or behind it."""
        behind = carried(address) + perhaps_carried(address)
        return self._hold(address, port) or any(self._hold(ipv4, port) for ipv4 in behind)

    def _hold(self, address: Address, port: int) -> bool:
        loopback = address.is_loopback or address.is_unspecified
        return any(
            (port == own_port or not loopback)
            and (address == own or (_is_any(address, own) and _is_here(address)))
            for own, own_port in self._listeners
        )


def _is_any(address: Address, own: Address) -> bool:
    """0.0.0.0 and :: are every address to a listener, and loopback to who connects."""
    return address.is_unspecified or own.is_unspecified


def _is_here(address: Address) -> bool:
    """Whether `address` is this machine's, as its routes have it: a datagram socket that connects
    gets its own address, and sends nothing."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), 9))
        except OSError:
            return False
        return bool(probe.getsockname()[0] == str(address))
