"""Instants as people say them, from now: `in 5 min`, `3 s ago`."""

_UNITS = ((1_000, "s", 120), (60_000, "min", 120), (3_600_000, "h", 48), (86_400_000, "days", None))
"""Milliseconds of a unit, its name, and from how many of it on the next one says more."""


def from_now(instant_ms: int, now_ms: int) -> str:
    """How far an instant is from now, in whole units of a fitting size."""
    distance = abs(instant_ms - now_ms)
    unit_ms, name = next(
        (unit_ms, name)
        for unit_ms, name, most in _UNITS
        if most is None or distance < most * unit_ms
    )
    if distance < unit_ms:
        return "now"
    count = distance // unit_ms
    return f"in {count} {name}" if instant_ms > now_ms else f"{count} {name} ago"
