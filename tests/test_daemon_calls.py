"""Calls that hang, and who does not have to wait for them."""

import asyncio
import subprocess
import sys
from contextlib import suppress
from threading import Event

import pytest

from engine.daemon_calls import DaemonCalls

EXIT_SECONDS = 60

_LEAVES = """
import asyncio, threading
from engine.daemon_calls import DaemonCalls
async def leave():
    try:
        await DaemonCalls(seconds=0.01).call(threading.Event().wait)
    except TimeoutError:
        print("gave up")
asyncio.run(leave())
"""


def test_an_answer_and_a_failure_come_back():
    async def scene() -> None:
        calls = DaemonCalls(seconds=EXIT_SECONDS)
        assert await calls.call(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await calls.call(lambda: 1 // 0)
        assert await calls.call(lambda: 8) == 8

    asyncio.run(scene())


def test_while_a_call_hangs_no_other_begins_and_afterwards_all_is_well():
    async def scene() -> None:
        calls, answered, begun = DaemonCalls(seconds=0.01), Event(), []
        with pytest.raises(TimeoutError):
            await calls.call(answered.wait)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await calls.call(lambda: begun.append(1))
        assert begun == []
        answered.set()
        while not begun:  # A busy machine may be late once more.
            with suppress(TimeoutError):
                await calls.call(lambda: begun.append(1))

    asyncio.run(scene())


def test_a_process_exits_while_a_call_hangs():
    command = [sys.executable, "-c", _LEAVES]
    assert subprocess.check_output(command, text=True, timeout=EXIT_SECONDS) == "gave up\n"
