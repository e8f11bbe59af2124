"""The report's pictures: SVG, drawn from figures, colours left to the page's style sheet.

Each picture takes the figures of one variant and the bounds that all variants share, since two
pictures side by side are compared whether their axes agree or not.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadtest.arithmetic import text_of

Figures = dict[str, Any]

WIDTH, HEIGHT = 460, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 30, 30
FLOOR = HEIGHT - BOTTOM

SPREAD_RATIO_MAX = 3
"""A plan above this many times what was served would flatten the rest of its picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Shared by all variants: the highest count of a second shown, delays in ms."""

    per_second: float
    late_ms: float
    share: float
    second_ms: float
    phase: float


def bounds_of(results: Sequence[Figures]) -> Bounds:
    """The bounds that hold every variant, but for herds that fall into one second."""
    return Bounds(
        per_second=1.25 * max(_shown(result) for result in results),
        late_ms=max((r["lateness_ms"] or {"max": 1})["max"] for r in results),
        share=max(max(_shares(result), default=0.0) for result in results),
        second_ms=max(
            (row["p99"] for r in results for row in r["by_second_of_minute"] if row["count"]),
            default=1,
        ),
        phase=max(max(_phases(result), default=0.0) for result in results),
    )


def curves(result: Figures, which: str, bounds: Bounds) -> str:
    """Demand, planned and served, second by second; what is too high is cut off and labelled."""
    data = result[which]
    bins = len(data["served"])
    x = Scale(0, bins, LEFT, WIDTH - RIGHT)
    y = Scale(0, bounds.per_second, FLOOR, TOP)
    begin_ms, width = data["from_ms"], data["seconds_per_bin"]
    parts = [
        *_grid(y),
        *_clock(x, begin_ms, bins * width, width),
        f'<path class="served area" d="{_steps(data["served"], x, y, closed=True)}"/>',
        f'<path class="planned line" d="{_steps(data["planned"], x, y)}"/>',
        *_bars(data["demand"], x, y),
        *_rate(result["experiment"]["rate"], y),
        *_forecast(result, which, x, y),
        *_cut_off(data, x, y),
    ]
    return _picture(parts)


def lateness(result: Figures, bounds: Bounds) -> str:
    """How many runs were so late, on a logarithmic scale."""
    shares = _shares(result)
    x = LogScale(1, max(10, bounds.late_ms), LEFT, WIDTH - RIGHT)
    y = Scale(0, bounds.share * 1.15, FLOOR, TOP)
    lower = 0.8
    parts = [*_grid(y, percent=True), *_decades(x)]
    for (upper, _), share in zip(result["histogram"], shares, strict=True):
        if share:
            left, right = x(max(1, lower)), x(max(1.2, upper))
            parts.append(_box("served", left, y(share), max(1, right - left - 1), FLOOR - y(share)))
        lower = upper
    spread = result["lateness_ms"] or {}
    rows = {"p50": 12, "p99": 26, "max": 40}
    for name, row in rows.items():
        if name in spread:
            parts.append(_marker(x(max(1, spread[name])), f"{name} {duration(spread[name])}", row))
    return _picture(parts)


def by_second(result: Figures, bounds: Bounds) -> str:
    """Lateness by the second of the minute in which a run was meant to leave."""
    x = Scale(0, 60, LEFT, WIDTH - RIGHT)
    y = LogScale(1, max(10, bounds.second_ms * 1.2), FLOOR, TOP)
    parts = [*_levels(y)]
    parts += [_label(x(s), FLOOR + 18, f":{s:02}", "middle") for s in range(0, 60, 10)]
    for row in result["by_second_of_minute"]:
        left, width = x(row["second"]) + 1, x(1) - x(0) - 2
        if row["count"]:
            for name in ("p99", "p50"):
                top = y(max(1.1, row[name]))
                parts.append(_box(name, left, top, width, FLOOR - top))
    return _picture(parts)


def phase(result: Figures, bounds: Bounds) -> str:
    """Planned runs by their place within a second, in bins of 10 ms."""
    x = Scale(0, 1_000, LEFT, WIDTH - RIGHT)
    y = Scale(0, bounds.phase * 1.1, FLOOR, TOP)
    parts = [*_grid(y, percent=True)]
    parts += [_label(x(ms), FLOOR + 18, f"{ms} ms", "middle") for ms in range(0, 1_000, 200)]
    for place, share in enumerate(_phases(result)):
        if share:
            left, width = x(place * 10), x(10) - x(0)
            parts.append(_box("planned", left, y(share), max(1, width - 1), FLOOR - y(share)))
    return _picture(parts)


def duration(ms: float) -> str:
    """A duration for a person."""
    if ms < 1_000:
        return f"{ms:g} ms"
    if ms < 120_000:
        return f"{ms / 1_000:.3g} s"
    return f"{ms / 60_000:.3g} min"


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to pixels, cut off at the ends."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1)
        return float(self.begin + (self.end - self.begin) * min(1.0, max(0.0, share)))


@dataclass(frozen=True, slots=True)
class LogScale:
    """The same for logarithms."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        linear = Scale(math.log(self.low), math.log(self.high), self.begin, self.end)
        return linear(math.log(value))


