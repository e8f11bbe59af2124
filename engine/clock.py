"""The calendar: the only file that reads the time.

Two clocks matter. The *calendar* (`now_ms`) says which instant it is and may jump when somebody
sets it. The *monotonic* clock (`monotonic_ms`) says how much time passed and never jumps. The
event loop's own timers are the third, and belong to the loop.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Where services take the time from; the core takes it as an argument."""

    def now_ms(self) -> int:
        """The calendar's instant: milliseconds since the Unix epoch."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds since an arbitrary point; never goes back, never jumps."""
        ...


class SystemClock:
    """The machine's clocks, shifted by a constant when the operator asked for `--clock-start`."""

    __slots__ = ("_shift_ms",)

    def __init__(self, *, start_ms: int | None = None) -> None:
        """`start_ms`: the instant that "now" is to be called; None leaves the calendar alone."""
        self._shift_ms = 0 if start_ms is None else start_ms - time.time_ns() // 1_000_000

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self._shift_ms

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
