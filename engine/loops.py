"""The endless loops of an engine: started together, watched together, ended together."""

import asyncio
from collections.abc import Coroutine

from engine.core.errors import first_cause


class Loops:
    """Tasks that are not to end: when one fails, whoever waits for `failure` learns why."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: asyncio.Future[None] | None = None

    @property
    def failure(self) -> asyncio.Future[None]:
        """Raises the error of the first loop that failed; pending as long as none has."""
        if self._failure is None:
            self._failure = asyncio.get_running_loop().create_future()
            self._failure.add_done_callback(lambda f: f.cancelled() or f.exception())
        return self._failure

    def start(self, loop: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(loop)
        task.add_done_callback(self._on_end)
        self._tasks.append(task)
        return task

    async def stop(self) -> None:
        """Cancel all, and wait until they have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) and not self.failure.done():
            self.failure.set_exception(first_cause(error))
