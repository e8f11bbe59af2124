"""Settings for every test."""

import faulthandler
import signal
import sys
from collections.abc import Generator, Iterator
from typing import NoReturn

import pytest
import structlog
from hypothesis import settings

# Examples are chosen anew only when a test changes, so a failure is the change's own. There is no
# deadline for one example: the machine is shared, and timings belong to the benchmarks.
settings.register_profile("offbeat", derandomize=True, deadline=None)
settings.load_profile("offbeat")

TEST_SECONDS_MAX = 400
"""Of a test with its fixtures: several times what the longest takes on a crowded machine.

What waits for something that never comes fails by then, says where each thread was, and lets its
fixtures end their processes; pytest's own `faulthandler_timeout` ends what cannot even do that."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    signal.signal(signal.SIGALRM, _fail)
    signal.alarm(TEST_SECONDS_MAX)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def _fail(number: int, frame: object) -> NoReturn:
    faulthandler.dump_traceback(file=sys.__stderr__)
    pytest.fail(f"it waited for ever, or for more than {TEST_SECONDS_MAX} s")


@pytest.fixture(autouse=True)
def _logging_ends_with_the_test() -> Iterator[None]:
    """`offbeat run` points the log at its stderr, which in a test is closed when the test ends."""
    yield
    structlog.reset_defaults()
