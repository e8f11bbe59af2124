"""The limits that somebody can hit, each with the reason that stands beside it in the code."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from pages.markdown import code, opening, table

PROSE = """\
Everything has a limit. One that is hit answers with its name and value; what a request may hold is
in [the API](api.md), and what can be set in [the configuration](configuration.md). The names are
those of the code."""

# What a user can hit, in the order of the page. Others bound the engine's own work.
TOPICS: dict[str, dict[str, tuple[str, ...]]] = {
    "Schedules": {
        "core.access": ("SCHEDULES_MAX", "INTERVAL_SECONDS_MIN"),
        "core.cron_text": ("TEXT_LENGTH_MAX",),
        "core.cron_fields": ("CALENDAR_FORMS_MAX",),
        "core.cron_timetable": ("SEARCH_YEARS",),
        "core.trigger_document": ("EVERY_SECONDS_MAX", "TIMEZONE_LENGTH_MAX"),
        "core.schedule_members": (
            "JITTER_SECONDS_MAX",
            "DEADLINE_SECONDS_MAX",
            "CATCH_UP_WINDOW_SECONDS_MIN",
            "CATCH_UP_WINDOW_SECONDS_MAX",
            "RUNS_MAX",
            "FAILURES_MAX",
            "FLOW_KEY_LENGTH_MAX",
        ),
        "core.missed": ("MISSED_AFTER_MS", "ALL_WINDOW_SECONDS", "SPREAD_MS_MIN"),
        "core.labels": (
            "LABELS_MAX",
            "LABEL_LENGTH_MAX",
            "PREFIX_LENGTH_MAX",
            "SELECTOR_LENGTH_MAX",
        ),
        "core.policy_document": (
            "PAUSE_REASON_LENGTH_MAX",
            "ATTEMPTS_MAX",
            "BACKOFF_SECONDS_MAX",
            "MULTIPLIER_MAX",
            "MAX_AGE_SECONDS_MIN",
            "MAX_AGE_SECONDS_MAX",
        ),
    },
    "Targets": {
        "core.url_rules": ("URL_LENGTH_MAX", "HOST_LENGTH_MAX"),
        "core.header_rules": ("HEADERS_MAX", "HEADERS_BYTES_MAX"),
        "core.target_document": ("BODY_BYTES_MAX", "TIMEOUT_SECONDS_MAX"),
    },
    "Delivery": {
        "core.room": ("RUNS_HELD_MAX", "FLOW_RUNS_MIN"),
        "core.flow": ("PARALLELISM",),
        "web.flows": ("RATE_MAX", "PARALLELISM_MAX"),
        "store.flows": ("UNNAMED_FLOWS_MAX",),
        "core.retry": ("MIN_WAIT_MS",),
        "core.breaker": ("FAILURES_MAX", "BACKOFF_MS_MIN", "BACKOFF_MS_MAX"),
        "services.names": ("LOOKUPS_MAX", "ADDRESSES_TRIED_MAX"),
        "services.transport": (
            "RESPONSE_READ_BYTES",
            "RESPONSE_KEPT_BYTES",
            "RESPONSE_FIELDS_MAX",
        ),
        "core.notice": ("DEADLINE_SECONDS", "WAITING_MAX"),
    },
    "What is done to runs": {
        "core.backfill": ("BACKFILL_OCCURRENCES_MAX",),
        "services.dead_letters": ("RUNS_MAX",),
        "core.settle": ("SETTLED_MAX",),
        "store.schedules": ("MANUAL_MILLISECONDS_MAX",),
        "store.history": ("ATTEMPTS_LISTED_MAX",),
    },
    "Requests": {
        "web.connection": ("LINE_BYTES_MAX", "HEAD_SECONDS_MAX", "ANSWER_SECONDS_MAX"),
        "web.json_bodies": ("BODY_BYTES_MAX", "BODY_SECONDS_MAX"),
        "core.json_text": ("DEPTH_MAX", "CONTAINERS_MAX"),
        "core.fields": ("FAULTS_MAX",),
        "web.queries": ("PAGE_MAX",),
        "store.selection": ("PAGE_BYTES_MAX",),
        "web.once": ("KEY_LENGTH_MAX",),
        "core.once": ("KEPT_MS", "IDEMPOTENCY_KEYS_MAX"),
        "web.batch": ("BATCHES_AT_ONCE",),
        "web.ndjson": (
            "LINE_SECONDS_MAX",
            "REQUEST_SECONDS_MAX",
            "WRITE_SECONDS_MAX",
            "ROOM_SECONDS_MAX",
            "UNREAD_BYTES_MAX",
        ),
    },
    "Tenants, keys and connections": {
        "services.tenants": ("TENANTS_MAX",),
        "web.tenants": ("SCHEDULES_QUOTA_MAX", "INTERVAL_SECONDS_MAX"),
        "services.keys": ("KEYS_MAX", "REQUESTS_PER_SECOND", "REQUESTS_BURST"),
        "web.connection_limits": (
            "CONNECTIONS_MAX",
            "CONNECTIONS_PER_ADDRESS_MAX",
            "RESERVE",
        ),
        "store.turns": ("READS_WAITING_MAX",),
        "web.unsent": ("UNSENT_BYTES_MAX",),
        "services.events": ("STREAMS_MAX", "STREAMS_PER_TENANT_MAX", "EVENTS_PER_SECOND"),
    },
    "Forecast, audit and attribution": {
        "core.forecast": ("SPAN_SECONDS_MAX",),
        "core.herd_document": ("ADDED_SCHEDULES_MAX", "TIMETABLES_NAMED_MAX"),
        "core.audit": ("FINDINGS_MAX",),
        "web.audit": ("AHEAD_MS_MAX",),
        "web.attribution": ("SPAN_MS_MAX",),
        "services.attribution": ("RUNS_READ_MAX",),
    },
    "Files": {
        "listening": ("SOCKET_PATH_BYTES_MAX",),
        "schedule_directory": ("SCHEDULES_MAX", "BYTES_MAX", "ANSWER_SECONDS"),
        "core.yaml_text": ("NODES_MAX",),
        "imports.crontab": ("FILE_BYTES_MAX",),
        "imports.kubernetes": ("FILE_BYTES_MAX",),
    },
}

ROOT = Path(__file__).parents[2] / "engine"

UNITS = {
    "PER_SECOND": " a second",
    "MILLISECONDS": " ms",
    "SECONDS": " s",
    "MS": " ms",
    "BYTES": " bytes",
    "LENGTH": " characters",
    "YEARS": " years",
}


def page() -> str:
    parts = [opening("Limits", "the constants and the reasons beside them", PROSE)]
    for topic, modules in TOPICS.items():
        rows = (row for module, names in modules.items() for row in _rows(module, names))
        parts += [f"## {topic}\n", table(("limit", "value", "what it bounds, and why"), rows)]
    return "\n".join(parts)


def _rows(module: str, names: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    path = ROOT / f"{module.replace('.', '/')}.py"
    reasons = dict(_reasons(ast.parse(path.read_text(encoding="utf-8"))))
    values = import_module(f"engine.{module}")
    for name in names:
        yield code(f"{module}.{name}"), _value(name, getattr(values, name)), reasons[name]


def _reasons(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The string that follows a constant."""
    for node, following in zip(tree.body, tree.body[1:], strict=False):
        match node, following:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(reason))),
            ):
                yield name, reason


def _value(name: str, value: float) -> str:
    """With the unit that is in the name."""
    unit = next((unit for word, unit in UNITS.items() if f"_{word}_" in f"_{name}_"), "")
    if unit == " ms" and value % 60_000 == 0:
        value, unit = value // 1_000, " s"
    return f"{value:,.0f}{unit}"
