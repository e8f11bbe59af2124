"""The engine's HTTP interface: every address, method and handler in one table (SPEC §10)."""

from aiohttp import web

from engine.web import audit, batch, flows, herd, monitor, runs, schedules, system
from engine.web.host_guard import host_guard
from engine.web.json_bodies import BODY_BYTES_MAX
from engine.web.ports import ENGINE, EngineFace
from engine.web.problems import answer_problems

ROUTES = (
    web.get("/livez", system.livez),
    web.get("/readyz", system.readyz),
    web.get("/metrics", system.metrics),
    web.get("/v1/secrets", system.list_secrets),
    web.get("/v1/schedules", schedules.list_schedules),
    web.post("/v1/schedules:batch", batch.put_batch),
    web.get("/v1/schedules/{name}", schedules.get_schedule),
    web.put("/v1/schedules/{name}", schedules.put_schedule),
    web.patch("/v1/schedules/{name}", schedules.patch_one),
    web.delete("/v1/schedules/{name}", schedules.delete_schedule),
    web.get("/v1/schedules/{name}/occurrences", schedules.list_occurrences),
    # Before them stands `{name}` for the other methods: a name holds no colon.
    web.post("/v1/schedules/{name}:pause", schedules.pause_schedule),
    web.post("/v1/schedules/{name}:resume", schedules.resume_schedule),
    web.post("/v1/schedules/{name}:trigger", schedules.trigger_schedule),
    web.post("/v1/schedules/{name}:backfill", schedules.backfill_schedule),
    web.get("/v1/runs", runs.list_runs),
    web.get("/v1/runs/{id}", runs.get_run),
    web.get("/v1/flows", flows.list_flows),
    web.get("/v1/flows/{key}", flows.get_flow),
    web.put("/v1/flows/{key}", flows.put_flow),
    web.get("/v1/audit", audit.get_audit),
    web.get("/v1/herd/forecast", herd.get_forecast),
    web.post("/v1/herd/what-if", herd.post_what_if),
    web.get("/v1/herd/advice", herd.get_advice),
    web.get("/v1/herd/monitor", monitor.get_monitor),
)


def create_app(engine: EngineFace) -> web.Application:
    """The application to serve, or to mount in another one."""
    app = web.Application(
        middlewares=[answer_problems, host_guard(engine.listen)], client_max_size=BODY_BYTES_MAX
    )
    app[ENGINE] = engine
    app.add_routes(ROUTES)
    return app
