"""What cannot be reached, however it is written, named or redirected to (case C50).

A canary listens on 127.0.0.1, and an allowed receiver on 127.0.0.2 at the same port: it stands for
the public, since tests leave loopback alone.
"""

import json
import socket
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import pytest

from engine.core.egress import Egress, literal_of, read_opening
from engine.core.errors import ConfigError
from engine.core.url_rules import wire_url
from engine.services import names
from engine.services.connector import Blocked, open_socket, trusting
from tests.services.loopback import OK, loopback, refused, request, success, transport
from tests.services.test_transport import CERTIFICATE, server_tls

KEYED = Egress().refusal  # The public alone.
CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
CASES = Path(__file__).parent.parent / "cases" / "cases.jsonl"
[C50] = [case for case in map(json.loads, CASES.read_text().splitlines()) if case["id"] == "C50"]

UNREACHABLE = """
127.0.0.1 127.0.0.2 127.0.1.1 127.1.1.1 127.255.255.254 127.255.255.255 ::1 0.0.0.0 0.0.0.1
0.1.2.3 0.255.255.255 :: 10.0.0.0 10.0.0.1 10.10.10.10 10.255.255.255 172.16.0.0 172.16.0.1
172.17.0.1 172.20.10.2 172.31.255.255 192.168.0.0 192.168.0.1 192.168.1.254 192.168.255.255
fc00:: fc00::1 fd00::1 fd12:3456:789a::1 fdff:ffff::1 100.64.0.0 100.64.0.1 100.100.100.200
100.127.255.255 169.254.0.0 169.254.0.1 169.254.169.254 169.254.170.2 169.254.170.23
169.254.169.253 169.254.42.42 169.254.255.255 168.63.129.16 192.0.0.192 fd00:ec2::254
fd00:ec2::23 fd00:ec2::253 fd20:ce::254 fd00:42::42 fd00:c1::a9fe:a9fe fd00:a9fe:a9fe::1
fe80::1 fe80::a9fe:a9fe fe80::ffff:ffff:ffff:ffff febf::1 fec0::1 feff::1 192.0.0.0 192.0.0.1
192.0.0.8 192.0.0.170 192.0.0.255 192.0.2.0 192.0.2.1 192.0.2.255 192.31.196.1 192.52.193.1
192.88.99.1 192.88.99.2 192.175.48.1 192.175.48.42 198.18.0.0 198.18.0.1 198.19.255.255
198.51.100.0 198.51.100.1 198.51.100.255 203.0.113.0 203.0.113.1 203.0.113.255 224.0.0.1
224.0.0.251 232.1.1.1 239.255.255.250 239.255.255.255 240.0.0.1 250.1.1.1 255.255.255.254
255.255.255.255 ff01::1 ff02::1 ff02::fb ff05::2 ff0e::1 ::ffff:127.0.0.1 ::ffff:7f00:1
::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe ::ffff:192.168.0.1 ::ffff:100.100.100.200
::ffff:168.63.129.16 ::127.0.0.1 ::7f00:1 ::a9fe:a9fe ::10.0.0.1 ::ffff:0:127.0.0.1
::ffff:0:7f00:1 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1
64:ff9b:1::1 64:ff9b:1::7f00:1 2002:7f00:1:: 2002:7f00:1::1 2002:a9fe:a9fe:: 2002:a00:1::1
2002:c0a8:1::1 2001:: 2001::1 2001:0:4136:e378:8000:63bf:80ff:fffe 2001:2::1 2001:10::1
2001:20::1 2001:1ff:ffff::1 2001:db8:: 2001:db8::1 2001:db8:ffff::1 2620:4f:8000::1 3fff::1
3fff:fff::1 100::1 100:0:0:1::1 5f00::1 4000::1 8000::1 dfff::1 1fff::1 200::1
"""
SPELLINGS = """
127.1 127.0.1 127.0.0.01 127.0.0.001 0127.0.0.1 127.0.0.1. 127.0.0.1.. 0x7f.0.0.1 0X7F.0.0.1
0x7f.0x0.0x0.0x1 0x7f000001 0x7F000001 0x07f000001 0177.0.0.1 0177.0.0.01 00177.0.0.1
0177.0x0.0.1 017700000001 2130706433 02130706433 2130706433. 0x7f.1 127.0x1 127.65536 0 0.0.0.0
0x0 00 000000 0.0 256.256.256.256 127.0.0.257 4294967295 4294967296 18446744071562067969
①②⑦.0.0.1 １２７.0.0.1 127。0。0。1 127．0．0．1 127｡0｡0｡1 ⑫7.0.0.1 𝟏𝟐𝟕.𝟎.𝟎.𝟏 ¹²⁷.0.0.1 0ₓ7f.1
[::1] [::] [0:0:0:0:0:0:0:1] [0000:0000::0001] [::0001] [::127.0.0.1] [::ffff:127.0.0.1]
[::FFFF:127.0.0.1] [::ffff:7f00:1] [::ffff:7f00:0001] [0:0:0:0:0:ffff:7f00:1] [::ffff:0:7f00:1]
[::1%lo] [::1%25lo] [fe80::1%25eth0] [::ffff:127.1] [::ffff:0x7f.1] [::1]. [[::1]] ::1
localhost LOCALHOST localhost. ｌocalhost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ localhost.localdomain ip6-localhost
127.0.0.1.nip.example 7f000001.rebind.example user@127.0.0.1 127.0.0.1%00 127.0.0.1%2f
127.0.0.1\\@h 127.0.0.1#h h#@127.0.0.1 127.0.0.1%09 ﹡.127.0.0.1
"""


