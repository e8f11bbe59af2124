"""The log of an engine's own process: one event is one line on stderr."""

import sys

import orjson
import structlog


def log_to_stderr() -> None:
    """One event is one line on stderr: JSON, or for a person at a terminal something to read."""
    render = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer(
            serializer=lambda event, **_: orjson.dumps(event).decode()
        )
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            render,
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
