"""No test waits for ever (`conftest.py`)."""

import asyncio
import signal
import threading

import pytest

SOON = 0.05


@pytest.mark.parametrize(
    "wait", [lambda: asyncio.run(asyncio.Event().wait()), lambda: threading.Event().wait()]
)
def test_what_waits_for_something_that_never_comes_fails(wait):
    signal.setitimer(signal.ITIMER_REAL, SOON)
    with pytest.raises(pytest.fail.Exception, match="it waited for ever"):
        wait()


def test_each_test_has_its_deadline():
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
