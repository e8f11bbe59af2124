"""An engine in another program's loop: it leaves everything of the program's alone."""

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import prometheus_client
import pytest
import structlog
from aiohttp import web
from structlog.typing import EventDict

from engine.app import Engine
from engine.config import Config
from engine.core.labels import ScheduleFilter
from engine.services.handlers import Call
from engine.services.log_masks import mask_secrets
from engine.web.connection import Connection
from engine.web.connection_limits import Places
from engine.web.server import CONNECTION_SETTINGS

JOB = {"name": "job", "every": 3_600, "target": {"url": "inproc:work"}}


def globals_of_the_program() -> dict[str, Any]:
    """What belongs to the whole process."""
    return {
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "policy": asyncio.get_event_loop_policy(),
        "collector": (gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()),
        "switch interval": sys.getswitchinterval(),
        "registry": set(prometheus_client.REGISTRY._collector_to_names),
        "structlog": (structlog.is_configured(), structlog.get_config()),
        "logging": (logging.root.level, list(logging.root.handlers)),
        "hook": (sys.excepthook, sys.unraisablehook),
    }


async def deliver(engine: Engine) -> list[Call]:
    """Store a schedule, run it now, and wait for the handler."""
    calls: list[Call] = []
    called = asyncio.Event()

    @engine.handler("work")
    async def work(call: Call) -> None:
        calls.append(call)
        called.set()

    await engine.schedules.put(JOB)
    await engine.schedules.trigger("job")
    async with asyncio.timeout(30):
        await called.wait()
    return calls


def test_it_leaves_the_programs_own_settings_alone(tmp_path: Path) -> None:
    async def main() -> None:
        before = globals_of_the_program()
        async with Engine(Config(data_dir=tmp_path)) as engine:
            await deliver(engine)
            engine.web_app()
            assert globals_of_the_program() == before
        assert globals_of_the_program() == before

    asyncio.run(main())


def test_a_program_that_puts_the_masks_into_its_log_has_what_the_engine_says_masked(
    tmp_path: Path,
) -> None:
    events: list[EventDict] = []

    def keep(_logger: Any, _method: str, event: EventDict) -> EventDict:
        events.append(event)
        raise structlog.DropEvent

    async def main() -> None:
        async with Engine(Config(data_dir=tmp_path)) as engine:
            raised = asyncio.Event()

            @engine.handler("work")
            async def work(call: Call) -> None:
                raised.set()
                raise RuntimeError(f"refused {call.body.decode()}")

            await engine.schedules.put(
                JOB | {"target": {"url": "inproc:work", "body": "Bearer s3"}}
            )
            await engine.schedules.trigger("job")
            async with asyncio.timeout(30):
                await raised.wait()

    structlog.configure(processors=[structlog.processors.format_exc_info, mask_secrets, keep])
    asyncio.run(main())
    event = next(event for event in events if event["event"] == "handler_failed")
    assert event["exception"].endswith("RuntimeError: refused Bearer ***")


def test_two_engines_in_one_process_are_strangers(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            Engine(Config(data_dir=tmp_path / "a")) as one,
            Engine(Config(data_dir=tmp_path / "b")) as other,
        ):
            (mine,), (theirs,) = await asyncio.gather(deliver(one), deliver(other))
            assert mine.headers["webhook-signature"] != theirs.headers["webhook-signature"]
            await one.schedules.delete("job")
            assert [
                s.definition.name
                for s in (await other.schedules.page(ScheduleFilter(), limit=9, after_name=None))[0]
            ] == ["job"]
            assert one.registry is not other.registry

    asyncio.run(main())


