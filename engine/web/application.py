"""The engine's HTTP interface: every address, method, scope and handler in one table (SPEC §10).

A route that gives figures of the whole node, other tenants' runs among them, is for administrators.
"""

from collections import Counter, defaultdict
from weakref import WeakSet, WeakValueDictionary

from aiohttp import web

from engine.core.access import Scope
from engine.web import (
    attribution,
    audit,
    batch,
    dashboard,
    dead_letters,
    docs,
    events,
    failures,
    flows,
    herd,
    keys,
    long_work,
    monitor,
    notices,
    previews,
    runs,
    schedule_actions,
    schedules,
    secrets,
    system,
    tenants,
    unsent,
)
from engine.web.access import Route
from engine.web.answer_date import dated_by
from engine.web.connection import keep_reserve
from engine.web.expectations import close_uninvited
from engine.web.heads import refuse_ambiguous
from engine.web.host_guard import host_guard
from engine.web.json_bodies import BODY_BYTES_MAX
from engine.web.ports import ENGINE, EngineFace
from engine.web.problems import answer_problems

ROUTES = (
    Route("GET", "/openapi.json", None, docs.get_openapi),
    Route("GET", "/docs", None, docs.get_docs),
    Route("GET", "/livez", None, system.livez),
    Route("GET", "/readyz", None, system.readyz),
    Route("GET", "/metrics", Scope.READ, system.metrics),
    Route("GET", "/v1/status", None, system.get_status),
    Route("GET", "/v1/secrets", Scope.WRITE, secrets.list_secrets),
    Route("POST", "/v1/secrets:rotate", Scope.WRITE, secrets.rotate_secret),
    Route("POST", "/v1/secrets:retire", Scope.WRITE, secrets.retire_secret),
    Route("GET", "/v1/notices", Scope.READ, notices.get_notices),
    Route("PUT", "/v1/notices", Scope.WRITE, notices.put_notices),
    Route("DELETE", "/v1/notices", Scope.WRITE, notices.delete_notices),
    Route("GET", "/v1/schedules", Scope.READ, schedules.list_schedules),
    Route("POST", "/v1/schedules", Scope.WRITE, schedules.create_schedule),
    Route("POST", "/v1/schedules:batch", Scope.WRITE, batch.put_batch),
    Route("POST", "/v1/schedules:preview", Scope.READ, previews.preview_schedule),
    Route("GET", "/v1/schedules/{name}", Scope.READ, schedules.get_schedule),
    Route("PUT", "/v1/schedules/{name}", Scope.WRITE, schedules.put_schedule),
    Route("PATCH", "/v1/schedules/{name}", Scope.WRITE, schedules.patch_one),
    Route("DELETE", "/v1/schedules/{name}", Scope.WRITE, schedules.delete_schedule),
    Route("GET", "/v1/schedules/{name}/occurrences", Scope.READ, schedules.list_occurrences),
    Route("GET", "/v1/schedules/{name}/runs", Scope.READ, runs.list_runs_of_schedule),
    # Before them stands `{name}` for the other methods: a name holds no colon.
    Route("POST", "/v1/schedules/{name}:pause", Scope.WRITE, schedule_actions.pause_schedule),
    Route("POST", "/v1/schedules/{name}:resume", Scope.WRITE, schedule_actions.resume_schedule),
    Route("POST", "/v1/schedules/{name}:trigger", Scope.WRITE, schedule_actions.trigger_schedule),
    Route("POST", "/v1/schedules/{name}:backfill", Scope.WRITE, schedule_actions.backfill_schedule),
    Route("GET", "/v1/runs", Scope.READ, runs.list_runs),
    Route("POST", "/v1/runs:replay", Scope.WRITE, dead_letters.replay_failed),
    Route("POST", "/v1/runs:delete", Scope.WRITE, dead_letters.delete_failed),
    Route("GET", "/v1/runs/{id}", Scope.READ, runs.get_run),
    Route("POST", "/v1/runs/{id}:cancel", Scope.WRITE, runs.cancel_run),
    Route("POST", "/v1/runs/{id}:replay", Scope.WRITE, runs.replay_run),
    Route("GET", "/v1/failures", Scope.READ, failures.list_failures),
    Route("GET", "/v1/events", Scope.READ, events.get_events),
    Route("GET", "/v1/flows", Scope.READ, flows.list_flows),
    Route("GET", "/v1/flows/{key}", Scope.READ, flows.get_flow),
    Route("PUT", "/v1/flows/{key}", Scope.WRITE, flows.put_flow),
    Route("DELETE", "/v1/flows/{key}", Scope.WRITE, flows.delete_flow),
    Route("GET", "/v1/audit", Scope.READ, audit.get_audit),
    Route("GET", "/v1/herd/forecast", Scope.READ, herd.get_forecast),
    Route("POST", "/v1/herd/what-if", Scope.READ, herd.post_what_if),
    Route("GET", "/v1/herd/advice", Scope.READ, herd.get_advice),
    Route("GET", "/v1/herd/monitor", Scope.ADMIN, monitor.get_monitor),
    Route("GET", "/v1/herd/forecast-audit", Scope.ADMIN, monitor.get_forecast_audit),
    Route("GET", "/v1/herd/attribution", Scope.READ, attribution.get_attribution),
    Route("GET", "/v1/system", Scope.ADMIN, system.get_system),
    Route("GET", "/v1/tenants", Scope.ADMIN, tenants.list_tenants),
    Route("GET", "/v1/tenants/{tenant}", Scope.ADMIN, tenants.get_tenant),
    Route("PUT", "/v1/tenants/{tenant}", Scope.ADMIN, tenants.put_tenant),
    Route("DELETE", "/v1/tenants/{tenant}", Scope.ADMIN, tenants.delete_tenant),
    Route("GET", "/v1/keys", Scope.ADMIN, keys.list_keys),
    Route("POST", "/v1/keys", Scope.ADMIN, keys.create_key),
    Route("DELETE", "/v1/keys/{id}", Scope.ADMIN, keys.revoke_key),
)

DESCRIPTION = docs.Description(ROUTES)


def create_app(engine: EngineFace) -> web.Application:
    """The application to serve, or to mount in another one."""
    app = web.Application(
        middlewares=[
            close_uninvited,
            refuse_ambiguous,
            answer_problems,
            keep_reserve,
            host_guard(engine.listen),
        ],
        client_max_size=BODY_BYTES_MAX,
    )
    app[ENGINE] = engine
    app[batch.UNDER_WAY] = Counter()
    app[long_work.TURNS] = WeakValueDictionary()
    app[unsent.UNSENT] = defaultdict(WeakSet[unsent.LongAnswer])
    app[docs.DESCRIPTION] = DESCRIPTION
    app.on_response_prepare.append(dated_by(engine.clock))
    app.on_shutdown.append(events.end_streams)
    app.add_routes([route.definition() for route in ROUTES])
    app.add_routes(dashboard.read_dashboard().routes())
    return app
