"""When a connection is used again, when it closes, and that nothing is ever sent twice."""

import asyncio

import pytest

from engine.services import transport as transport_module
from tests.services.loopback import OK, broken, loopback, request, success, transport

EMPTY_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def long_rest(monkeypatch):
    """No connection closes because it rested for long enough."""
    monkeypatch.setattr(transport_module, "KEEPALIVE_SECONDS", 3_600)


def test_connection_serves_request_after_request(run):
    async def scenario():
        async with loopback(OK) as receiver, transport() as it:
            for _ in range(3):
                await it.send(request(receiver.url))
            assert (len(receiver.requests), receiver.connections) == (3, 1)

    run(scenario())


def test_tenants_share_no_connection(run):
    """What one provoked its receiver to say late would be the answer to another's request."""

    async def scenario():
        async with loopback(OK) as receiver, transport() as it:
            for tenant in ("mallory", "victim", "mallory"):
                await it.send(request(receiver.url, tenant=tenant))
            assert (len(receiver.requests), receiver.connections) == (3, 2)

    run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        EMPTY_OK + b"HTTP/1.1 500 Not yours\r\nContent-Length: 0\r\n\r\n",
        EMPTY_OK + b"HTTP/1.1 500 Not",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
def test_connection_that_cannot_be_trusted_is_not_used_again(run, answer):
    async def handle(line):
        await line.request()
        await line.send(answer)
        await line.hang_up_awaited()

    async def scenario():
        async with loopback(handle=handle) as receiver, transport() as it:
            first = await it.send(request(receiver.url))
            assert await it.send(request(receiver.url)) == first
            assert receiver.connections == 2

    run(scenario())


def test_connection_with_half_a_request_in_it_is_not_used_again(run):
    async def answer_at_once(line):
        await line.head()
        await line.send(OK)
        await line.hang_up_awaited()

    async def scenario():
        async with loopback(handle=answer_at_once) as receiver, transport() as it:
            large = request(receiver.url, body=bytes(20_000_000))  # More than the kernel holds.
            for _ in range(2):
                assert await it.send(large) == success()
            assert receiver.connections == 2

    run(scenario())


@pytest.mark.usefixtures("long_rest")
def test_unasked_answer_closes_the_connection(run):
    late = asyncio.Event()

    async def handle(line):
        await line.request()
        await line.send(OK)
        await late.wait()
        await line.send(b"HTTP/1.1 500 Nobody asked\r\nContent-Length: 0\r\n\r\n")
        await line.hang_up_awaited()

    async def scenario():
        async with loopback(handle=handle) as receiver, transport() as it:
            assert await it.send(request(receiver.url)) == success()
            late.set()
            await receiver.until(lambda r: r.open == 0)
            assert await it.send(request(receiver.url)) == success()

    run(scenario())
    late.clear()


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST"])
def test_dropped_connection_is_reported_and_nothing_sent_again(run, method):
    async def hang_up_on_the_second(line):
        await line.request()
        await line.send(EMPTY_OK)
        await line.request()

    async def scenario():
        async with loopback(handle=hang_up_on_the_second) as receiver, transport() as it:
            for outcome in (success(b""), broken("no response: connection closed")):
                assert await it.send(request(receiver.url, method=method, body=b"")) == outcome
            await receiver.until(lambda r: r.open == 0)
            assert (len(receiver.requests), receiver.connections) == (2, 1)

    run(scenario())


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n\r\nis this all?"])
def test_reset_connection_is_a_broken_response(run, answer):
    async def break_off(line):
        await line.request()
        await line.send(answer)
        line.reset()

    async def scenario():
        async with loopback(handle=break_off) as receiver, transport() as it:
            outcome = await it.send(request(receiver.url))
            assert outcome.name == "protocol_error"
            assert outcome.error.endswith("response: Connection reset by peer")

    run(scenario())


def test_connection_closed_while_it_rested_is_replaced(run):
    async def once(line):
        await line.request()
        await line.send(OK)
        await line.hang_up()

    async def scenario():
        async with loopback(handle=once) as receiver, transport() as it:
            for _ in range(2):
                assert await it.send(request(receiver.url)) == success()
                await receiver.until(lambda r: r.open == 0)
            assert receiver.connections == 2

    run(scenario())


def test_connection_is_closed_when_it_has_rested_long_enough(run, monkeypatch):
    monkeypatch.setattr(transport_module, "KEEPALIVE_SECONDS", 0.001)

    async def scenario():
        async with loopback(OK) as receiver, transport() as it:
            await it.send(request(receiver.url))
            await receiver.until(lambda r: (r.connections, r.open) == (1, 0))

    run(scenario())


def test_resting_connections_make_way_for_new_ones(run):
    async def scenario():
        async with loopback(OK) as a, loopback(OK) as b, loopback(OK) as c, transport(2) as it:
            for receiver in (a, b, c):
                await it.send(request(receiver.url))
            await a.until(lambda r: r.open == 0)
            assert (b.open, c.open) == (1, 1)

    run(scenario())


@pytest.mark.usefixtures("long_rest")
def test_no_more_sockets_than_the_bound_and_everything_is_sent(run):
    async def scenario():
        released = asyncio.Event()

        async def hold(line):
            await line.request()
            await released.wait()
            await line.send(OK)
            await line.hang_up_awaited()

        async with loopback(handle=hold) as receiver, transport(2) as it:
            sends = [asyncio.create_task(it.send(request(receiver.url))) for _ in range(5)]
            await receiver.until(lambda r: len(r.requests) == 2)
            assert receiver.connections == 2
            released.set()
            assert await asyncio.gather(*sends) == [success()] * 5

    run(scenario())


def test_closing_ends_what_is_in_flight(run):
    async def hold(line):
        await line.request()
        await line.hang_up_awaited()

    async def scenario():
        async with loopback(handle=hold) as receiver, transport() as it:
            sending = asyncio.create_task(it.send(request(receiver.url)))
            await receiver.until(lambda r: len(r.requests) == 1)
            await it.close()
            assert await sending == broken("no response: connection closed")

    run(scenario())


def test_a_request_says_when_it_was_connected_and_when_the_answer_began(run):
    async def scenario():
        begun = asyncio.Event()

        async def handle(line):
            await line.request()
            await line.send(OK[:20])
            await begun.wait()
            await line.send(OK[20:])
            await line.hang_up_awaited()

        async with loopback(handle=handle) as receiver, transport() as it:
            sent = request(receiver.url)
            started_s = asyncio.get_running_loop().time()
            answer = asyncio.create_task(it.send(sent))
            while sent.answered_s is None:  # noqa: ASYNC110  # Nobody is told of the first byte.
                await asyncio.sleep(0)
            assert started_s <= sent.connected_s <= sent.answered_s
            first_s = sent.answered_s
            begun.set()
            assert await answer == success()
            assert sent.answered_s == first_s

    run(scenario())


def test_a_request_without_a_connection_says_so(run):
    async def scenario():
        async with transport() as it:
            sent = request("http://127.0.0.1:1/")
            assert (await it.send(sent)).name == "connect_error"
            assert (sent.connected_s, sent.answered_s) == (None, None)

    run(scenario())