def test_a_mounted_interface_gives_addresses_that_lead_to_it(tmp_path: Path) -> None:
    async def main(_: Engine, ask: Ask) -> None:
        schedule = {"name": "job", "cron": "0 0 1 1 *", "target": {"url": "http://127.0.0.1:9/"}}
        assert (await ask("GET", "/openapi.json"))[1]["servers"] == [{"url": "."}]
        for path, body, location in (
            ("/v1/schedules", schedule, "/jobs/v1/schedules/job"),
            ("/v1/schedules/job:trigger", None, "/jobs/v1/runs/"),
        ):
            status, answer = await ask("POST", path, json=body or {}, only="Location")
            assert status in (201, 202)
            assert answer.startswith(location)
            assert (await ask("GET", answer.removeprefix("/jobs")))[0] == 200

    with_site(tmp_path, main)


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks what is mounted at `at`: the status, and the answer or `only` one of its headers."""

    at: str

    async def __call__(
        self, method: str, path: str, *, only: str | None = None, **rest: Any
    ) -> tuple[int, Any]:
        async with aiohttp.request(method, f"{self.at}{path}", **rest) as response:
            if only is not None:
                return response.status, response.headers[only]
            is_json = "json" in response.content_type
            return response.status, await (response.json() if is_json else response.text())


def with_site(
    directory: Path,
    main: Callable[[Engine, Ask], Awaitable[None]],
    kind: type[Connection] = Connection,
) -> None:
    """Run `main` beside a site in which an engine's application is mounted under /jobs."""

    async def run() -> None:
        async with Engine(Config(data_dir=directory)) as engine:
            site = web.Application()
            site.add_subapp("/jobs/", engine.web_app())
            runner = web.AppRunner(site)
            await runner.setup()
            loop = asyncio.get_running_loop()
            connect = partial(
                kind, runner.server, places=Places(), loop=loop, **CONNECTION_SETTINGS
            )
            server = await loop.create_server(connect, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            try:
                await main(engine, Ask(f"http://127.0.0.1:{port}/jobs"))
            finally:
                server.close()
                await runner.cleanup()

    asyncio.run(run())


def test_the_api_is_served_where_the_program_mounts_it(tmp_path: Path) -> None:
    async def main(engine: Engine, ask: Ask) -> None:
        await deliver(engine)
        status, answer = await ask("GET", "/v1/schedules/job")
        assert (status, answer["target"]["url"]) == (200, "inproc:work")
        status, answer = await ask("GET", "/v1/runs")
        assert [run["schedule_name"] for run in answer["data"]] == ["job"]
        status, text = await ask("GET", "/metrics")
        assert "scheduler_attempts_total" in text

    with_site(tmp_path, main)


def test_over_http_a_handler_is_not_named_but_kept(tmp_path: Path) -> None:
    async def main(engine: Engine, ask: Ask) -> None:
        for url in ("inproc:work", "inproc:", "inproc:a b"):
            status, problem = await ask(
                "PUT", "/v1/schedules/new", json={"every": 60, "target": {"url": url}}
            )
            (fault,) = problem["errors"]
            assert (status, fault["pointer"]) == (422, "/target/url")
            assert "can be named from Python only" in fault["detail"]
        await engine.schedules.put(JOB)
        status, stored = await ask("PATCH", "/v1/schedules/job", json={"labels": {"team": "a"}})
        assert (status, stored["labels"], stored["target"]["url"]) == (
            200,
            {"team": "a"},
            "inproc:work",
        )
        status, _ = await ask(
            "PATCH", "/v1/schedules/job", json={"target": {"url": "inproc:other"}}
        )
        assert status == 422

    with_site(tmp_path, main)


class Elsewhere:
    """A connection that came to an address which others can reach."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "sockname":
            return ("192.0.2.7", 80)
        return self._transport.get_extra_info(name, default)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class FromElsewhere(Connection):
    def connection_made(self, transport: Any) -> None:
        super().connection_made(Elsewhere(transport))


@pytest.mark.parametrize("path", ["/v1/schedules", "/v1/secrets", "/metrics"])
def test_without_keys_nobody_is_answered_who_comes_from_elsewhere(
    tmp_path: Path, path: str
) -> None:
    async def main(_: Engine, ask: Ask) -> None:
        status, problem = await ask("GET", path, headers={"Host": "localhost"})
        assert (status, problem["code"]) == (401, "key_required")
        assert (await ask("GET", "/livez"))[0] == 200

    with_site(tmp_path, main, FromElsewhere)


async def last_attempt(ask: Ask, run: str) -> dict[str, Any]:
    """The last attempt of a run that has ended, told by the events of runs."""
    async with asyncio.timeout(30), aiohttp.request("GET", f"{ask.at}/v1/events") as stream:
        while (answer := (await ask("GET", run))[1])["state"] not in {"succeeded", "failed"}:
            await stream.content.readuntil(b"\n\n")
    return answer["attempts"][-1]


def test_an_engine_that_is_made_to_call_its_own_api_gets_nothing_done(tmp_path: Path) -> None:
    async def main(_: Engine, ask: Ask) -> None:
        target = {"url": f"{ask.at}/v1/secrets:rotate"}
        schedule = {"every": 31_536_000, "target": target}
        assert (await ask("PUT", "/v1/schedules/own", json=schedule))[0] == 201
        _, place = await ask("POST", "/v1/schedules/own:trigger", json={}, only="Location")
        attempt = await last_attempt(ask, place.removeprefix("/jobs"))
        assert (attempt["outcome"], attempt["status"]) == ("http_error", 401)
        assert "point the schedule at its receiver" in attempt["response"]
        assert len((await ask("GET", "/v1/secrets"))[1]["data"]) == 1

    with_site(tmp_path, main)


@pytest.mark.parametrize("path", ["/v1/schedules", "/v1/secrets", "/metrics"])
def test_a_delivery_is_told_nothing_where_no_keys_are(tmp_path: Path, path: str) -> None:
    async def main(_: Engine, ask: Ask) -> None:
        marked = {"x-scheduler-signature": "v1=00"}
        status, problem = await ask("GET", path, headers=marked)
        assert (status, problem["code"]) == (401, "key_required")
        assert (await ask("GET", "/v1/status", headers=marked))[1]["scope"] is None
        assert (await ask("GET", "/livez", headers=marked))[0] == 200
        assert (await ask("GET", path))[0] == 200

    with_site(tmp_path, main)
