"""What aiohttp's server has to say, as events of ours."""

import structlog
from aiohttp.http_exceptions import HttpProcessingError

_log = structlog.get_logger()


class ServerLog:
    """A logger for `RequestHandler`: bytes that are no HTTP are a line, a bug is a traceback."""

    def debug(self, message: str, *args: object, exc_info: object = None) -> None:
        """Nothing: clients that go away are none of our business."""

    def exception(self, message: str, *args: object, exc_info: object = None) -> None:
        if isinstance(exc_info, HttpProcessingError):
            # Its class alone: the message holds a piece of what was sent, perhaps a credential.
            _log.info("request not understood", reason=type(exc_info).__name__)
        else:
            _log.error("request failed", reason=message % args, exc_info=exc_info or True)
