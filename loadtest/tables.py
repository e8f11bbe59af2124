"""The tables of the report: figures and invariants, a column for each variant."""

from collections.abc import Callable, Sequence
from html import escape

from loadtest.charts import duration
from loadtest.checker import KINDS
from loadtest.figures import Figures

TITLES = {
    "none": "Without jitter",
    "jitter": "With jitter",
    "whole-second": "Jitter in whole seconds",
}


def figures_table(results: Sequence[Figures]) -> str:
    """Each figure in a row, each variant in a column; rows that say nothing are left out."""
    head = "".join(f"<th>{TITLES[result['variant']]}</th>" for result in results)
    body = ""
    for name, read in _ROWS:
        cells = [read(result) for result in results]
        if any(cell != "–" for cell in cells):
            body += f"<tr><td>{name}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


def invariants_table(results: Sequence[Figures]) -> str:
    """How often each invariant was broken, with the first examples."""
    head = "".join(f"<th>{TITLES[result['variant']]}</th>" for result in results)
    body = ""
    for kind, meaning in KINDS.items():
        cells = "".join(
            f'<td class="{"bad" if result["faults"][kind] else "good"}">'
            f"{result['faults'][kind]:,}</td>"
            for result in results
        )
        examples = [line for result in results for line in result["examples"].get(kind, ())]
        shown = f'<br><span class="faint">{escape("; ".join(examples))}</span>' if examples else ""
        name = kind.replace("_", " ")
        body += f"<tr><td><b>{name}</b>: {escape(meaning)}{shown}</td>{cells}</tr>"
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


def milliseconds(value: float | None) -> str:
    """A duration, or a dash for none."""
    return "–" if value is None else duration(value)


def _of(result: Figures, group: str, name: str) -> str:
    values = result.get(group)
    return milliseconds(values[name]) if values else "–"


def _difference(result: Figures) -> str:
    """How far the measured p99 is from the forecast's, in percent of it."""
    forecast, measured = result.get("forecast"), result["lateness_ms"]["p99"]
    if not forecast or not forecast["p99_ms"] or measured is None:
        return "–"
    return f"{100 * (measured / forecast['p99_ms'] - 1):+.1f} %"


def _stored(result: Figures) -> str:
    # Virtual time must not be taken for speed, not even in passing.
    return f"{result['totals']['loaded_per_second']:,}" if result["mode"] == "real" else "–"


def _peak(result: Figures, stage: str, bin_width: str) -> str:
    values = result["stages"][stage][bin_width]
    ratio = values["amplification"]
    if ratio is None:
        return "–"
    return f"{values['busiest']:,} = {ratio:,.2f} × mean (floor {values['noise_floor']:.2f})"


def _after(result: Figures) -> str:
    values = result.get("after_outage")
    if not values or not values["1s"]["amplification"]:
        return "–"
    return f"{values['1s']['busiest']:,} = {values['1s']['amplification']:,.2f} × mean"


_Row = tuple[str, Callable[[Figures], str]]

_ROWS: tuple[_Row, ...] = (
    ("runs owed", lambda r: f"{r['totals']['owed']:,}"),
    ("runs that arrived", lambda r: f"{r['totals']['arrived']:,}"),
    (
        "requests, with retries and whatever ran around the window",
        lambda r: f"{r['totals']['requests']:,}",
    ),
    ("runs given up after all attempts", lambda r: f"{r['totals']['given_up']:,}"),
    (
        "runs that wait still, for a retry or behind a breaker",
        lambda r: f"{r['totals']['waiting']:,}",
    ),
    ("first arrival − fire_after, p50", lambda r: _of(r, "lateness_ms", "p50")),
    ("first arrival − fire_after, p99", lambda r: _of(r, "lateness_ms", "p99")),
    ("first arrival − fire_after, max", lambda r: _of(r, "lateness_ms", "max")),
    (
        "p99 by the closed form 0.99·max(0, N/R − J)",
        lambda r: milliseconds(r["expected_p99_lateness_ms"]),
    ),
    ("p99 by the forecast", lambda r: _of(r, "forecast", "p99_ms")),
    ("first arrival beside the forecast, p99", _difference),
    (
        "first start − fire_after by the journal, p99",
        lambda r: _of(r, "journal_lateness_ms", "p99"),
    ),
    ("caught up late, p99", lambda r: _of(r, "catch_up_lateness_ms", "p99")),
    ("first arrival − scheduled_for, p50", lambda r: _of(r, "delay_ms", "p50")),
    ("first arrival − scheduled_for, p99", lambda r: _of(r, "delay_ms", "p99")),
    ("first arrival − scheduled_for, max", lambda r: _of(r, "delay_ms", "max")),
    ("busiest second served", lambda r: f"{r['busiest_second_served']:,}"),
    ("in the herd's span: demand, busiest second", lambda r: _peak(r, "demand", "1s")),
    ("in the herd's span: planned, busiest second", lambda r: _peak(r, "planned", "1s")),
    ("in the herd's span: served, busiest second", lambda r: _peak(r, "served", "1s")),
    ("in the herd's span: planned, busiest 10 ms", lambda r: _peak(r, "planned", "10ms")),
    ("in the herd's span: served, busiest 10 ms", lambda r: _peak(r, "served", "10ms")),
    ("alignment of planned to the second", lambda r: f"{r['stages']['alignment']['planned']:.3f}"),
    ("volume N / (rate·(J + 15 s))", lambda r: f"{r['stages']['volume']:.2f}"),
    ("after the outage, busiest second", _after),
    ("starts beyond the token bucket", lambda r: f"{r['bucket_excess']:,}"),
    ("schedules stored each second", _stored),
    ("digest of all requests", lambda r: (r["digest"] or "–")[:16]),
)
