"""The log of an engine's own process: one event is one line on stderr."""

import sys
from typing import Any

import orjson
import structlog

from engine.services.log_masks import escaped, mask_secrets, one_line


def log_to_stderr() -> None:
    """One event is one line on stderr: JSON, or for a person at a terminal something to read."""
    for_person = [one_line, structlog.dev.ConsoleRenderer()]
    for_machine = [structlog.processors.JSONRenderer(serializer=_json)]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            mask_secrets,
            *(for_person if sys.stderr.isatty() else for_machine),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _json(event: dict[str, Any], **_: Any) -> str:
    # The breaks that JSON leaves as they are: U+0085, U+2028 and their like.
    return escaped(orjson.dumps(event, default=repr).decode())
