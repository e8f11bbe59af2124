"""`offbeat status`: one screen that says whether all is well, and what comes next."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from prometheus_client.parser import text_string_to_metric_families

from engine.cli.client import PAGE_ROWS, Client
from engine.cli.options import Server, example, output, server
from engine.cli.output import count_of, show_json, show_sentence
from engine.core.errors import OffbeatError, Unavailable
from engine.core.identity import format_instant, parse_instant
from engine.core.model import State

AHEAD_MS = 3_600_000
"""How far a herd is looked for: by second, 3,600 figures."""

FLOWS_LOOKED_AT = 10_000
"""In the order of their keys, for open breakers: ten pages; more are for `offbeat flows`."""

FLOWS_NAMED = 5
"""Behind a breaker: what hangs together is seen from the first few."""

_FIGURES = (
    "scheduler_backlog_runs",
    "scheduler_oldest_due_age_seconds",
    "scheduler_inflight",
    "scheduler_concurrency_limit",
    "scheduler_desired_nodes",
    "scheduler_schedules_directory_ok",  # Of an engine that follows one.
)


@click.command("status", epilog=example("offbeat status", "offbeat status -o json"))
@server
@output
def command(*, server: Server, form: str) -> int:
    """Show readiness, backlog, rate, verdict and the next herd; exit code 1 if it is not ready.

    Flows behind a breaker that is not closed are named, of the first 10,000.

    Rate and verdict are the whole engine's; where there are keys they take one of scope admin.
    """
    with Client(server) as client:
        status = _ask(client)
    if form == "json":
        show_json(status)
    else:
        show_status(status)
    return 0 if status["ready"] else 1


def show_status(status: Mapping[str, Any]) -> None:
    """The screen of a status, a sentence a line."""
    for name, sentence in _sentences(status):
        show_sentence(sentence, label=f"{name:<10}")


def _ask(client: Client) -> dict[str, Any]:
    reason = None
    try:
        client.get("/readyz")
    except Unavailable as error:
        reason = str(error)
    return {
        "ready": reason is None,
        "reason": reason,
        "waiting_runs": None if reason is None else _waiting(client),
        **_figures(client.text("/metrics")),
        "broken_flows": _broken(client),
        "monitor": _monitor(client),
        **_coming(client),
    }


def _figures(text: str) -> dict[str, float]:
    return {
        family.name.removeprefix("scheduler_"): family.samples[0].value
        for family in text_string_to_metric_families(text)
        if family.name in _FIGURES
    }


def _waiting(client: Client) -> int:
    """The due runs in the journal, of the newest page of each state: an engine that is not ready
    does not take them up, so its own figures know nothing of them."""
    return sum(
        parse_instant(run["next_attempt_at"]) < client.now_ms + 1_000
        for state in (State.PLANNED, State.RETRY_WAIT)
        for run in client.rows("/v1/runs", limit=PAGE_ROWS, state=state.value)
    )


def _broken(client: Client) -> list[dict[str, Any]]:
    return [
        {name: flow[name] for name in ("key", "breaker", "held")}
        for flow in client.rows("/v1/flows", limit=FLOWS_LOOKED_AT)
        if flow["breaker"] != "closed"
    ]


def _monitor(client: Client) -> dict[str, Any] | None:
    """What goes on; None for whoever may not see it."""
    try:
        document = client.get("/v1/herd/monitor", limit=1)
    except OffbeatError:
        return None
    window, verdict = document["window"], document["verdict"]
    return {
        "seconds": window["seconds"],
        "attempts": window["attempts"],
        "verdict": verdict["name"],
        "sentence": verdict["sentence"],
        "advice": verdict["advice"],
        "timetables": verdict["timetables"],
    }


def _coming(client: Client) -> dict[str, Any]:
    """The coming hour: its forecast, and the second for which most is planned; None: nothing is."""
    to = format_instant(client.now_ms + AHEAD_MS)
    document = client.get("/v1/herd/forecast", bin=1, to=to)
    demand = document["curves"]["demand"]["runs"]
    herd = None
    if any(demand):
        second = max(range(len(demand)), key=demand.__getitem__)
        at_ms = parse_instant(document["from"]) + second * 1_000
        herd = {"at": format_instant(at_ms), "runs": demand[second]}
    forecast = {name: document[name] for name in ("rate", "busiest", "verdict", "sentence")}
    return {"next_herd": herd, "forecast": forecast}


def _sentences(status: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "ready", "yes" if status["ready"] else f"no: {status['reason']}"
    yield "backlog", _backlog(status)
    if broken := status["broken_flows"]:
        yield "breakers", _behind_breakers(broken)
    if (applied := status.get("schedules_directory_ok")) is not None:
        said = "not applied: schedules_not_applied in the engine's log says why"
        yield "files", "applied" if applied else said
    monitor, forecast, herd = status["monitor"], status["forecast"], status["next_herd"]
    slots = f"{status['inflight']:,.0f} of {status['concurrency_limit']:,.0f} at once"
    if monitor is None:
        yield "rate", f"{forecast['rate']:,} attempts a second at most; {slots}"
        yield "verdict", "for keys of scope admin"
    else:
        rate = monitor["attempts"] / monitor["seconds"]
        yield "rate", f"{rate:,.1f} attempts a second, of {forecast['rate']:,} at most; {slots}"
        yield "verdict", f"{monitor['verdict']}: {monitor['sentence']}"
        if monitor["verdict"] not in ("quiet", "normal", "flattened"):
            yield "", monitor["advice"]
        if monitor["verdict"] in ("alignment", "volume") and monitor["timetables"]:
            yield "", _timetables(monitor["timetables"])
    if herd is None:
        yield "next herd", "nothing is planned for the coming hour"
        return
    served = forecast["busiest"]["served"]
    yield (
        "next herd",
        f"{count_of(herd['runs'], 'run')} for {herd['at']}, the largest of the coming hour; no"
        f" second of it sends more than {served:,}",
    )
    yield "forecast", forecast["sentence"]


def _backlog(status: Mapping[str, Any]) -> str:
    if (waiting := status["waiting_runs"]) is not None:
        more = " or more" if waiting >= PAGE_ROWS else ""
        them = "is due and waits" if waiting == 1 else "are due and wait"
        return f"{count_of(waiting, 'run')}{more} {them} in the journal until the engine is ready"
    backlog, age = status["backlog_runs"], status["oldest_due_age_seconds"]
    due = f"{count_of(backlog, 'run')} {'is' if backlog == 1 else 'are'} due"
    return due + (f", the first for {age:,.1f} s" if age else "")


def _behind_breakers(flows: Sequence[Mapping[str, Any]]) -> str:
    named = [
        f"{flow['key']} is {flow['breaker']}, {count_of(flow['held'], 'run')} held"
        for flow in flows[:FLOWS_NAMED]
    ]
    if more := len(flows) - len(named):
        named.append(f"and {count_of(more, 'flow')} more")
    return f"{'; '.join(named)}. Look at their receivers."


def _timetables(most: Sequence[Mapping[str, Any]]) -> str:
    named = (f"{each['timetable']} with {count_of(each['runs'], 'run')}" for each in most)
    return f"The timetables are, most first: {'; '.join(named)}."
