"""What an address is, against ranges that were written down from the registries a second time."""

import random
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest

from engine.core.addresses import carried, kind_of, perhaps_carried, read_address

# The oracle lists what is public, first and last address, where the code lists what is not; it
# compares whole numbers and leaves `ipaddress` out.
PUBLIC = """
1.0.0.0 9.255.255.255
11.0.0.0 100.63.255.255
100.128.0.0 126.255.255.255
128.0.0.0 168.63.129.15
168.63.129.17 169.253.255.255
169.255.0.0 172.15.255.255
172.32.0.0 191.255.255.255
192.0.1.0 192.0.1.255
192.0.3.0 192.31.195.255
192.31.197.0 192.52.192.255
192.52.194.0 192.88.98.255
192.88.100.0 192.167.255.255
192.169.0.0 192.175.47.255
192.175.49.0 198.17.255.255
198.20.0.0 198.51.99.255
198.51.101.0 203.0.112.255
203.0.114.0 223.255.255.255
2000:: 2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff
2001:200:: 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff
2001:db9:: 2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff
2003:: 2620:4f:7fff:ffff:ffff:ffff:ffff:ffff
2620:4f:8001:: 3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff
3fff:1000:: 3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
"""
LOOPBACK = "127.0.0.0 127.255.255.255\n::1 ::1"
PRIVATE = """
10.0.0.0 10.255.255.255
172.16.0.0 172.31.255.255
192.168.0.0 192.168.255.255
fc00:: fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
"""
METADATA = """
169.254.0.0 169.254.255.255
168.63.129.16 168.63.129.16
100.100.100.200 100.100.100.200
192.0.0.192 192.0.0.192
fe80:: febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff
fd00:ec2:: fd00:ec2:ffff:ffff:ffff:ffff:ffff:ffff
fd20:ce::254 fd20:ce::254
fd00:c1::a9fe:a9fe fd00:c1::a9fe:a9fe
fd00:42::42 fd00:42::42
fd00:a9fe:a9fe::1 fd00:a9fe:a9fe::1
"""
SPECIAL = """
0.0.0.0 0.255.255.255 100.64.0.1 192.0.0.1 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1
192.175.48.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
255.255.255.255 :: ::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 1fff::1
2001::1 2001:1ff::1 2001:db8::1 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1
5f00::1 fec0::1 ff02::1
"""
SPELLINGS = """
fe80::1%eth0 fe80::1%2 2606:4700::1%1 ::ffff:127.0.0.1%1 fe80::1%25eth0
127.1 0x7f.0.0.1 0177.0.0.1 2130706433 127.0.0.01 127.0.0.1. localhost [::1]
"""
BITS = {4: 32, 6: 128}


def number(text):
    """Version and value of an address, as the C library reads it."""
    version = 6 if ":" in text else 4
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    return version, int.from_bytes(socket.inet_pton(family, text))


def ranges(table):
    return [tuple(map(number, line.split())) for line in table.strip().splitlines()]


# First match wins; what matches nothing is special.
ORACLE = [
    (kind, first, last)
    for kind, table in [
        ("metadata", METADATA),
        ("loopback", LOOPBACK),
        ("private", PRIVATE),
        ("public", PUBLIC),
    ]
    for first, last in ranges(table)
]


def expected(version, value):
    if version == 6 and value >> 32 == 0xFFFF:  # IPv4-mapped: the IPv4 address itself.
        version, value = 4, value & 0xFFFF_FFFF
    point = (version, value)
    return next((kind for kind, first, last in ORACLE if first <= point <= last), "special")


def judged(version, value):
    written = str((IPv4Address if version == 4 else IPv6Address)(value))
    return kind_of(read_address(written))


def test_a_hundred_thousand_random_addresses_are_what_the_oracle_says():
    draw = random.Random(11)
    seen = {}
    for _ in range(100_000):
        version, value = point(draw)
        kind = expected(version, value)
        assert judged(version, value) == kind, ip_address(value)
        seen[version, kind] = seen.get((version, kind), 0) + 1
    assert len(seen) == 10, "every kind was drawn in both versions"
    assert min(seen.values()) > 1_000


def point(draw):
    """Anywhere, or anywhere in a range, or within 300 of the end of one."""
    _, first, last = draw.choice(ORACLE)
    version, bits = first[0], BITS[first[0]]
    match draw.randrange(4):
        case 0:
            return version, draw.getrandbits(bits)
        case 1:
            return version, draw.randint(first[1], last[1])
        case 2 if version == 4:
            return 6, 0xFFFF << 32 | draw.randint(first[1], last[1])
        case _:
            near = draw.choice((first, last))[1] + draw.randint(-300, 300)
            return version, min(max(near, 0), 2**bits - 1)


