"""What operators and their machines ask: alive, ready, figures."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, TypedDict

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from engine.core.access import Scope
from engine.core.members import Text
from engine.web.access import asker_of
from engine.web.json_bodies import json_response
from engine.web.operations import Answer, operation
from engine.web.ports import ENGINE
from engine.web.problems import Problem
from engine.web.queries import query_of

# Its being there is what counts.
VERBOSE = Text("verbose", None, longest=8, about="A line of text for each check.")


class LiveDocument(TypedDict):
    live: Literal[True]


class ReadyDocument(TypedDict):
    ready: Literal[True]


class CheckDocument(TypedDict):
    """What the engine needs to do its work, and why it has it not right now."""

    name: str
    fault: str | None


class StatusDocument(TypedDict):
    """`ready` as /readyz says it; `scope` and `schedules` are null without a key that is known.

    `schedules` is counted as `schedules_max` counts: the one of its notices is left out.
    """

    ready: bool
    checks: list[CheckDocument]
    scope: Scope | None
    schedules: int | None


class SettingDocument(TypedDict):
    """A setting in force; a secret's is masked."""

    section: str
    key: str
    value: Any
    is_default: bool
    purpose: str


class SystemDocument(TypedDict):
    """What runs here, and with which settings."""

    versions: dict[str, str]
    tenant: str
    keys_required: bool
    settings: list[SettingDocument]


@operation(answers={200: Answer(LiveDocument)})
async def livez(request: web.Request) -> web.Response:
    """200 while the loop turns; a supervisor restarts what does not answer."""
    return json_response({"live": True})


@operation(
    query=(VERBOSE,),
    answers={200: Answer(ReadyDocument, or_text=True)},
    problems=("not_ready",),
)
async def readyz(request: web.Request) -> web.Response:
    """200 when deliveries go out as planned; 503 with the reasons when they do not.

    With `?verbose`, a line of plain text for each check, as Kubernetes writes them.
    """
    with query_of(request) as query:
        is_verbose = query.text(VERBOSE) is not None
    checks = request.app[ENGINE].checks()
    reasons = [reason for reason in checks.values() if reason]
    if is_verbose:
        return web.Response(text=_listed(checks), status=503 if reasons else 200)
    if reasons:
        raise Problem(503, "not_ready", "; ".join(reasons), reasons=reasons)
    return json_response({"ready": True})


@operation(answers={200: Answer(StatusDocument)}, problems=("rate_limited",))
async def get_status(request: web.Request) -> web.Response:
    """Whether the engine is ready, how far the request's key goes, and how much its tenant has.

    It answers 200 whatever it has to say, so that a page can ask again and again; of a key's
    requests these count, too.
    """
    engine, asker = request.app[ENGINE], asker_of(request)
    checks = engine.checks()
    tenant = await engine.tenants.get(asker.tenant) if asker else None
    return json_response(
        {
            "ready": not any(checks.values()),
            "checks": [{"name": name, "fault": fault} for name, fault in checks.items()],
            "scope": asker.scope if asker else None,
            "schedules": tenant.schedules if tenant else None,
        }
    )


@operation(answers={200: Answer(str, "text/plain")})
async def metrics(request: web.Request) -> web.Response:
    """The figures of the engine in Prometheus text format."""
    body = generate_latest(request.app[ENGINE].registry)
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})


@operation(answers={200: Answer(SystemDocument)})
async def get_system(request: web.Request) -> web.Response:
    """Versions, and the settings in force once flags, environment, file and defaults are read."""
    engine = request.app[ENGINE]
    return json_response(
        {
            "versions": engine.about.versions,
            "tenant": engine.tenant,
            "keys_required": engine.keys.required,
            "settings": list(map(asdict, engine.about.settings)),
        }
    )


def _listed(checks: Mapping[str, str | None]) -> str:
    lines = [
        f"[-]{name} failed: {reason}" if reason else f"[+]{name} ok"
        for name, reason in checks.items()
    ]
    end = "failed" if any(checks.values()) else "passed"
    return "\n".join([*lines, f"readyz check {end}", ""])
