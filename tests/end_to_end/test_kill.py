"""kill -9 at random instants, a hundred times: nothing lost, nothing early, nothing twice.

Four engines on four journals die 25 times each, while schedules fire every second, a receiver
fails, drops and delays, and clients write. Where they die is drawn from a seed: in the middle of
start-up, as soon as they are ready, when some requests have arrived, always plus up to a second
and a half. The last life drains, and the checker compares what the receiver saw with what the
journal says and with what was owed.
"""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.end_to_end.checker import text_of
from tests.end_to_end.processes import Engine, Receiver, now_ms, until
from tests.end_to_end.verdict import drain_and_check

CYCLES = 25
RATE, BURST = 60, 6
"""Above the demand of some 15 a second, and low enough to bind whenever an engine returns."""

FLAGS = ("--rate", str(RATE), "--burst", str(BURST))
RETRY = {"max_attempts": 20, "min_backoff_seconds": 1, "max_backoff_seconds": 2}
PATIENT = {"retry": RETRY, "catch_up": "all"}
"""Everything owed is delivered in the end, even when a start takes more than the ten seconds after
which a machine that is too busy may call it a miss; the checker knows how long nobody was there."""

UNDER_WAY_MS = 50
"""From a start by the engine's clock to the receiver's ledger, on a crowded machine."""

WHIMS = "fail=12&drop=4&delay_ms=150"
COUNTER = "counter"


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_early_or_twice_over_25_kills(
    seed: int, engine: Engine, receiver: Receiver
) -> None:
    chance = random.Random(seed)
    engine.start(*FLAGS)
    put_schedules(engine, receiver)
    for cycle in range(CYCLES):
        with writing(engine, cycle):
            live_a_while(engine, receiver, chance, cycle)
            engine.kill()
        # Two starts in a row that come to nothing could add up to a miss (10 s).
        if cycle % 3 == 1:
            engine.spawn(*FLAGS)
        else:
            engine.start(*FLAGS)
    engine.wait_ready()
    assert_counter_kept(engine)
    report = drain_and_check(engine, receiver, rate=RATE, burst=BURST)
    assert report.faults == {}
    assert report.counts["kills"] == CYCLES
    assert report.counts["cut off by a crash"] > 0, "no kill hit an attempt: this showed little"


def test_a_restart_gives_no_burst_away(engine: Engine, receiver: Receiver) -> None:
    """Forty runs due at once, a bucket of twenty: what the first life took, the second has not."""
    flags = ("--rate", "5", "--burst", "20")
    engine.start(*flags)
    at = text_of(now_ms() + 5_000)
    for number in range(40):
        engine.put(f"once-{number}", {"at": at, "target": {"url": receiver.url("/")}})
    until(lambda: len(receiver.requests()) >= 20, "the burst is used up")
    engine.kill()
    engine.start(*flags)
    assert drain_and_check(engine, receiver, rate=5, burst=20).faults == {}
    assert len({request.key for request in receiver.requests()}) == 40


def test_the_bucket_holds_over_every_window_of_ten_crashes_in_ten_seconds(
    engine: Engine, receiver: Receiver
) -> None:
    """A burst of five seconds' tokens: a life that began with a full bucket would stand out."""
    rate, burst, runs = 20, 100, 350
    flags = ("--rate", str(rate), "--burst", str(burst))
    engine.start(*flags)
    at = text_of(now_ms() + 8_000)
    for number in range(runs):
        engine.put(f"once-{number}", {"at": at, "target": {"url": receiver.url("/")}})
    until(lambda: len(receiver.requests()) >= burst, "the burst is used up")
    for _ in range(10):
        seen = len(receiver.requests())
        until(lambda seen=seen: len(receiver.requests()) > seen, "this life has sent something")
        engine.kill()
        engine.start(*flags)
    print(
        f"ten kills, the last {(engine.kills[-1] - engine.kills[0]) / 1_000:.1f} s after the first"
    )
    assert drain_and_check(engine, receiver, rate=rate, burst=burst).faults == {}
    arrivals = [request.wall_ms for request in receiver.requests()]
    assert most_beyond(arrivals, rate, burst) <= rate * UNDER_WAY_MS / 1_000