@pytest.mark.parametrize(("kind", "first", "last"), ORACLE)
def test_a_range_begins_and_ends_where_it_does(kind, first, last):
    version = first[0]
    assert (judged(*first), judged(*last)) == (kind, kind)
    for value in (first[1] - 1, last[1] + 1):
        if 0 <= value < 2 ** BITS[version]:
            assert judged(version, value) == expected(version, value)


@pytest.mark.parametrize("text", SPECIAL.split())
def test_what_a_registry_lists_is_not_public(text):
    assert kind_of(read_address(text)) == "special"


@pytest.mark.parametrize("text", ["::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:FFFF:7F00:0001"])
def test_a_mapped_address_is_the_ipv4_address(text):
    assert read_address(text) == IPv4Address("127.0.0.1")


@pytest.mark.parametrize("text", ["", " 127.0.0.1", "::1\0", "１２７.0.0.1", *SPELLINGS.split()])
def test_a_zone_or_another_spelling_is_no_address(text):
    assert read_address(text) is None


# Where each form has its IPv4 address, as bits of the whole: what is drawn fills the rest.
FORMS = {
    "IPv4-compatible": lambda ipv4, _: ipv4,
    "IPv4-translated": lambda ipv4, _: 0xFFFF << 48 | ipv4,
    "NAT64": lambda ipv4, _: 0x64_FF9B << 96 | ipv4,
    "6to4": lambda ipv4, bits: 0x2002 << 112 | ipv4 << 80 | bits(80),
    "Teredo, server": lambda ipv4, bits: 0x2001_0000 << 96 | ipv4 << 64 | bits(64),
    "Teredo, client": lambda ipv4, bits: 0x2001_0000 << 96 | bits(64) << 32 | ipv4 ^ 0xFFFF_FFFF,
    "ISATAP": lambda ipv4, bits: bits(64) << 64 | bits(1) << 57 | 0x5EFE << 32 | ipv4,
    "a network's NAT64, 48 bits": lambda ipv4, bits: (
        OF_A_NETWORK | ipv4 >> 16 << 64 | bits(8) << 56 | (ipv4 & 0xFFFF) << 40 | bits(40)
    ),
    "a network's NAT64, 56 bits": lambda ipv4, bits: (
        OF_A_NETWORK | bits(8) << 72 | ipv4 >> 24 << 64 | (ipv4 & 0xFF_FFFF) << 32 | bits(32)
    ),
    "a network's NAT64, 64 bits": lambda ipv4, bits: (
        OF_A_NETWORK | bits(16) << 64 | bits(8) << 56 | ipv4 << 24 | bits(24)
    ),
    "a network's NAT64, 96 bits": lambda ipv4, bits: OF_A_NETWORK | bits(48) << 32 | ipv4,
}
OF_A_NETWORK = 0x64_FF9B_0001 << 80


@pytest.mark.parametrize("form", FORMS)
def test_whatever_form_an_ipv4_address_has_it_is_seen(form):
    draw = random.Random(13)
    for _ in range(1_000):
        ipv4 = draw.randint(2, 2**32 - 1)  # ::0 and ::1 are addresses of their own.
        address = read_address(str(IPv6Address(FORMS[form](ipv4, draw.getrandbits))))
        assert IPv4Address(ipv4) in carried(address) + perhaps_carried(address), address


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        ("64:ff9b::a9fe:a9fe", "169.254.169.254"),
        ("2002:a9fe:a9fe::", "169.254.169.254"),
        ("2002:7f00:1:2::3", "127.0.0.1"),
        ("::a9fe:a9fe", "169.254.169.254"),
        ("::ffff:0:a9fe:a9fe", "169.254.169.254"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "65.54.227.120 192.0.2.45"),
    ],
)
def test_a_translated_address_says_whom_it_reaches(text, behind):
    assert carried(read_address(text)) == tuple(map(IPv4Address, behind.split()))


@pytest.mark.parametrize(
    "text",
    [
        "64:ff9b:1:c000:2:2100::",
        "64:ff9b:1:3c0:0:221::",
        "64:ff9b:1:344:c0:2:2100::",
        "64:ff9b:1:344::192.0.2.33",
        "2606:4700::5efe:192.0.2.33",
        "fd00::200:5efe:192.0.2.33",
    ],
)
def test_a_networks_own_translator_may_have_a_prefix_of_any_length(text):
    assert IPv4Address("192.0.2.33") in perhaps_carried(read_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "2606:4700::1111", "::1", "::", "64:ff9b:2::7f00:1"])
def test_other_addresses_carry_none(text):
    assert carried(read_address(text)) == perhaps_carried(read_address(text)) == ()
