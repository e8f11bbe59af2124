"""A process of its own for one engine: its loop, its signals, its log, its HTTP server."""

import asyncio
import gc
import os
import resource
import signal
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack, closing, suppress

import structlog
import uvloop

from engine.app import Engine
from engine.config import Config
from engine.schedule_directory import SchedulesDirectory, check_directory
from engine.services.log_lines import log_to_stderr
from engine.supervisor import Supervisor
from engine.web.server import Listener, start_server

SWITCH_INTERVAL_SECONDS = 0.0005
"""A tenth of Python's default: a batch on the database's thread then returns in 2 ms, not 8."""

GC_THRESHOLD = 50_000
"""Young objects between two collections: deliveries make few cycles, and a pass takes the loop."""

FILES_BESIDE = 256
"""Open files beside those of attempts: the journal's, and as many clients as a busy API has."""

SAME_SIGNAL_SECONDS = 0.5
"""Signals so close are one: timeout(1) and terminals tell a process and its group."""

log = structlog.get_logger("offbeat")


def run(config: Config) -> int:
    """Run an engine until SIGTERM or SIGINT; the process's exit code.

    A second signal ends the process at once, with 128 + its number as a shell counts. That is as
    safe as a kill: what was under way is unknown, and the next life sends it again.
    Raises the errors of `core.errors` for what a person can put right.
    """
    if config.schedules is not None:
        check_directory(config.schedules)
    log_to_stderr()
    allow_open_files(config.concurrency)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(config))


def settle_interpreter() -> None:
    """Set the interpreter up for an engine that has started: its threads, its collector."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    gc.collect()
    gc.freeze()  # What is there now stays; collections need not walk over it.
    gc.set_threshold(GC_THRESHOLD, 20, 20)


def allow_open_files(concurrency: int) -> None:
    """Raise the limit of open files, as far as this process may, to what so many attempts need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = concurrency + FILES_BESIDE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    reached = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (reached, hard))
    if reached < wanted:
        log.warning("few_open_files", limit=reached, wanted=wanted, concurrency=concurrency)


async def _run(config: Config) -> int:
    stop = _stop_signal()
    supervisor = Supervisor(os.environ)
    engine = Engine(config)
    with closing(Listener(config.listen)) as listener:

        def take_address() -> None:
            listener.bind()
            engine.own_addresses.add(listener.bound)

        engine.on_locked = take_address
        async with AsyncExitStack() as started:
            # It may wait for another engine's lock, or for a program that holds the database.
            await _first_of(stop.wait(), started.enter_async_context(engine))
            if stop.is_set():
                return 0
            settle_interpreter()  # What is overdue is sent already while the files are read.
            directory = _schedules_directory(engine, config)
            if directory is not None:  # Whose mount may hang.
                await _first_of(stop.wait(), directory.start())
            follow = [] if directory is None else [directory.run()]
            server = await start_server(engine.web_app(), listener)
            try:
                engine.pulse.on_beat = supervisor.beat
                log.info("listening", on=server.listen)
                supervisor.ready(f"listening on {server.listen}")
                await _first_of(stop.wait(), engine.failed(), *follow)
                supervisor.stopping()
                await engine.drain()
            finally:
                await server.stop()  # Whoever waits for the directory finds its address free.
    return 0


def _schedules_directory(engine: Engine, config: Config) -> SchedulesDirectory | None:
    """What keeps the schedules like the files of `--schedules`."""
    if config.schedules is None:
        return None
    return SchedulesDirectory(
        config.schedules,
        engine.schedules,
        tenant=engine.tenant,
        subsecond=engine.subsecond,
        registry=engine.registry,
    )


def _stop_signal() -> asyncio.Event:
    """Set by the first signal; the second does not come back."""
    loop, stop, told_at = asyncio.get_running_loop(), asyncio.Event(), 0.0

    def tell(number: int) -> None:
        nonlocal told_at
        if not stop.is_set():
            told_at = loop.time()
            stop.set()
        elif loop.time() - told_at > SAME_SIGNAL_SECONDS:
            log.warning("stopped_at_once", signal=signal.Signals(number).name)
            os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, tell, number)
    return stop


async def _first_of(*waits: Coroutine[None, None, object]) -> None:
    """Wait for whichever ends first; raise if it failed."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
