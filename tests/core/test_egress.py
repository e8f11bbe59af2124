"""Where deliveries may connect to, and what the refusal says."""

import re

import pytest

from engine.core.addresses import read_address
from engine.core.egress import Egress, literal_of, read_opening
from engine.core.url_rules import wire_url

NO_OPENINGS = """
localhost * 10/8 10.0.0.0/33 10.0.0.0/8: 10.0.0.0/8:0 10.0.0.1:65536
fd00::/8:443 [fd00::/8] fe80::1%eth0
"""


def refusal(text, *allow, port=443, private=False, own=False):
    egress = Egress(openings=tuple(map(read_opening, allow)), private=private)
    return egress.refusal(read_address(text), port, own=own)


def allowed(text, *allow, **circumstances):
    return refusal(text, *allow, **circumstances) is None


@pytest.mark.parametrize("text", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_the_public_is_allowed(text):
    assert allowed(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "127.0.0.1",
            '127.0.0.1 is a loopback address; to allow it: egress.allow = ["127.0.0.1:443"]',
        ),
        ("fd00::1", 'fd00::1 is a private address; to allow it: egress.allow = ["[fd00::1]:443"]'),
        (
            "::ffff:169.254.169.254",
            "169.254.169.254 is where clouds keep metadata services; to allow it: "
            'egress.allow = ["169.254.169.254:443"]',
        ),
        (
            "100.64.0.1",
            "100.64.0.1 is not a public unicast address; to allow it: "
            'egress.allow = ["100.64.0.1:443"]',
        ),
    ],
)
def test_a_refusal_says_why_and_which_line_would_allow_it(text, says):
    assert refusal(text) == says
    line = re.search(r'\["(.+)"\]', says)[1]
    assert allowed(text, line)
    assert not allowed(text, line, port=80)


