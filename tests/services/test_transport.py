"""The transport's settings, each by what a receiver sees or an attempt gets."""

import asyncio
import os
import socket
import ssl
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from engine import __version__
from tests.services.loopback import OK, broken, loopback, refused, request, success, transport

CERTIFICATE = Path(__file__).parent / "localhost.pem"


def test_request_is_the_tenants_bytes_and_three_headers(run):
    headers = [("x-lower", "ä"), ("X-UPPER", "1")]

    async def scenario():
        async with loopback(OK) as receiver, transport() as it:
            url = f"http://127.0.0.1:{receiver.port}/a%2Fb/../c?z=%61&y=a+b&e=%E9&ids[]=1"
            await it.send(request(url, headers=headers, body=b"\x00\xff body"))
            assert receiver.requests == [
                b"POST /a%2Fb/../c?z=%61&y=a+b&e=%E9&ids[]=1 HTTP/1.1\r\n"
                + f"Host: 127.0.0.1:{receiver.port}\r\n".encode()
                + f"User-Agent: offbeat/{__version__}\r\n".encode()
                + "x-lower: ä\r\nX-UPPER: 1\r\nContent-Length: 7\r\n\r\n".encode()
                + b"\x00\xff body"
            ]

    run(scenario())


def test_header_given_twice_is_not_sent_at_all(run):
    headers = [("webhook-id", "engine's"), ("Webhook-Id", "tenant's")]

    async def scenario():
        async with loopback(OK) as receiver, transport() as it:
            outcome = await it.send(request(receiver.url, headers=headers))
            assert outcome == broken("request not sent: header webhook-id would be sent twice")
            assert receiver.connections == 0

    run(scenario())


def test_redirect_is_an_answer(run):
    async def scenario():
        async with loopback(OK) as elsewhere:
            moved = f"HTTP/1.1 307 Moved\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n"
            async with loopback(moved.encode()) as receiver, transport() as it:
                assert await it.send(request(receiver.url)) == refused(307)
            assert elsewhere.connections == 0

    run(scenario())


def test_proxies_and_netrc_of_the_environment_are_ignored(run, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))

    async def scenario():
        async with loopback(OK) as proxy, loopback(OK) as receiver, transport() as it:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            monkeypatch.delenv("no_proxy", raising=False)
            await it.send(request(receiver.url))
            assert proxy.connections == 0
            assert b"uthorization" not in receiver.requests[0]

    run(scenario())


def test_cookies_are_not_kept(run):
    sets = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok"

    async def scenario():
        async with loopback(sets) as receiver, transport() as it:
            await it.send(request(receiver.url))
            await it.send(request(receiver.url))
            assert receiver.requests[0] == receiver.requests[1]

    run(scenario())


def test_encoded_body_is_kept_as_it_came(run):
    encoded = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope"

    async def scenario():
        async with loopback(encoded) as receiver, transport() as it:
            assert await it.send(request(receiver.url)) == success(b"nope")
            assert b"ncoding" not in receiver.requests[0]

    run(scenario())


def test_small_writes_are_not_held_back(run):
    async def scenario():
        async with loopback(OK) as receiver, transport() as it:
            await it.send(request(receiver.url))
            with socket_connected_to(receiver.port) as client:
                assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1

    run(scenario())


def test_port_where_nobody_listens_is_a_connect_error(run):
    async def scenario():
        with socket.create_server(("127.0.0.1", 0)) as closed:
            url = f"http://127.0.0.1:{closed.getsockname()[1]}/?token=secret"
        async with transport() as it:
            outcome = await it.send(request(url))
            assert (outcome.name, outcome.error) == ("connect_error", "Connection refused")

    run(scenario())


@pytest.mark.parametrize("host", ["nobody.invalid", "a" * 64 + ".example"])
def test_name_that_does_not_resolve_is_a_dns_error(run, host):
    async def scenario():
        async with transport() as it:
            assert (await it.send(request(f"http://{host}/"))).name == "dns_error"

    run(scenario())


def test_receiver_without_tls_is_a_tls_error(run):
    async def speak_plainly(line):
        await line.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await line.hang_up_awaited()

    async def scenario():
        async with loopback(handle=speak_plainly) as receiver, transport() as it:
            outcome = await it.send(request(f"https://127.0.0.1:{receiver.port}/"))
            assert outcome.name == "tls_error"

    run(scenario())


def test_certificate_is_verified(run):
    async def scenario():
        async with loopback(OK, tls=server_tls()) as receiver, transport() as it:
            outcome = await it.send(request(receiver.url))
            assert outcome.name == "tls_error"
            assert "self-signed certificate" in outcome.error
            assert receiver.requests == []

    run(scenario())


def test_trusted_certificate_lets_requests_through(run):
    """In a process of its own: aiohttp reads the trusted certificates when it is imported."""
    code = """
import asyncio, sys
from engine.core.egress import Egress
from engine.services.transport import AiohttpTransport, HttpRequest

async def main():
    transport = AiohttpTransport(Egress(private=True).refusal, concurrency=2)
    request = HttpRequest(url=sys.argv[1], method="POST", headers=[], body=b"{}", tenant="a")
    print([(await transport.send(request)).name for _ in range(2)])
    await transport.close()

asyncio.run(main())
"""

    async def scenario():
        async with loopback(OK, tls=server_tls()) as receiver:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", code, receiver.url),
                env=os.environ | {"SSL_CERT_FILE": str(CERTIFICATE)},
                stdout=asyncio.subprocess.PIPE,
            )
            stdout, _ = await process.communicate()
            assert stdout == b"['success', 'success']\n"
            assert (len(receiver.requests), receiver.connections) == (2, 1)

    run(scenario())


def server_tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    return context


def socket_connected_to(port: int) -> socket.socket:
    """A copy of this process's socket whose other end is `port`, as the kernel has it."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):
            copy = socket.socket(fileno=os.dup(descriptor))
            with suppress(OSError):
                if copy.getpeername()[1:2] == (port,):
                    return copy
            copy.close()
    raise AssertionError(f"no socket of ours is connected to port {port}")