def ticks(high: float, count: int = 4) -> list[float]:
    """Round numbers from 0 up to `high`, about `count` of them."""
    raw = (high or 1) / count
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= raw)
    return [number * step for number in range(int(high / step) + 1)]


def _shown(result: Figures) -> float:
    """The highest bin that a picture shows in full: served, and planned unless it is a herd."""
    served = float(max([*result["herd"]["served"], *result["window"]["served"], 1]))
    planned = float(max([*result["herd"]["planned"], *result["window"]["planned"]]))
    return planned if served < planned <= SPREAD_RATIO_MAX * served else served


def _shares(result: Figures) -> list[float]:
    total = sum(count for _, count in result["histogram"]) or 1
    return [count / total for _, count in result["histogram"]]


def _phases(result: Figures) -> list[float]:
    total = sum(result["phase"]) or 1
    return [count / total for count in result["phase"]]


def _picture(parts: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'


def _grid(y: Scale, *, percent: bool = False) -> Iterator[str]:
    for value in ticks(y.high):
        words = f"{value:,.0f}" if value >= 1 or not value else f"{value:g}"
        if percent:
            words = f"{value * 100:g} %"
        yield f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>'
        yield _label(LEFT - 6, y(value) + 4, words, "end")


def _clock(x: Scale, begin_ms: int, seconds: int, width: int) -> Iterator[str]:
    steps = (5, 10, 30, 60, 300, 600, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)
    step = next((s for s in steps if seconds / s <= 6), steps[-1])
    first = -(-begin_ms // 1_000 // step) * step
    for second in range(first, begin_ms // 1_000 + seconds + 1, step):
        place = x((second - begin_ms / 1_000) / width)
        yield f'<path class="axis" d="M{place:.1f} {FLOOR}v5"/>'
        yield _label(place, FLOOR + 18, text_of(second * 1_000)[11:19], "middle")


def _levels(y: LogScale) -> Iterator[str]:
    for power in range(int(math.log10(y.high)) + 1):
        yield f'<path class="grid" d="M{LEFT} {y(10**power):.1f}H{WIDTH - RIGHT}"/>'
        yield _label(LEFT - 6, y(10**power) + 4, duration(10**power), "end")


def _decades(x: LogScale) -> Iterator[str]:
    for power in range(int(math.log10(x.high)) + 1):
        place = x(10**power)
        side = "end" if place > WIDTH - 3 * RIGHT else "middle"
        yield f'<path class="axis" d="M{place:.1f} {FLOOR}v5"/>'
        yield _label(place, FLOOR + 18, duration(10**power), side)


def _steps(counts: Sequence[float], x: Scale, y: Scale, *, closed: bool = False) -> str:
    path = f"M{x(0):.1f} {FLOOR}" if closed else f"M{x(0):.1f} {y(counts[0]):.1f}"
    for place, count in enumerate(counts):
        path += f"V{y(count):.1f}H{x(place + 1):.1f}"
    return f"{path}V{FLOOR}z" if closed else path


def _bars(counts: Sequence[int], x: Scale, y: Scale) -> Iterator[str]:
    width = max(2.0, x(1) - x(0))
    for place, count in enumerate(counts):
        if count:
            yield _box("demand", x(place), y(count), width, FLOOR - y(count))


def _rate(rate: int, y: Scale) -> Iterator[str]:
    if rate < y.high:
        yield f'<path class="rate" d="M{LEFT} {y(rate):.1f}H{WIDTH - RIGHT}"/>'
        yield _label(WIDTH - RIGHT, y(rate) - 5, f"rate {rate:,}/s", "end")


def _forecast(result: Figures, which: str, x: Scale, y: Scale) -> Iterator[str]:
    forecast = result.get("forecast")
    if forecast and result[which]["seconds_per_bin"] == 1:
        skipped = (result[which]["from_ms"] - forecast["from_ms"]) // 1_000
        served = [0.0] * max(0, -skipped) + list(forecast["served"])[max(0, skipped) :]
        bins = len(result[which]["served"])
        yield f'<path class="forecast line" d="{_steps(served[:bins] or [0.0], x, y)}"/>'


def _cut_off(data: Figures, x: Scale, y: Scale) -> Iterator[str]:
    """Name the highest bins of demand and plan that do not fit into the picture."""
    for row, stage in enumerate(("demand", "planned")):
        highest = max(data[stage], default=0)
        if highest > y.high:
            place = x(data[stage].index(highest) + 1)
            side, gap = ("start", 5) if place < WIDTH / 2 else ("end", -5)
            words = f"{stage} {highest:,} in one second"
            yield _label(place + gap, TOP - 12 + 13 * row, words, side, stage)


def _marker(place: float, words: str, height: float) -> str:
    side, gap = ("start", 4) if place < WIDTH * 0.7 else ("end", -4)
    line = f'<path class="marker" d="M{place:.1f} {height + 4:.0f}V{FLOOR}"/>'
    return line + _label(place + gap, height + 8, words, side)


def _box(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<path class="{kind}" d="M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"/>'


def _label(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
