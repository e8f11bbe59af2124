"""`getaddrinfo` in threads that nobody has to wait for.

The loop's own ways are no good here. uvloop asks in libuv's pool of four threads, which serves all
else that it does and cannot be enlarged from inside. asyncio asks in an executor, and a process
does not end before an executor's threads have: with a silent name server that is half a minute.
These are daemon threads, made when they are needed and kept, and a process that ends takes no
notice of them. How many there are is for the caller to bound (`names.LOOKUPS_MAX`).
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

_Found = list[str] | Exception
_Question = tuple[str, Callable[[_Found], None]]


class LookupThreads:
    """The system's resolver, in as many threads as there are lookups at once."""

    def __init__(self) -> None:
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()
        self._threads = 0
        self._busy = 0

    async def look_up(self, name: str) -> list[str]:
        """Its addresses. Raises OSError, and ValueError for what is no name."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_Found] = loop.create_future()

        def settle(found: _Found) -> None:
            self._busy -= 1
            if not answer.done():
                answer.set_result(found)

        self._have_a_thread()
        self._busy += 1
        self._questions.put((name, lambda found: _tell(loop, settle, found)))
        found = await answer
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """Let the threads go, each when it has nothing to do."""
        for _ in range(self._threads):
            self._questions.put(None)
        self._threads = 0

    def _have_a_thread(self) -> None:
        if self._busy < self._threads:
            return
        try:
            Thread(target=self._work, name="lookup", daemon=True).start()
        except RuntimeError as error:  # The machine has none left for this process.
            raise OSError(str(error)) from None
        self._threads += 1

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            name, tell = question
            try:
                tell(_addresses(name))
            except (OSError, ValueError) as error:
                tell(error)


def _tell(loop: asyncio.AbstractEventLoop, settle: Callable[[_Found], None], found: _Found) -> None:
    with suppress(RuntimeError):  # The loop is closed: nobody waits.
        loop.call_soon_threadsafe(settle, found)


def _addresses(name: str) -> list[str]:
    # ADDRCONFIG: no IPv6 address on a machine that has no IPv6.
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [_text(*address) for *_, address in found]


def _text(host: str, _port: int, _flow: int = 0, zone: int = 0) -> str:
    return f"{host.partition('%')[0]}%{zone}" if zone else host
