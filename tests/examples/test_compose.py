"""The compose example: what it names is there, and what belongs together agrees."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from engine.core.document import read_schedule
from engine.schedule_files import read_files
from tests.examples.settings_of import IMAGE_VARIABLES, STOP_SECONDS_MIN, settings_of

PLACE = Path(__file__).parents[2] / "examples" / "compose"


@pytest.fixture
def services() -> dict:
    return yaml.safe_load((PLACE / "compose.yaml").read_text())["services"]


def test_it_builds_the_image_of_this_project(services):
    for service in ("pod", "offbeat"):
        assert (PLACE / services[service]["build"] / "Dockerfile").is_file()


def test_it_sets_what_the_program_has_and_mounts_what_it_reads(services):
    offbeat = services["offbeat"]
    verb, *flags = offbeat["command"]
    config = settings_of(flags, IMAGE_VARIABLES)
    mounts = {Path(target): source for source, target, *_ in map(split, offbeat["volumes"])}
    assert verb == "run"
    assert mounts[config.data_dir] == "data"
    assert (PLACE / mounts[config.schedules]).is_dir()


def test_it_calls_the_application_whose_network_it_shares(services):
    (published,) = services["pod"]["ports"]
    for document in read_files((PLACE / "schedules").glob("*.toml")):
        url = urlsplit(read_schedule(document, tenant="default").definition.target.url)
        assert (url.hostname, str(url.port)) == ("127.0.0.1", split(published)[-1])


def test_the_network_outlives_both_and_all_come_back(services):
    assert "network_mode" not in services["pod"]
    for member in ("app", "offbeat"):
        assert services[member]["network_mode"] == "service:pod"
        assert services[member]["depends_on"]["pod"]["restart"] is True
    assert {service["restart"] for service in services.values()} == {"unless-stopped"}


def test_it_is_closed_and_has_time_to_stop(services):
    offbeat = services["offbeat"]
    assert (offbeat["read_only"], offbeat["cap_drop"]) == (True, ["ALL"])
    seconds = re.fullmatch(r"(\d+)s", offbeat["stop_grace_period"])
    assert int(seconds[1]) >= STOP_SECONDS_MIN


def split(text: str) -> list[str]:
    return text.split(":")
