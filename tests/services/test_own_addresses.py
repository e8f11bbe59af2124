"""Where the engine itself would answer."""

import socket

import pytest

from engine.core.addresses import read_address
from engine.services.own_addresses import OwnAddresses


@pytest.fixture
def hold():
    """Whether what listens at a place holds an address, at its own port or at another one."""

    def ask(place, address, *, other_port=False):
        family = socket.AF_INET6 if ":" in place else socket.AF_INET
        with socket.create_server((place, 0), family=family) as listener:
            own = OwnAddresses()
            own.add(listener)
            port = listener.getsockname()[1]
            return own.hold(read_address(address), port + other_port)

    return ask


def test_an_engine_that_does_not_listen_holds_nothing(tmp_path):
    own = OwnAddresses()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        own.add(listener)
    assert not own.hold(read_address("127.0.0.1"), 8420)


def test_a_listener_holds_its_address_at_its_port(hold):
    assert hold("127.0.0.1", "127.0.0.1")
    assert hold("127.0.0.1", "::ffff:127.0.0.1")
    assert not hold("127.0.0.1", "127.0.0.1", other_port=True)
    assert hold("127.0.0.1", "0.0.0.0")  # Whither Linux takes that.
    assert not hold("127.0.0.1", "127.0.0.2")
    assert not hold("127.0.0.1", "::1")


def places_everywhere():
    return ["0.0.0.0", "::"] if socket.has_dualstack_ipv6() else ["0.0.0.0"]


@pytest.mark.parametrize("place", places_everywhere())
def test_a_listener_on_all_addresses_holds_every_one_of_this_machine(hold, place):
    for address in ("0.0.0.0", "127.0.0.1", "127.9.9.9", "::1", *addresses_of_this_machine()):
        assert hold(place, address), address
        assert not hold(place, address, other_port=True)
    assert not hold(place, "192.0.2.1")
    assert not hold(place, "255.255.255.255")


def addresses_of_this_machine():
    """What its interfaces have, as far as its own name gives them."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [address for *_, (address, *_) in found if "%" not in address]
