"""What a receiver answers, and the outcome that it makes."""

import pytest

from tests.services.loopback import OK, broken, loopback, refused, request, success, transport

SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234"
ANSWERS = {
    "length": (OK, success()),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", success(b"", status=204)),
    "chunked": (
        b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        success(b"abc", status=201),
    ),
    "until the end": (b"HTTP/1.1 200 OK\r\n\r\nall of it", success(b"all of it")),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\nold", success(b"old")),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", success()),
    "interim answers": (b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + OK, success()),
    "early hints": (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, success()),
    "kept to the limit": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n" + b"x" * 4096,
        success(b"x" * 4096),
    ),
    "cut": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n" + b"x" * 4097,
        success(b"x" * 4096, cut=True),
    ),
    "beyond its length": (OK + b"; and then some", success()),
    "beyond its end": (b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500", success(b"", status=204)),
    "two answers": (OK + b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", success()),
    "offering an upgrade": (
        b"HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nok",
        success(),
    ),
    "not found": (b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", refused(404, b"no")),
    "busy": (
        b"HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n",
        refused(503, retry_after="120"),
    ),
    "long Retry-After": (
        b"HTTP/1.1 429 Slow\r\nRetry-After: " + b"1" * 100 + b"\r\nContent-Length: 0\r\n\r\n",
        refused(429, retry_after="1" * 64),
    ),
    "nothing": (b"", broken("no response: connection closed")),
    "half a head": (b"HTTP/1.1 200 OK\r\nConte", broken("no response: connection closed")),
    "half a body": (
        SHORT,
        broken(
            "broken response: Not enough data to satisfy content length header "
            "(received 5 of 10 bytes)."
        ),
    ),
    "half a chunk": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        broken("broken response: Not enough data to satisfy transfer length header."),
    ),
    "switching": (
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        broken("broken response: status 101"),
    ),
}


@pytest.mark.parametrize(("answer", "outcome"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answer_becomes_an_outcome_in_one_piece_or_in_bytes(run, answer, outcome):
    async def in_one_piece(line):
        await line.request()
        await line.send(answer)

    async def in_bytes(line):
        await line.request()
        for at in range(len(answer)):
            await line.send(answer[at : at + 1])

    async def scenario():
        for handle in (in_one_piece, in_bytes):
            async with loopback(handle=handle) as receiver, transport() as it:
                assert await it.send(request(receiver.url)) == outcome

    run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nX: \0secret\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n",
    ],
)
def test_unreadable_answer_is_named_and_not_quoted(run, answer):
    async def scenario():
        async with loopback(answer) as receiver, transport() as it:
            outcome = await it.send(request(receiver.url))
            assert (outcome.name, outcome.status) == ("protocol_error", None)
            assert outcome.error.startswith("broken response: ")
            assert "secret" not in outcome.error
            assert "\n" not in outcome.error

    run(scenario())


def test_answer_to_head_has_no_body(run):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"

    async def scenario():
        async with loopback(head) as receiver, transport() as it:
            for _ in range(2):
                outcome = await it.send(request(receiver.url, method="HEAD", body=b""))
                assert outcome == success(b"")
            assert receiver.connections == 1

    run(scenario())
