"""What is kept of each herd and each shock, as a value (SPEC §9)."""

from dataclasses import dataclass

from engine.core.forecast_audit import Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class HerdRecord:
    """What was seen of one herd, hour or shock; a window of `seconds` from `instant_ms`.

    `offsets` holds (upper bound in seconds or None, runs), `timetables` (name, runs), the largest
    first; `forecast` is the digest of the forecast made before, if there was one.
    """

    instant_ms: int
    seconds: int
    runs: int
    offsets: tuple[tuple[int | None, int], ...]
    timetables: tuple[tuple[str, int], ...]
    busiest_demand: int
    busiest_planned: int
    busiest_served: int
    amplification: float
    noise_floor: float
    volume: float
    verdict: str
    period_seconds: int | None
    sentence: str
    advice: str
    forecast: Digest | None
