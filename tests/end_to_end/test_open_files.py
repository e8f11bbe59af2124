"""The limit of open files: what attempts under way need is asked of the kernel."""

import resource

from engine.process import FILES_BESIDE
from tests.end_to_end.processes import Engine


def test_a_soft_limit_below_what_attempts_need_is_raised(engine: Engine) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))  # The engine inherits it.
    try:
        engine.start("--concurrency", "500")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert engine.process is not None
    limits = resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE)
    assert limits == (500 + FILES_BESIDE, hard)
    assert not engine.events("few_open_files")
