"""Virtual time: the real engine, an hour of it in seconds, the same trace every time.

`VirtualLoop` is an ordinary selector event loop whose clock stands still while there is work and
jumps to its next timer when there is none. Nothing in the engine knows: timers, deadlines and
sleeps read `loop.time()`, and the calendar is the injected `VirtualClock`.

Two things could spoil that, and both are threads.

* *A thread works while the loop is idle.* A jump would then let a deadline pass that real time
  would never have reached. Whoever hands work to a thread therefore holds the clock meanwhile:
  `with hold(): await thread_does_it()`. While anybody holds, an idle loop waits for the thread.
* *Threads answer in an order of their own.* Answers are set aside until the loop is idle, until
  there is one for each hold, and are then delivered thread by thread in the order of their start.
  What a run does can so depend on its input alone, and a trace can be compared byte for byte.
  `run_in_executor` runs its function at once, on the spot: in virtual time a pool buys nothing.

The price is a contract: inside a hold await the thread's answer and nothing else, and never spin
on `sleep(0)` for an answer, since a loop that spins is not idle. Breaking the first raises
`Stalled`. Real sockets do not belong here: the loop would jump past their answers.

Prior art: the autojump clock of `trio.testing`, and tokio's paused clock, which likewise does not
advance while its blocking pool works. FoundationDB showed what a deterministic run is worth
(Zhou et al., SIGMOD 2021, section 4).
"""

import asyncio
import queue
import selectors
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from engine.clock import Clock
from engine.core.model import Outcome

if TYPE_CHECKING:
    from engine.services.transport import HttpRequest

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Real seconds that an idle loop waits for a thread. Far above the slowest commit on a loaded
# machine, and short enough for a test run that hangs to end with a reason.
STALL_SECONDS = 60.0

# The grain of virtual time. Whole microseconds keep float error from building up over days.
TICKS_PER_SECOND = 1_000_000


class Stalled(RuntimeError):
    """Nothing is due, and no thread that could change that answers."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that starts at 0 s and, when idle, jumps to its next timer."""

    def __init__(self, *, stall_seconds: float = STALL_SECONDS) -> None:
        self.now_us = 0
        self._stall_seconds = stall_seconds
        self._holds = 0
        self._answers: queue.SimpleQueue[tuple[int, asyncio.Handle]] = queue.SimpleQueue()
        self._thread_id = threading.get_native_id()
        super().__init__(_IdleSelector(self._idle))
        self._clock_resolution = 1 / TICKS_PER_SECOND

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self.now_us / TICKS_PER_SECOND

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Stop the clock while a thread works: one hold for each answer awaited."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_native_id() == self._thread_id:
            return self.call_soon(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        self._answers.put((threading.get_native_id(), handle))
        return handle

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        del executor
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # Whatever it was, it belongs to whoever awaits the future.
            future.set_exception(error)
        return future

    def _idle(self, timeout_seconds: float | None) -> None:
        """Nothing is ready; the next timer, if any, is so far away."""
        if self._holds or timeout_seconds is None or not self._answers.empty():
            self._take_answers()
        else:
            self.now_us += round(timeout_seconds * TICKS_PER_SECOND)

    def _take_answers(self) -> None:
        wanted = max(1, self._holds)
        answers: list[tuple[int, asyncio.Handle]] = []
        try:
            while len(answers) < wanted or not self._answers.empty():
                answers.append(self._answers.get(timeout=self._stall_seconds))
        except queue.Empty:
            raise Stalled(
                f"idle at {self.time():.6f} s with {self._holds} holds and {len(answers)} answers; "
                "inside hold() await the thread and nothing else"
            ) from None
        finally:
            # Native ids grow as threads start, and sorting keeps each thread's answers in order.
            for _, handle in sorted(answers, key=lambda answer: answer[0]):
                self.call_soon(_run, handle)


class VirtualClock:
    """The calendar of a virtual run: it moves with the loop, and by `step` alone."""

    __slots__ = ("_loop", "_shift_ms")

    def __init__(self, start_ms: int, loop: VirtualLoop | None = None) -> None:
        """`start_ms`: the instant that now is called; `loop`: the running one by default."""
        running = loop or asyncio.get_running_loop()
        assert isinstance(running, VirtualLoop), "a virtual calendar needs a virtual loop"
        self._loop = running
        self._shift_ms = start_ms - self.monotonic_ms()

    def now_ms(self) -> int:
        return self.monotonic_ms() + self._shift_ms

    def monotonic_ms(self) -> int:
        return self._loop.now_us * 1_000 // TICKS_PER_SECOND

    def step(self, ms: int) -> None:
        """Move the calendar, back if negative, as an operator who sets the clock does."""
        self._shift_ms += ms

    def hold(self) -> AbstractContextManager[None]:
        """What the store takes as `busy`; see `VirtualLoop.hold`."""
        return self._loop.hold()

    async def run_for(self, ms: int) -> None:
        """Let the engine run for so many virtual milliseconds."""
        await asyncio.sleep(ms / 1_000)


class FakeTransport:
    """Receivers without a network: answers by script, and a ledger of what reached them.

    `answer` gives a request's outcome, `delay_ms` how many virtual milliseconds that takes.
    `ledger` holds (calendar milliseconds on arrival, request), oldest first; a request whose
    attempt is cancelled while it waits was received all the same.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        answer: "Callable[[HttpRequest], Outcome]" = lambda _: Outcome(name="success", status=200),
        delay_ms: "Callable[[HttpRequest], int]" = lambda _: 0,
    ) -> None:
        self.ledger: list[tuple[int, HttpRequest]] = []
        self.closed = False
        self._clock = clock
        self._answer = answer
        self._delay_ms = delay_ms

    async def send(self, request: "HttpRequest") -> Outcome:
        assert not self.closed, "a request left after the transport was closed"
        self.ledger.append((self._clock.now_ms(), request))
        outcome = self._answer(request)
        request.connected_s = asyncio.get_running_loop().time()
        await asyncio.sleep(self._delay_ms(request) / 1_000)
        request.answered_s = asyncio.get_running_loop().time()
        return outcome

    async def close(self) -> None:
        self.closed = True


def run_virtual(main: Callable[[VirtualClock], Awaitable[T]], start_ms: int) -> T:
    """Run `main` on a fresh virtual loop whose calendar starts at `start_ms`."""

    async def started() -> T:
        return await main(VirtualClock(start_ms))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(started())


class _IdleSelector(selectors.DefaultSelector):
    """Never blocks: where a real selector would wait, it reports that the loop is idle."""

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        super().__init__()
        self._idle = idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events and timeout != 0:
            self._idle(timeout)
        return events


def _run(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        handle._run()
