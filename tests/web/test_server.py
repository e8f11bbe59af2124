"""Where the server listens, who may connect, and what is left behind."""

import asyncio
import socket
import stat

import aiohttp
import pytest

from engine.core.errors import ConfigError
from engine.web.application import create_app
from engine.web.server import CONNECTION_SETTINGS, SHUTDOWN_SECONDS, Listener, start_server
from tests.web.api_client import WAIT_SECONDS_MAX


@pytest.fixture
def serve(engine):
    """Run a scenario, a function of a started server, on a new loop."""

    def serve(listen, scenario=None):
        async def main():
            engine.listen = listen
            listener = Listener(listen)
            listener.bind()
            server = await start_server(create_app(engine), listener)
            try:
                return await scenario(server) if scenario else server.listen
            finally:
                await server.stop()

        return asyncio.run(asyncio.wait_for(main(), WAIT_SECONDS_MAX))

    return serve


async def live(server, **headers):
    path = server.listen.removeprefix("unix:")
    on_socket = path != server.listen
    connector = aiohttp.UnixConnector(path) if on_socket else None
    url = "http://localhost/livez" if on_socket else f"http://{server.listen}/livez"
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(url, headers=headers) as response,
    ):
        return response.status


def test_the_kernel_chooses_the_port_when_asked_to(serve):
    assert serve("127.0.0.1:0", live) == 200
    assert serve("localhost:0").startswith("localhost:")
    assert serve("127.0.0.1:0") != "127.0.0.1:0"


def test_ipv6_loopback_is_served(serve):
    assert serve("[::1]:0", live) == 200


def test_a_port_in_use_is_a_setting_that_cannot_work(serve):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: Address already in use"):
            serve(f"127.0.0.1:{port}")


def test_a_unix_socket_is_its_owners_alone_and_goes_with_the_server(serve, tmp_path):
    path = tmp_path / "offbeat.sock"

    async def scenario(server):
        mode = stat.S_IMODE(path.stat().st_mode)
        return mode, await live(server, Host="any.example")

    assert serve(f"unix:{path}", scenario) == (0o600, 200)
    assert not path.exists()


def test_the_socket_of_a_killed_process_is_replaced(serve, tmp_path):
    path = tmp_path / "offbeat.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    assert serve(f"unix:{path}", live) == 200


def test_the_socket_of_a_living_process_is_left_alone(serve, tmp_path):
    path = tmp_path / "offbeat.sock"
    with socket.socket(socket.AF_UNIX) as living:
        living.bind(str(path))
        living.listen()
        with pytest.raises(ConfigError, match="Address already in use"):
            serve(f"unix:{path}")
    assert path.is_socket()


def test_a_file_that_is_no_socket_is_left_alone(serve, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("keep me")
    with pytest.raises(ConfigError, match="not a socket"):
        serve(f"unix:{path}")
    assert path.read_text() == "keep me"


@pytest.mark.parametrize("place", ["nowhere/offbeat.sock", "x" * 200])
def test_a_path_that_cannot_be_had_is_a_setting_that_cannot_work(serve, tmp_path, place):
    with pytest.raises(ConfigError, match="cannot listen"):
        serve(f"unix:{tmp_path / place}")


def test_the_settings_of_the_server_are_these():
    changeable = {"logger"}
    assert {
        name: CONNECTION_SETTINGS[name] for name in CONNECTION_SETTINGS.keys() - changeable
    } == {
        "keepalive_timeout": 30.0,
        "lingering_time": 1.0,
        "auto_decompress": False,
        "max_line_size": 8_190,
        "max_field_size": 8_190,
        "access_log": None,
    }
    assert SHUTDOWN_SECONDS == 5.0
