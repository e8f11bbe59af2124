"""An engine inside another program: a schedule calls its function, its site serves the API.

python examples/embedded.py DATA_DIR
"""

import asyncio
import sys
from pathlib import Path

from aiohttp import web

from engine.app import Engine
from engine.config import Config
from engine.services.handlers import Call


async def main(data_dir: Path) -> None:
    """Serve a site with an engine in it until the schedule has called us once."""
    engine = Engine(Config(data_dir=data_dir))
    called = asyncio.Event()

    @engine.handler("report")
    async def report(call: Call) -> None:
        print(f"report: {call.body.decode()}, attempt {call.attempt} of {call.key[:8]}")
        called.set()

    async with engine:
        await engine.schedules.put(
            {
                "name": "nightly-report",
                "cron": "0 3 * * *",
                "timezone": "Europe/Berlin",
                "target": {"url": "inproc:report", "body": "all is well"},
            }
        )
        site = web.Application()
        site.add_subapp("/offbeat/", engine.web_app())
        runner = web.AppRunner(site)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            await engine.schedules.trigger("nightly-report")  # Not to wait until three o'clock.
            await called.wait()
        finally:
            await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
