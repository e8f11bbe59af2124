"""Tells the supervisor that started this process when it is ready, on time, and stopping.

The protocol is sd_notify(3): datagrams of `NAME=VALUE` lines to the Unix socket that NOTIFY_SOCKET
names, `@` standing for the NUL that begins an abstract name. Where no such variable is, nobody is
told. A supervisor that cannot be reached is no reason to stop: that is logged, once.

With a watchdog (WATCHDOG_USEC), the supervisor restarts what it does not hear from. It hears of
beats of the event loop that were on time: so a loop that hangs is restarted, and one that turns and
is always late, too. Each beat on time counts; a stall that ends in time is forgiven.
"""

import asyncio
import math
import os
import re
import socket
from collections.abc import Mapping

import structlog

ON_TIME_MS_MAX = 1_000
"""A loop that is later than this on every beat, for as long as the watchdog waits, serves nobody:
the objective for the first attempt is 2 s (SPEC §8)."""

log = structlog.get_logger("offbeat")


class Supervisor:
    """systemd, or whoever speaks its protocol."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = _address(environ.get("NOTIFY_SOCKET", ""))
        self._ping_seconds = _ping_seconds(environ)
        self._pinged_at = -math.inf
        self._is_reached = True

    def ready(self, status: str) -> None:
        """The process does its work from now on; `status` is for people."""
        self._tell(f"READY=1\nSTATUS={status}")

    def stopping(self) -> None:
        """The process ends what it has begun, and exits."""
        self._tell("STOPPING=1\nSTATUS=letting requests end")

    def beat(self, late_ms: int) -> None:
        """The event loop woke up, `late_ms` after it should have."""
        if self._ping_seconds is None or late_ms > ON_TIME_MS_MAX:
            return
        now = asyncio.get_running_loop().time()
        if now - self._pinged_at >= self._ping_seconds:
            self._pinged_at = now
            self._tell("WATCHDOG=1")

    def _tell(self, text: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
                sender.sendto(text.encode(), self._address)
        except OSError as error:  # It may be busy, and its queue full: the next one is tried.
            if self._is_reached:
                log.warning("supervisor_unreachable", error=str(error))
            self._is_reached = False


def _address(text: str) -> str | None:
    if text.startswith(("/", "@")):
        return text.replace("@", "\0", 1) if text.startswith("@") else text
    if text:
        log.warning("supervisor_unknown", notify_socket=text)
    return None


def _ping_seconds(environ: Mapping[str, str]) -> float | None:
    """How often the watchdog wants to hear from us: twice in its time, as sd_watchdog_enabled(3)
    advises. None: there is none, or it watches somebody else."""
    usec = environ.get("WATCHDOG_USEC", "")
    # The program of one file unpacks itself in one process and is an engine in that one's child.
    watched = environ.get("WATCHDOG_PID") in (None, str(os.getpid()), str(os.getppid()))
    return int(usec) / 2_000_000 if watched and re.fullmatch(r"[0-9]{1,18}", usec) else None
