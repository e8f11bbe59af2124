"""Where the engine itself would answer."""

import socket
from contextlib import suppress

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


def test_a_listener_on_loopback_holds_its_address_at_its_port(hold):
    assert hold("127.0.0.1", "127.0.0.1")
    assert hold("127.0.0.1", "::ffff:127.0.0.1")
    assert not hold("127.0.0.1", "127.0.0.1", other_port=True)
    assert hold("127.0.0.1", "0.0.0.0")  # Whither Linux takes that.
    assert not hold("127.0.0.1", "127.0.0.2")
    assert not hold("127.0.0.1", "::1")


def test_an_address_is_held_in_every_spelling_of_it_in_ipv6(hold):
    for spelt in ("64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2606:4700::5efe:7f00:1"):
        assert hold("127.0.0.1", spelt), spelt
    assert not hold("127.0.0.1", "64:ff9b::7f00:2")


def places_everywhere():
    return ["0.0.0.0", "::"] if socket.has_dualstack_ipv6() else ["0.0.0.0"]


@pytest.mark.parametrize("place", places_everywhere())
def test_a_listener_on_all_addresses_holds_loopback_at_its_port(hold, place):
    for address in ("0.0.0.0", "127.0.0.1", "127.9.9.9", "::1"):
        assert hold(place, address), address
        assert not hold(place, address, other_port=True), address


@pytest.mark.parametrize("place", places_everywhere())
def test_a_listener_on_all_addresses_holds_all_ports_of_this_machines_others(hold, place):
    for address in addresses_of_this_machine():
        assert hold(place, address), address
        assert hold(place, address, other_port=True), address
    for address in ("203.0.113.1", "255.255.255.255"):
        assert not hold(place, address)
        assert not hold(place, address, other_port=True)


def test_a_listener_on_an_address_beyond_loopback_holds_all_its_ports(hold):
    for address in addresses_of_this_machine():
        assert hold(address, address)
        assert hold(address, address, other_port=True)
        assert not hold(address, "127.0.0.1", other_port=True)


def addresses_of_this_machine():
    """From which it would speak to others: a datagram socket that connects sends nothing."""
    found = set()
    for family, elsewhere in ((socket.AF_INET, "198.51.100.1"), (socket.AF_INET6, "2600::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe, suppress(OSError):
            probe.connect((elsewhere, 9))
            found.add(probe.getsockname()[0])
    if not found:
        pytest.skip("this machine has no address but loopback")
    return found
