"""Delays as bars under each other: where the time of a run went, and of many."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.cli.output import terminal_width

COLUMNS_MAX = 100
"""Wider bars are no easier to compare."""

BAR_MIN = 10
_BESIDE_WATERFALL = 28
_BESIDE_SHARES = 46


def waterfall(attribution: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """A run's components that took any time, (name, text): each bar begins where the last ended."""
    total_ms = attribution["total_ms"]
    yield "delay", f"{_seconds(total_ms):>12}"
    width, begin_ms = _width(_BESIDE_WATERFALL), 0
    for name, ms in attribution.items():
        if name == "total_ms" or not ms:
            continue
        first, last = (width * at // total_ms for at in (begin_ms, begin_ms + ms))
        first = min(first, width - 1)
        bar = " " * first + _block() * max(1, last - first)
        yield f"  {name.removesuffix('_ms')}", f"{_seconds(ms):>12}  {bar}"
        begin_ms += ms


def share_rows(components: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each component: its part of the whole as a bar, and its p50 and p99."""
    width = _width(_BESIDE_SHARES)
    yield f"{'':<12}{'share':>8}{'p50':>12}{'p99':>12}"
    for each in components:
        mark = "*" if each["ate_objective"] else " "
        figures = f"{_seconds(each['p50_ms']):>12}{_seconds(each['p99_ms']):>12}"
        bar = _block() * -(-round(each["share"] * width * 100) // 100)
        line = f"{each['name']:<11}{mark}{100 * each['share']:>6.1f} %{figures}  {bar}"
        yield line.rstrip()


def _width(beside: int) -> int:
    return max(BAR_MIN, min(COLUMNS_MAX, terminal_width()) - beside)


def _block() -> str:
    return "█" if sys.stdout.isatty() else "#"


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:,.3f} s"
