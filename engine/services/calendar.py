"""The calendar's watch: steps, suspensions, and clocks that cannot be believed (SPEC §6).

The wall clock may be set and the process may be stopped; either looks like time that did not pass
as it should. Each observation compares the calendar with the monotonic clock and with itself.
"""

from dataclasses import dataclass

from engine.clock import Clock

JUMP_MS = 1_000
"""A step larger than this is logged and counted: slewing stays far below it, NTP steps above."""

BEHIND_MS_MAX = 24 * 3_600_000
"""A clock this far behind the journal's last instant is not believed: nothing is dispatched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one look at the clocks says.

    `gap_ms`: calendar time since the last look, 0 when it went back. `jump_ms`: by how much the
    calendar moved against the monotonic clock, 0 when within tolerance.
    """

    now_ms: int
    gap_ms: int
    jump_ms: int
    behind_ms: int


class Calendar:
    """Remembers the last look, and the newest instant that was believed.

    Rows may be later than that: those of a clock that was ahead, after an operator has said that it
    is right now.
    """

    def __init__(self, clock: Clock, *, alive_ms: int) -> None:
        """`alive_ms`: when the engine last ran, by the journal."""
        self._clock = clock
        self._last_ms = alive_ms
        self._seen_ms = alive_ms
        self._monotonic_ms: int | None = None
        self._newest_ms = alive_ms

    def look(self) -> Observation:
        """Read both clocks."""
        now_ms, monotonic_ms = self._clock.now_ms(), self._clock.monotonic_ms()
        passed_ms = now_ms - self._last_ms
        jump_ms = 0
        if self._monotonic_ms is not None:
            jump_ms = now_ms - self._seen_ms - (monotonic_ms - self._monotonic_ms)
        behind_ms = max(0, self._newest_ms - now_ms)
        if behind_ms < BEHIND_MS_MAX:
            self._last_ms = now_ms
            self._newest_ms = max(self._newest_ms, now_ms)
        self._seen_ms, self._monotonic_ms = now_ms, monotonic_ms
        return Observation(
            now_ms=now_ms,
            gap_ms=max(0, passed_ms),
            jump_ms=jump_ms if abs(jump_ms) > JUMP_MS else 0,
            behind_ms=behind_ms,
        )

    def accept(self) -> None:
        """Believe the clock as it is, whatever the journal says."""
        self._last_ms = self._newest_ms = self._clock.now_ms()
