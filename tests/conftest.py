"""Settings for every test."""

from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

# Examples are chosen anew only when a test changes, so a failure is the change's own. There is no
# deadline for one example: the machine is shared, and timings belong to the benchmarks.
settings.register_profile("offbeat", derandomize=True, deadline=None)
settings.load_profile("offbeat")


@pytest.fixture(autouse=True)
def _logging_ends_with_the_test() -> Iterator[None]:
    """`offbeat run` points the log at its stderr, which in a test is closed when the test ends."""
    yield
    structlog.reset_defaults()