class Answers:
    """A `Lookup` that gives the same addresses to every question, or each of several in turn."""

    def __init__(self, *answers):
        self._answers = cycle(answers)

    async def __call__(self, name):
        return list(next(self._answers))


@asynccontextmanager
async def public_and_canary():
    """An allowed receiver, a forbidden one beside it, and the judgement that tells them apart."""
    async with loopback(CLOSING, host="127.0.0.2") as public:
        opening = read_opening(f"127.0.0.2:{public.port}")
        async with loopback(OK, port=public.port) as canary:
            yield public, canary, Egress(openings=(opening,)).refusal


def bracketed(address):
    return f"[{address}]" if ":" in address else address


def test_the_lists_are_as_long_as_they_claim():
    assert len(set(UNREACHABLE.split())) >= 120
    assert len(set(SPELLINGS.split())) >= 60


def test_no_literal_of_an_unreachable_address_is_connected_to(run):
    async def scenario():
        async with loopback(OK) as canary, transport(refusal=KEYED) as it:
            for address in UNREACHABLE.split():
                outcome = await it.send(request(f"http://{bracketed(address)}:{canary.port}/"))
                assert outcome.name == "blocked", address
                assert "to allow it: egress.allow = [" in outcome.error
            assert canary.connections == 0

    run(scenario())


def test_no_name_of_an_unreachable_address_is_connected_to(run):
    async def scenario():
        async with loopback(OK) as canary:
            for address in (*UNREACHABLE.split(), "fe80::1%lo", "::1%1"):
                async with transport(refusal=KEYED, look_up=Answers([address])) as it:
                    outcome = await it.send(request(f"http://a.example:{canary.port}/"))
                    assert outcome.name == "blocked", address
            assert canary.connections == 0

    run(scenario())


def test_no_redirect_to_an_unreachable_address_is_followed(run):
    moves = [
        f"HTTP/1.1 302 Found\r\nLocation: http://{bracketed(address)}:{{port}}/\r\n"
        "Content-Length: 0\r\n\r\n"
        for address in UNREACHABLE.split()
    ]

    async def scenario():
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        answers = [move.format(port=port).encode() for move in moves]
        async with (
            loopback(OK, port=port) as canary,
            loopback(*answers, host="127.0.0.2") as public,
            transport(refusal=Egress(openings=(read_opening("127.0.0.2"),)).refusal) as it,
        ):
            for _ in moves:
                assert await it.send(request(public.url)) == refused(302)
            assert (len(public.requests), canary.connections) == (len(moves), 0)

    run(scenario())


def test_no_spelling_of_a_loopback_address_is_connected_to(run):
    """Whether the rules for URLs refuse it, the guard does, or both."""

    async def scenario():
        async with (
            loopback(OK) as canary,
            transport(refusal=KEYED, look_up=Answers(["127.0.0.1"])) as it,
        ):
            for spelling in SPELLINGS.split():
                url = f"http://{spelling}:{canary.port}/"
                with_rules = stored(url)
                assert with_rules is None or (await it.send(request(with_rules))).name == "blocked"
                without_rules = await it.send(request(url))
                assert without_rules.name in {"blocked", "protocol_error", "connect_error"}, url
            assert canary.connections == 0

    run(scenario())


def stored(url):
    """The URL as a schedule would keep it, or None when it is refused as it is written."""
    try:
        wire = wire_url(url)
    except ValueError:
        return None
    literal = literal_of(wire)
    return None if literal and KEYED(*literal) else wire


def test_a_thousand_deliveries_to_a_name_that_turns_to_loopback_do_not_reach_it(run, monkeypatch):
    monkeypatch.setattr(names, "NAMES_KEPT_SECONDS", 0)  # Each delivery asks again.

    async def scenario():
        async with public_and_canary() as (public, canary, refusal):
            turning = Answers(["127.0.0.2"], ["127.0.0.1"])
            async with transport(refusal=refusal, look_up=turning) as it:
                url = f"http://rebind.example:{public.port}/"
                outcomes = [await it.send(request(url)) for _ in range(1_000)]
            assert {outcome.name for outcome in outcomes[::2]} == {"success"}
            assert {outcome.name for outcome in outcomes[1::2]} == {"blocked"}
            assert (len(public.requests), canary.connections) == (500, 0)

    run(scenario())