@pytest.mark.parametrize(
    "text", ["127.0.0.1", "::1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "fd12::1"]
)
def test_a_keyless_engine_reaches_loopback_and_private_networks(text):
    assert not allowed(text)
    assert allowed(text, private=True)


@pytest.mark.parametrize(
    "text",
    [
        "169.254.169.254",
        "169.254.170.2",
        "168.63.129.16",
        "100.100.100.200",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fe80::a9fe:a9fe",
    ],
)
def test_metadata_is_refused_until_its_address_is_named(text):
    everything = ("0.0.0.0/0", "::/0", "169.254.0.0/16", "fd00:ec2::/32")
    assert not allowed(text, *everything, private=True)
    assert allowed(text, text)
    assert allowed(text, f"[{text}]:80", port=80)
    assert not allowed(text, f"[{text}]:80", port=81)


def test_neither_zero_nor_shared_address_space_is_private():
    assert not allowed("0.0.0.0", private=True)
    assert not allowed("100.64.0.1", private=True)


def test_the_engines_own_address_is_refused_until_it_is_named_with_its_port():
    mine = {"port": 8420, "own": True}
    said = refusal("127.0.0.1", private=True, **mine)
    assert said == (
        '127.0.0.1 is this engine\'s own address; to allow it: egress.allow = ["127.0.0.1:8420"]'
    )
    assert not allowed("127.0.0.1", "0.0.0.0/0", "127.0.0.1", "127.0.0.0/8:8420", **mine)
    assert not allowed("8.8.8.8", **mine)
    assert allowed("127.0.0.1", "127.0.0.1:8420", **mine)


def test_an_opening_is_a_network_and_perhaps_a_port():
    assert allowed("10.9.8.7", "10.0.0.0/8")
    assert allowed("10.9.8.7", "10.0.0.0/8:443")
    assert not allowed("10.9.8.7", "10.0.0.0/8:80")
    assert not allowed("172.16.0.1", "10.0.0.0/8")
    assert allowed("fd00::7", "fd00::/8")
    assert not allowed("127.0.0.1", "::/0")


def test_behind_an_opened_translator_is_what_could_be_reached_directly():
    nat64 = "64:ff9b::/96"
    assert not allowed("64:ff9b::8.8.8.8")
    assert allowed("64:ff9b::8.8.8.8", nat64)
    assert not allowed("64:ff9b::10.0.0.1", nat64)
    assert not allowed("64:ff9b::a9fe:a9fe", nat64, "64:ff9b::a9fe:a9fe", private=True)
    assert allowed("64:ff9b::10.0.0.1", nat64, "10.0.0.0/8")
    assert not allowed("2002:7f00:1::", "2002::/16")


@pytest.mark.parametrize(
    "form",
    [
        "64:ff9b::{0:x}:{1:x}",
        "2002:{0:x}:{1:x}::1",
        "::{0:x}:{1:x}",
        "::ffff:0:{0:x}:{1:x}",
        "2001:0:{0:x}:{1:x}::f7f7:f7f7",
        "2001:0:808:808::{2:x}:{3:x}",
        "2606:4700::5efe:{0:x}:{1:x}",
        "fd00::200:5efe:{0:x}:{1:x}",
        "64:ff9b:1::{0:x}:{1:x}",
        "64:ff9b:1:{0:x}:{4:x}:{5:x}00::",
    ],
)
def test_no_spelling_in_ipv6_reaches_metadata_or_unopened_loopback(form):
    def spelt(ipv4):
        high, low = divmod(int(read_address(ipv4)), 2**16)
        return form.format(high, low, high ^ 0xFFFF, low ^ 0xFFFF, low >> 8, low & 0xFF)

    assert allowed(spelt("8.8.8.8"), "::/0")
    assert not allowed(spelt("169.254.169.254"), "::/0", "0.0.0.0/0")
    assert not allowed(spelt("169.254.169.254"), spelt("169.254.169.254"), "0.0.0.0/0")
    named = ("169.254.169.254", "169.254.0.0")  # The last form may also be the second.
    assert allowed(spelt("169.254.169.254"), "::/0", "0.0.0.0/0", *named)
    assert not allowed(spelt("127.0.0.1"), "::/0")


def test_a_networks_own_translator_reaches_its_private_addresses_once_opened():
    assert not allowed("64:ff9b:1::10.0.0.1")
    assert allowed("64:ff9b:1::10.0.0.1", "64:ff9b:1::/96")


@pytest.mark.parametrize("text", ["", " 10.0.0.0/8", "10.0.0.0/8 ", *NO_OPENINGS.split()])
def test_what_is_no_opening_is_refused_with_examples(text):
    with pytest.raises(
        ValueError, match=re.escape("is not like 10.0.0.0/8, 10.0.0.7:443 or [fd00")
    ):
        read_opening(text)


def test_an_opening_that_would_not_do_what_it_seems_to_is_refused():
    with pytest.raises(ValueError, match=r"inside a network; write 10\.0\.0\.0/8"):
        read_opening("10.0.0.1/8")
    with pytest.raises(ValueError, match="write the IPv4 network"):
        read_opening("::ffff:10.0.0.0/104")


@pytest.mark.parametrize(
    ("url", "literal"),
    [
        ("http://127.0.0.1", ("127.0.0.1", 80)),
        ("https://127.0.0.1/x", ("127.0.0.1", 443)),
        ("http://127.0.0.1:8080?x=1", ("127.0.0.1", 8080)),
        ("http://[::1]:8080/", ("::1", 8080)),
        ("https://[::FFFF:7f00:1]", ("127.0.0.1", 443)),
        ("http://１２７.0.0.1/", ("127.0.0.1", 80)),
    ],
)
def test_a_literal_is_read_from_the_url_as_it_is_sent(url, literal):
    address, port = literal_of(wire_url(url))
    assert (str(address), port) == literal


@pytest.mark.parametrize("url", ["http://h/", "http://127.0.0.1.example/", "http://h/127.0.0.1"])
def test_a_name_is_no_literal(url):
    assert literal_of(wire_url(url)) is None
