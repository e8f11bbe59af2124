"""Virtual time: what a run sees of the clock, of threads and of receivers."""

import asyncio
import random
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue

import aiosqlite
import pytest

from engine.core.model import Outcome
from engine.services.transport import HttpRequest
from engine.testing import FakeTransport, Stalled, VirtualClock, VirtualLoop, run_virtual

START_MS = 1_764_503_999_000  # 2025-11-30T11:59:59Z
HOUR_MS = 3_600_000


class Worker:
    """A thread that runs what it is handed and posts each answer, as a database thread does."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[asyncio.Future[None], Callable[[], object]] | None]
        self._jobs = SimpleQueue()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    async def run(self, job: Callable[[], object]) -> None:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs.put((answer, job))
        await answer

    def stop(self) -> None:
        self._jobs.put(None)
        self._thread.join(timeout=10)

    def _work(self) -> None:
        while (handed := self._jobs.get()) is not None:
            answer, job = handed
            job()
            answer.get_loop().call_soon_threadsafe(_settle, answer)


@pytest.fixture
def worker():
    made = Worker()
    yield made
    made.stop()


@pytest.fixture
def second_worker(worker):
    made = Worker()  # Starts after the first: its answers come second.
    yield made
    made.stop()


def test_an_idle_loop_jumps_to_its_next_timer():
    async def main(clock: VirtualClock) -> list[int]:
        seen = []
        for _ in range(3):
            await clock.run_for(HOUR_MS)
            seen.append(clock.now_ms())
        return seen

    assert run_virtual(main, START_MS) == [START_MS + hours * HOUR_MS for hours in (1, 2, 3)]


def test_a_timer_of_many_days_is_exact_to_the_millisecond():
    async def main(clock: VirtualClock) -> int:
        await clock.run_for(40 * 24 * HOUR_MS + 1)
        return clock.monotonic_ms()

    assert run_virtual(main, START_MS) == 3_456_000_001


def test_ten_thousand_short_waits_add_up_without_drift():
    async def main(clock: VirtualClock) -> int:
        for _ in range(10_000):
            await clock.run_for(7)
        return clock.monotonic_ms()

    assert run_virtual(main, START_MS) == 70_000


def test_timers_fire_in_order_of_their_instants_whoever_set_them_first():
    async def main(clock: VirtualClock) -> list[tuple[str, int]]:
        fired: list[tuple[str, int]] = []
        loop = asyncio.get_running_loop()
        for name, after_ms in (("late", 30), ("soon", 10), ("middle", 20)):
            loop.call_later(after_ms / 1_000, lambda n=name: fired.append((n, clock.now_ms())))
        await clock.run_for(31)
        return fired

    assert run_virtual(main, 0) == [("soon", 10), ("middle", 20), ("late", 30)]


def test_work_takes_no_virtual_time():
    async def main(clock: VirtualClock) -> int:
        sum(range(200_000))
        for _ in range(100):
            await asyncio.to_thread(sum, range(1_000))
        return clock.now_ms()

    assert run_virtual(main, START_MS) == START_MS


@pytest.mark.parametrize("step_ms", [-HOUR_MS, 25 * HOUR_MS])
def test_a_step_moves_the_calendar_and_nothing_else(step_ms):
    async def main(clock: VirtualClock) -> tuple[int, int]:
        async with asyncio.timeout(10):
            clock.step(step_ms)
            await clock.run_for(9_999)
        return clock.now_ms(), clock.monotonic_ms()

    assert run_virtual(main, START_MS) == (START_MS + step_ms + 9_999, 9_999)


def test_while_the_clock_is_held_an_idle_loop_waits_for_the_thread():
    async def main(clock: VirtualClock) -> tuple[int, int]:
        with clock.hold():
            connection = await aiosqlite.connect(":memory:")
        deadline = asyncio.get_running_loop().call_later(0.001, pytest.fail, "jumped while held")
        with clock.hold():
            rows = await connection.execute_fetchall(COUNT_TO_100_000)
        after_query_ms = clock.now_ms()
        deadline.cancel()
        with clock.hold():
            await connection.close()
        return after_query_ms, rows[0][0]

    assert run_virtual(main, START_MS) == (START_MS, 100_000)


def test_without_a_hold_the_loop_jumps_although_a_thread_works(worker):
    async def main(clock: VirtualClock) -> int:
        gate = threading.Event()
        asyncio.get_running_loop().call_later(3_600, gate.set)
        await worker.run(partial(gate.wait, 10))
        return clock.now_ms()

    assert run_virtual(main, START_MS) == START_MS + HOUR_MS


def test_threads_answer_in_the_order_of_their_start_whichever_is_done_first(worker, second_worker):
    async def main(clock: VirtualClock) -> list[str]:
        order: list[str] = []
        second_is_done = threading.Event()

        async def ask(name: str, whom: Worker, job: Callable[[], object]) -> None:
            with clock.hold():
                await whom.run(job)
            order.append(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(ask("second", second_worker, second_is_done.set))
            group.create_task(ask("first", worker, partial(second_is_done.wait, 10)))
        return order

    assert run_virtual(main, START_MS) == ["first", "second"]


def test_a_hold_on_something_other_than_a_thread_is_reported_instead_of_hanging():
    async def main(clock: VirtualClock) -> None:
        with clock.hold():
            await clock.run_for(1)

    with pytest.raises(Stalled, match="1 holds and 0 answers; inside hold"):
        run_impatiently(main)


def test_a_run_that_waits_for_nothing_is_reported_instead_of_hanging():
    async def main(clock: VirtualClock) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stalled, match=r"idle at 0\.000000 s with 0 holds"):
        run_impatiently(main)


def test_an_executor_runs_its_function_on_the_spot_and_hands_its_error_over():
    async def main(clock: VirtualClock) -> str:
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)
        return await asyncio.to_thread(lambda: threading.current_thread().name)

    assert run_virtual(main, START_MS) == threading.current_thread().name


def test_a_virtual_calendar_refuses_a_loop_of_real_time():
    async def main() -> None:
        with pytest.raises(AssertionError, match="virtual loop"):
            VirtualClock(START_MS)

    asyncio.run(main())


def test_a_receiver_answers_by_script_after_its_delay_and_keeps_a_ledger():
    async def main(clock: VirtualClock) -> None:
        transport = FakeTransport(clock, answer=refuse_odd, delay_ms=lambda r: 250 * len(r.body))
        await clock.run_for(1_000)
        outcomes = [await transport.send(request(body)) for body in (b"", b"1", b"22")]

        assert [outcome.status for outcome in outcomes] == [200, 503, 200]
        assert [(at - START_MS, sent.body) for at, sent in transport.ledger] == [
            (1_000, b""),
            (1_000, b"1"),
            (1_250, b"22"),
        ]
        assert clock.now_ms() == START_MS + 1_750

    run_virtual(main, START_MS)


def test_a_cancelled_request_was_received_all_the_same():
    async def main(clock: VirtualClock) -> None:
        transport = FakeTransport(clock, delay_ms=lambda _: 15_001)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(15):
                await transport.send(request(b"slow"))

        assert [sent.body for _, sent in transport.ledger] == [b"slow"]
        assert clock.now_ms() == START_MS + 15_000

    run_virtual(main, START_MS)


def test_a_closed_transport_sends_nothing():
    async def main(clock: VirtualClock) -> None:
        transport = FakeTransport(clock)
        await transport.close()
        with pytest.raises(AssertionError, match="after the transport was closed"):
            await transport.send(request(b""))

    run_virtual(main, START_MS)


def test_the_same_seed_gives_the_same_trace_and_another_seed_another():
    traces = {seed: run_virtual(partial(storm, seed), START_MS) for seed in (1, 2)}

    assert run_virtual(partial(storm, 1), START_MS) == traces[1]
    assert traces[1] != traces[2]
    assert traces[1].count(b"\n") == 600


async def storm(seed: int, clock: VirtualClock) -> bytes:
    """Thirty clients, each journaling through one of two database threads before each request."""
    chance = random.Random(seed)
    transport = FakeTransport(clock, delay_ms=lambda _: chance.randrange(5))
    with clock.hold():
        first = await aiosqlite.connect(":memory:")
    with clock.hold():
        second = await aiosqlite.connect(":memory:")

    async def client(number: int) -> None:
        for turn in range(20):
            await clock.run_for(chance.randrange(3))
            with clock.hold():
                await chance.choice((first, second)).execute_fetchall("SELECT 1")
            await transport.send(request(b"%d.%d" % (number, turn)))

    async with asyncio.TaskGroup() as group:
        for number in range(30):
            group.create_task(client(number))
    for connection in (first, second):
        with clock.hold():
            await connection.close()
    return b"".join(b"%d %s\n" % (at_ms, sent.body) for at_ms, sent in transport.ledger)


COUNT_TO_100_000 = """
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100000)
SELECT max(n) FROM number
"""


def request(body: bytes) -> HttpRequest:
    return HttpRequest(
        url="http://receiver.test/", method="POST", headers=[], body=body, tenant="a"
    )


def refuse_odd(sent: HttpRequest) -> Outcome:
    if len(sent.body) % 2:
        return Outcome(name="http_error", status=503)
    return Outcome(name="success", status=200)


def run_impatiently(main: Callable[[VirtualClock], object]) -> None:
    async def started() -> None:
        await main(VirtualClock(START_MS))

    with asyncio.Runner(loop_factory=partial(VirtualLoop, stall_seconds=0.05)) as runner:
        runner.run(started())


def _settle(answer: asyncio.Future[None]) -> None:
    if not answer.done():
        answer.set_result(None)
