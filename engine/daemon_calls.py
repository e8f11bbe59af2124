"""Calls that may hang for good, in a thread that nobody has to wait for.

A file of a network mount whose server is gone holds the thread that asks for it, in the kernel,
where no signal ends it. `asyncio.to_thread` has a pool that a process joins before it exits, so one
such thread would hold the exit, too. A daemon thread ends with its process.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class DaemonCalls:
    """Calls outside the loop, one at a time: however many are given up, one thread hangs."""

    def __init__(self, *, seconds: float) -> None:
        """`seconds`: how long an answer is waited for."""
        self._seconds = seconds
        self._last: Future[Any] | None = None

    async def call(self, function: Callable[[], T]) -> T:
        """What it returns, once the call before it is over.

        Raises what it raises, and TimeoutError when the time is over.
        """
        async with asyncio.timeout(self._seconds):
            if self._last is not None:
                await asyncio.gather(asyncio.wrap_future(self._last), return_exceptions=True)
            self._last = answer = Future[T]()
            answer.set_running_or_notify_cancel()  # So that who gives up does not end it.
            Thread(target=_settle, args=(answer, function), daemon=True).start()
            return await asyncio.wrap_future(answer)


def _settle(answer: Future[T], function: Callable[[], T]) -> None:
    try:
        result = function()
    except BaseException as error:  # Whatever it is, whoever asked gets it.
        answer.set_exception(error)
    else:
        answer.set_result(result)