def most_beyond(arrivals_ms: list[int], rate: int, burst: int) -> float:
    """By how much the fullest window of any length is above `burst + rate * T`."""
    return max(
        after - before + 1 - burst - rate * (arrivals_ms[after] - arrivals_ms[before]) / 1_000
        for after in range(len(arrivals_ms))
        for before in range(after + 1)
    )


def put_schedules(engine: Engine, receiver: Receiver) -> None:
    """Intervals with and without jitter, also wider than the interval, a cron, and the counter."""
    target = {"url": receiver.url(f"/flaky?{WHIMS}"), "method": "POST", "json": {"fixed": True}}
    common = {"target": target, **PATIENT}
    for index in range(3):
        engine.put(f"second-{index}", {"every": 1, "jitter_seconds": index, **common})
        engine.put(f"two-{index}", {"every": 2, "phase": index % 2, "jitter_seconds": 4, **common})
    engine.put("cron", {"cron": "*/3 * * * * *", "jitter_seconds": 2, **common})
    engine.put(COUNTER, {"every": 1, "jitter_seconds": 1, "labels": {"n": "0"}, **common})


def live_a_while(engine: Engine, receiver: Receiver, chance: random.Random, cycle: int) -> None:
    """Until some signal, a few writes, and a random rest of up to a second and a half."""
    seen = len(receiver.requests())
    wanted = seen + chance.randrange(1, 12)
    rest_seconds = chance.uniform(0.05, 1.5)
    if engine.is_ready():
        until(lambda: len(receiver.requests()) >= wanted, "requests arrive")
        write_some(engine, receiver, chance, cycle)
    assert engine.outlives(rest_seconds), engine.said()
    if engine.is_ready():
        # Acknowledged in the last moment: it must be there in the next life.
        url = receiver.url(f"/last?{WHIMS}")
        at = text_of(now_ms() + chance.randrange(100, 3_000))
        document = {"at": at, "target": {"url": url}, **PATIENT}
        engine.write("PUT", f"/v1/schedules/last-{cycle}", document)


def write_some(engine: Engine, receiver: Receiver, chance: random.Random, cycle: int) -> None:
    """A one-shot in the lookahead or beyond, a manual run, and a schedule that soon goes again."""
    common = {"target": {"url": receiver.url(f"/once?{WHIMS}")}, **PATIENT}
    at = text_of(now_ms() + chance.randrange(20, 8_000))
    engine.write("PUT", f"/v1/schedules/once-{cycle}", {"at": at, **common})
    engine.write("POST", "/v1/schedules/second-0:trigger")
    engine.write("PUT", f"/v1/schedules/brief-{cycle}", {"every": 1, **common})
    for older in range(max(0, cycle - 5), cycle - 1):
        engine.write("DELETE", f"/v1/schedules/brief-{older}")


@contextmanager
def writing(engine: Engine, cycle: int) -> Iterator[None]:
    """Edit the counter without a pause from another thread, until the engine is gone."""
    gone = threading.Event()

    def write() -> None:
        for n in range(1_000_000):
            if gone.wait(0.02):
                return
            patch = {"labels": {"n": str(cycle * 1_000_000 + n)}}
            engine.write("PATCH", f"/v1/schedules/{COUNTER}", patch)

    thread = threading.Thread(target=write)
    if engine.is_ready():
        thread.start()
    try:
        yield
    finally:
        gone.set()
        if thread.ident is not None:
            thread.join()


def assert_counter_kept(engine: Engine) -> None:
    """The label is the last acknowledged one, or the one whose answer the last kill cut off."""
    writes = [call for call in engine.calls if call.method == "PATCH"]
    sure = max(int(c.document["labels"]["n"]) for c in writes if c.status == 200)
    kept = int(engine.ask("GET", f"/v1/schedules/{COUNTER}").document["labels"]["n"])
    assert sure <= kept <= sure + 1
