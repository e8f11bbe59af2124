"""What an example would set an engine to; so that no example names what the program has not."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from engine.cli.run import command
from engine.config import Config, load_config
from engine.process import FILES_BESIDE
from engine.settings import SETTINGS
from engine.web.server import SHUTDOWN_SECONDS

VARIABLES = {setting.environment for setting in SETTINGS.values()}

STOP_SECONDS_MIN = Config().drain_timeout_seconds + 2 * SHUTDOWN_SECONDS
"""What an engine may take to stop: the drain, then the server, which waits twice for handlers."""

OPEN_FILES_MIN = 10_000 + FILES_BESIDE
"""For the largest --concurrency."""

DOCKERFILE = (Path(__file__).parents[2] / "Dockerfile").read_text()

IMAGE_VARIABLES = dict(re.findall(r"(OFFBEAT_\w+)=(\S+)", DOCKERFILE))
"""What the image sets by itself."""

IMAGE_USER = int(re.findall(r"^USER (\d+)", DOCKERFILE, re.MULTILINE)[-1])


def settings_of(arguments: Iterable[str], environ: Mapping[str, str]) -> Config:
    """The settings of `offbeat run ARGUMENTS`, in an environment of `environ` alone.

    Raises what the command would refuse.
    """
    flags = command.make_context("run", list(arguments)).params
    assert flags.pop("file") is None, "an example is whole: it names no file of settings"
    assert environ.keys() - VARIABLES == set(), "variables that the command would not heed"
    return load_config(flags, environ, None)
