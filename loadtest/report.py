"""The report: one page of HTML that a platform engineer can send to a colleague.

Self-contained: pictures are inline SVG, the style sheet is in the page, there are no scripts. It
opens with what was measured and whether it held, shows the variants side by side on equal axes,
and ends with the command that makes it again.
"""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from loadtest.charts import Bounds, bounds_of, by_second, curves, duration, lateness, phase
from loadtest.figures import SLO_MS, Figures
from loadtest.tables import TITLES, figures_table, invariants_table, milliseconds

CAPTIONS = {
    "herd": ("The herd", "Runs in each second around the busiest instant."),
    "window": ("The window", "A bin of several seconds shows its busiest one."),
    "lateness": ("Lateness", "From the instant a run was meant to leave to its first arrival."),
    "by_second": (
        "Lateness by second",
        "By second of the minute: up to p99, strong up to the median.",
    ),
    "phase": ("Within a second", "Where runs are planned, in 10 ms. A column is a small herd."),
}


def write_report(results: Sequence[Figures], path: Path) -> None:
    """Write the page about these variants of one experiment."""
    style = Path(__file__).with_name("report.css").read_text()
    first = results[0]
    title = f"{first['experiment']['scenario'].capitalize()}: {_size(first)}"
    says = escape(first["says"].capitalize())
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Offbeat load test: {escape(title)}</title><style>{style}</style></head><body>
<p class="mode">{"Virtual time" if first["mode"] == "virtual" else "Real time"}. {says}.</p>
<h1>{escape(title)}</h1>
<p class="faint">{escape(_setting(first["experiment"]))}</p>
{_verdict(results)}
<h2>{"Side by side" if len(results) > 1 else "What happened"}</h2>
{_key(results)}
<div class="columns">{"".join(_card(result, bounds_of(results)) for result in results)}</div>
<h2>Figures</h2><div class="card scroll">{figures_table(results)}</div>
<h2>Invariants</h2>
<p>Joined from the receiver's ledger and the engine's journal, with arithmetic that shares no line
with the engine.</p>
<div class="card scroll">{invariants_table(results)}</div>
{_reading(first)}
<h2>Again</h2>
{"".join(f"<pre>{escape(result['command'])}</pre>" for result in results)}
<p class="mode">{says}.</p>
</body></html>
"""
    path.write_text(page, encoding="utf-8")


def judgements(result: Figures) -> Iterator[tuple[str, bool]]:
    """What is to be known first of a variant, each with whether that is good."""
    faults, waiting = sum(result["faults"].values()), result["totals"]["waiting"]
    spread = result["lateness_ms"]
    held = spread is not None and spread["p99"] <= SLO_MS
    p99 = duration(spread["p99"]) if spread else "unknown"
    where = "within" if held else "beyond"
    yield f"p99 of lateness {p99}, {where} the objective of {duration(SLO_MS)}", held
    yield f"{faults:,} breaches of invariants" if faults else "every invariant held", not faults
    if waiting:
        yield f"{waiting:,} runs had not ended when watching did", False


def _size(result: Figures) -> str:
    e, totals = result["experiment"], result["totals"]
    text = f"{e['schedules']:,} schedules"
    if totals["owed"] != e["schedules"]:
        text += f", {totals['owed']:,} runs"
    return text


def _setting(e: dict[str, Any]) -> str:
    parts = [
        f"jitter {e['jitter_seconds']} s",
        f"rate {e['rate']:,}/s, burst {e['burst']:,}",
        f"{e['receivers']} receiver{'s' if e['receivers'] > 1 else ''}",
    ]
    if e["delay_ms"]:
        parts.append(f"each answers after {e['delay_ms']} ms")
    if e["fail_rate"]:
        parts.append(f"{e['fail_rate']:.1%} of attempts fail")
    if e["outage_seconds"]:
        parts.append(f"outage of {e['outage_seconds']} s")
    if e["scenario"] == "fleet":
        parts.append(f"mix {e['mix']}")
    return ", ".join(parts) + f"; seed {e['seed']}"


def _verdict(results: Sequence[Figures]) -> str:
    lines = []
    for result in results:
        judged = (
            f'<span class="{"good" if good else "bad"}">{words}</span>'
            for words, good in judgements(result)
        )
        lines.append(f"<p><b>{TITLES[result['variant']]}</b>: {'; '.join(judged)}.</p>")
    return "".join(lines)


def _key(results: Sequence[Figures]) -> str:
    entries = [
        ("demand", "demand: when runs are scheduled for"),
        ("planned", "planned: when they may leave, jitter added"),
        ("served", "served: when they arrived"),
    ]
    if any("forecast" in result for result in results):
        entries.append(("ink", "dotted: forecast of served"))
    marks = (
        f'<span><i style="background:var(--{name})"></i>{words}</span>' for name, words in entries
    )
    return f'<p class="key faint">{" &ensp; ".join(marks)}</p>'


def _card(result: Figures, bounds: Bounds) -> str:
    spread = result["lateness_ms"] or {}
    tiles = [
        ("p50 lateness", milliseconds(spread.get("p50"))),
        ("p99 lateness", milliseconds(spread.get("p99"))),
        ("worst", milliseconds(spread.get("max"))),
        ("busiest second served", f"{result['busiest_second_served']:,}"),
    ]
    shown = "".join(f'<div class="tile"><b>{v}</b><span>{k}</span></div>' for k, v in tiles)
    pictures = [_figure("herd", curves(result, "herd", bounds))]
    if len(result["window"]["served"]) > 2 * len(result["herd"]["served"]) or (
        result["window"]["seconds_per_bin"] > 1
    ):
        pictures.append(_figure("window", curves(result, "window", bounds)))
    pictures += [
        _figure("lateness", lateness(result, bounds)),
        _figure("by_second", by_second(result, bounds)),
        _figure("phase", phase(result, bounds)),
    ]
    return (
        f'<section class="card"><h2>{TITLES[result["variant"]]}</h2>'
        f'<div class="tiles">{shown}</div><div class="pictures">{"".join(pictures)}</div></section>'
    )


def _figure(name: str, picture: str) -> str:
    title, words = CAPTIONS[name]
    return f"<figure><figcaption><b>{title}.</b> {words}</figcaption>{picture}</figure>"


def _reading(result: Figures) -> str:
    where = (
        "Virtual time has no network, no processor and no disk: requests take no time beyond the "
        "receivers' delay, and each crossing to the database takes "
        f"{result['experiment']['disk_ms']:g} ms. Nothing here says how fast the engine is."
        if result["mode"] == "virtual"
        else "Engine, receiver and instrument share one machine; the engine's calendar was set by "
        "--clock-start, and the receiver's clock was compared with it to "
        f"{result['totals']['clock_grain_ms']} ms."
    )
    return f"""<h2>How to read it</h2>
<p>Lateness counts from <code>fire_after</code>, the delay from <code>scheduled_for</code>; both end
at the first arrival by the receiver's own clock, and a run that never arrived counts with all the
time for which it was waited. So nothing is hidden by starting late. A herd's span goes from its
instant to its last planned run; what is served beyond is in the pictures. The noise floor is what a
perfectly random spread has: 1 + sqrt(2·ln W / mean) over W bins. Alignment is the vector strength
at one second: 0 is even, 1 is a column.</p>
<p>{where}</p>"""
