"""The system's resolver in threads: what it says, and that no process waits for them."""

import socket
import subprocess
import sys

import pytest

from engine.services.lookup_threads import LookupThreads

NEVER_ANSWERED = """
import asyncio, socket, sys, threading
from engine.services.lookup_threads import LookupThreads

begun = threading.Event()

def getaddrinfo(*question, **more):
    begun.set()
    threading.Event().wait()

async def main():
    threads = LookupThreads()
    socket.getaddrinfo = getaddrinfo
    lookup = asyncio.create_task(threads.look_up("hole.example"))
    await asyncio.to_thread(begun.wait)
    threads.close()
    lookup.cancel()

asyncio.run(main())
"""


def test_a_process_ends_while_a_lookup_is_never_answered():
    done = subprocess.run([sys.executable, "-c", NEVER_ANSWERED], timeout=30, check=False)
    assert done.returncode == 0


def test_names_have_the_systems_addresses(run):
    async def scenario():
        threads = LookupThreads()
        assert "127.0.0.1" in await threads.look_up("localhost")
        threads.close()

    run(scenario())


@pytest.mark.parametrize("name", ["a" * 64 + ".example", "a\0b", "no such name"])
def test_what_is_no_name_is_refused(run, name):
    async def scenario():
        threads = LookupThreads()
        with pytest.raises((OSError, ValueError)):
            await threads.look_up(name)
        assert await threads.look_up("127.0.0.1") == ["127.0.0.1"]
        threads.close()

    run(scenario())


def test_an_address_keeps_its_zone(run, monkeypatch):
    zoned = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1", 0, 0, 7))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [zoned])

    async def scenario():
        threads = LookupThreads()
        assert await threads.look_up("a.example") == ["fe80::1%7"]
        threads.close()

    run(scenario())
