"""What tests of services share."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import uvloop

from tests.services.loopback import PATIENCE_SECONDS


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Coroutine[Any, Any, None]], None]]:
    """Run a coroutine on a loop of each kind: they close, abort and cut reads differently."""
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield lambda scenario: runner.run(asyncio.wait_for(scenario, PATIENCE_SECONDS))