@pytest.mark.parametrize("others", [["127.0.0.1"], ["::1", "10.0.0.1"], ["169.254.169.254"] * 9])
def test_of_a_name_with_allowed_and_refused_addresses_the_allowed_are_tried(run, others):
    async def scenario():
        async with public_and_canary() as (public, canary, refusal):
            for answer in ([*others, "127.0.0.2"], ["127.0.0.2", *others]):
                async with transport(refusal=refusal, look_up=Answers(answer)) as it:
                    url = f"http://both.example:{public.port}/"
                    assert await it.send(request(url)) == success()
            assert (len(public.requests), canary.connections) == (2, 0)

    run(scenario())


def test_an_allowed_address_that_fails_is_what_a_name_fails_of(run):
    """That may be over later; a refusal is final."""

    async def scenario():
        with socket.create_server(("127.0.0.2", 0)) as closed:
            port = closed.getsockname()[1]
        refusal = Egress(openings=(read_opening("127.0.0.2"),)).refusal
        for answer in (["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]):
            async with transport(refusal=refusal, look_up=Answers(answer)) as it:
                outcome = await it.send(request(f"http://both.example:{port}/"))
                assert outcome.name == "connect_error"

    run(scenario())


def test_a_name_with_refused_addresses_alone_says_what_would_allow_the_first(run):
    async def scenario():
        look_up = Answers(["10.0.0.1", "::1", "127.0.0.1"])
        async with transport(refusal=KEYED, look_up=look_up) as it:
            outcome = await it.send(request("https://inside.example/"))
            assert outcome.name == "blocked"
            assert outcome.error == (
                '10.0.0.1 is a private address; to allow it: egress.allow = ["10.0.0.1:443"]'
            )

    run(scenario())


def test_a_name_with_a_thousand_addresses_is_tried_at_a_few(run):
    async def scenario():
        asked = []

        def refusal(address, port):
            asked.append(address)
            return KEYED(address, port)

        crowd = Answers([f"10.0.{i >> 8}.{i & 255}" for i in range(1_000)])
        async with transport(refusal=refusal, look_up=crowd) as it:
            assert (await it.send(request("http://crowd.example/"))).name == "blocked"
        assert len(asked) == 16

    run(scenario())


@pytest.mark.parametrize("url", C50["input"]["urls"])
def test_c50_every_way_to_write_a_private_address_ends_before_a_connection(run, url):
    async def scenario():
        async with (
            loopback(OK) as canary,
            transport(refusal=KEYED, look_up=Answers(["127.0.0.1"])) as it,
        ):
            wire = stored(url.replace(":P/", f":{canary.port}/"))
            assert wire is None or (await it.send(request(wire))).name == "blocked"
            assert canary.connections == 0

    run(scenario())


@pytest.mark.parametrize("url", ["unix:/run/x.sock", "http+unix://%2Frun%2Fx.sock/"])
def test_a_unix_socket_has_no_url(run, url):
    with pytest.raises(ValueError, match="write"):
        wire_url(url)

    async def scenario():
        async with transport() as it:
            assert (await it.send(request(url))).name == "protocol_error"

    run(scenario())


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_UNIX, "/run/x.sock"),
        (socket.AF_INET6, ("::1", 80, 0, 1)),
        (socket.AF_INET6, ("fe80::1%lo", 80, 0, 0)),
        (socket.AF_INET, ("127.1", 80)),
        (socket.AF_INET, ("localhost", 80)),
    ],
)
def test_a_socket_is_made_for_plain_internet_addresses_alone(family, address):
    info = (family, socket.SOCK_STREAM, 0, "", address)
    with pytest.raises(Blocked):
        open_socket(lambda _address, _port: None, info)


def test_authorities_of_a_file_are_believed_beside_the_systems(run):
    async def scenario():
        async with loopback(OK, tls=server_tls()) as receiver:
            async with transport(tls=trusting(CERTIFICATE)) as it:
                assert await it.send(request(receiver.url)) == success()
                other_name = f"https://127.0.0.2:{receiver.port}/"
                async with loopback(OK, tls=server_tls(), host="127.0.0.2", port=receiver.port):
                    assert (await it.send(request(other_name))).name == "tls_error"
            async with transport() as it:
                assert (await it.send(request(receiver.url))).name == "tls_error"

    run(scenario())


def test_a_file_without_authorities_is_a_fault_of_the_settings(tmp_path):
    path = tmp_path / "ca.pem"
    with pytest.raises(ConfigError, match=rf"egress.ca_file: {path}: No such file"):
        trusting(path)
    path.write_text("none")
    with pytest.raises(ConfigError, match=rf"egress.ca_file: {path} holds no certificate"):
        trusting(path)
