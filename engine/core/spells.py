"""Spells: when something was the case, so that a wait can be asked how much of it that explains.

Every run that waits would otherwise have to note, on entering and on leaving, how long its flow had
been blocked in all and how long the bucket had been dry. Here whoever blocks notes it, once, and a
run is asked for nothing but the two ends of its wait. Most runs find no spell and pay a comparison.

The total over time is a polygon: it rises while a spell lasts and is level between two. Its corners
are kept, a bounded number of them. When there are too many, every second one of the older half
goes, and over the gap the total is taken to have risen evenly: what is recent stays exact, what is
long past becomes coarse, and the whole always adds up.
"""

from bisect import bisect_right

CORNERS_MAX = 64
"""Two to three KiB where they are used up; the last sixteen spells are exact, at least."""


class Spells:
    """Spells of one kind. Instants in milliseconds, on one clock that does not go back."""

    __slots__ = ("_at_ms", "_lasts", "_total_ms")

    def __init__(self) -> None:
        self._at_ms: list[int] = []
        self._total_ms: list[int] = []
        self._lasts = False

    def begin(self, now_ms: int) -> None:
        """It is the case from now on; that it was already changes nothing."""
        if not self._lasts:
            self._turn(now_ms)

    def end(self, now_ms: int) -> None:
        """It is not the case any more."""
        if self._lasts:
            self._turn(now_ms)

    def lasting_ms(self, now_ms: int) -> int:
        """For how long it is the case already; 0 when it is not."""
        return now_ms - self._at_ms[-1] if self._lasts else 0

    def within(self, from_ms: int, to_ms: int) -> int:
        """How many of the milliseconds between the two it was the case."""
        if not self._at_ms or (not self._lasts and self._at_ms[-1] <= from_ms):
            return 0
        return max(0, self._until(to_ms) - self._until(from_ms))

    def _turn(self, now_ms: int) -> None:
        if len(self._at_ms) == CORNERS_MAX:
            del self._at_ms[1 : CORNERS_MAX // 2 : 2], self._total_ms[1 : CORNERS_MAX // 2 : 2]
        total_ms = self._until(now_ms)
        self._at_ms.append(now_ms)
        self._total_ms.append(total_ms)
        self._lasts = not self._lasts

    def _until(self, at_ms: int) -> int:
        """For how long it was the case in all, until then."""
        place = bisect_right(self._at_ms, at_ms)
        if place == 0:
            return 0
        since_ms, total_ms = self._at_ms[place - 1], self._total_ms[place - 1]
        if place == len(self._at_ms):
            return total_ms + (at_ms - since_ms if self._lasts else 0)
        risen_ms = self._total_ms[place] - total_ms
        return total_ms + risen_ms * (at_ms - since_ms) // (self._at_ms[place] - since_ms)
