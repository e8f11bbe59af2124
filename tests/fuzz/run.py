"""One fuzzer in a process of its own: python tests/fuzz/run.py TARGET RUNS SEED.

Coverage-guided by atheris (libFuzzer), which instruments what is imported below. An exception that
a target lets out ends the process, and so does an input that takes too long by its thread's own CPU
time: how busy the machine is does not count. Instrumented, the code is about three times as slow.
"""

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import atheris

INPUT_SECONDS_MAX = 0.05
"""Of CPU for one input."""

INPUT_BYTES_MAX = 2_048
"""As long as a URL, of those that are found byte by byte."""

GROWN_EVERY = 20
"""Of these, every so many is made as long as any that gets so far (`growth.py`)."""


def main(name: str, runs: str, seed: str) -> None:
    """Fuzz one target; the process's exit code says whether it held."""
    with atheris.instrument_imports(include=["engine", "croniter", "idna"]):
        # Imported here, to be instrumented.
        from tests.fuzz.growth import grown  # noqa: PLC0415
        from tests.fuzz.targets import SEEDS, TARGETS  # noqa: PLC0415

    target = TARGETS[name]
    for text in SEEDS[target]:
        target(text.encode())  # What is loaded at first use is loaded now.
    gc.collect()
    gc.freeze()
    gc.disable()

    turns = count(1)

    def one(data: bytes) -> None:
        if next(turns) % GROWN_EVERY == 0:
            data = grown(target, data)
        seconds = cpu_seconds(target, data)
        if seconds >= INPUT_SECONDS_MAX:
            # Once more: others on the machine take its caches, and an input is not slow for that.
            seconds = min(seconds, cpu_seconds(target, data))
        assert seconds < INPUT_SECONDS_MAX, (
            f"{seconds * 1_000:.0f} ms for {len(data):,} bytes: {data[:500]!r}"
        )

    with tempfile.TemporaryDirectory() as corpus:
        for i, text in enumerate(SEEDS[target]):
            (Path(corpus) / str(i)).write_bytes(text.encode())
        options = [f"-runs={runs}", f"-seed={seed}", f"-max_len={INPUT_BYTES_MAX}"]
        quiet = ["-verbosity=0", "-close_fd_mask=0", f"-artifact_prefix={corpus}/"]
        atheris.Setup([sys.argv[0], *options, *quiet, corpus], one)
        atheris.Fuzz()


def cpu_seconds(target: Callable[[bytes], object], data: bytes) -> float:
    started = time.thread_time()
    target(data)
    return time.thread_time() - started


if __name__ == "__main__":
    main(*sys.argv[1:])
