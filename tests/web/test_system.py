"""Probes and metrics."""

import platform
from pathlib import Path

from prometheus_client import Counter

from engine import __version__
from engine.about import about
from engine.config import Config
from engine.core.egress import read_opening

CLOSE = read_opening("[fd00::/8]:443")


def test_the_engine_says_that_it_lives(api):
    assert api.get("/livez").json == {"live": True}


def test_readiness_gives_its_reasons(api, engine):
    assert api.get("/readyz").json == {"ready": True}
    engine.reasons = {"clock": "the clock is a day behind", "disk": None, "journal": "it is full"}
    answer = api.get("/readyz")
    assert answer.status == 503
    assert answer.problem["code"] == "not_ready"
    assert answer.problem["reasons"] == ["the clock is a day behind", "it is full"]
    assert api.get("/livez").status == 200


def test_readiness_is_listed_check_by_check(api, engine):
    answer = api.get("/readyz?verbose")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert answer.body == b"[+]clock ok\n[+]disk ok\nreadyz check passed\n"
    engine.reasons["clock"] = "it is a day behind"
    answer = api.get("/readyz?verbose")
    assert answer.status == 503
    assert answer.body == (
        b"[-]clock failed: it is a day behind\n[+]disk ok\nreadyz check failed\n"
    )


def test_a_status_is_an_answer_whatever_it_says(api, engine):
    api.put("hourly", {"every": 3_600, "target": {"url": "http://h.example/"}})
    checks = [{"name": "clock", "fault": None}, {"name": "disk", "fault": None}]
    status = {"ready": True, "checks": checks, "scope": "admin", "schedules": 1}
    assert api.get("/v1/status").json == status
    engine.reasons["disk"] = checks[1]["fault"] = "it is full"
    answer = api.get("/v1/status")
    assert (answer.status, answer.json) == (200, status | {"ready": False})


def test_metrics_are_prometheus_text(api, engine):
    Counter("scheduler_runs", "Runs.", registry=engine.registry).inc(3)
    answer = api.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert b"scheduler_runs_total 3.0" in answer.body


def test_the_system_shows_its_versions_and_its_settings(api, engine):
    config = Config(rate=50, admin_key_file=Path("/run/secrets/k"), egress_allow=(CLOSE,))
    engine.about = about(config, sqlite="3.53.0")
    answer = api.get("/v1/system").json
    assert (answer["tenant"], answer["keys_required"]) == ("default", False)
    assert answer["versions"] == {
        "offbeat": __version__,
        "python": platform.python_version(),
        "sqlite": "3.53.0",
    }
    settings = {
        (row["section"], row["key"]): (row["value"], row["is_default"])
        for row in answer["settings"]
    }
    assert settings["delivery", "rate"] == (50, False)
    assert settings["delivery", "concurrency"] == (1_024, True)
    assert settings["engine", "data_dir"] == ("offbeat-data", True)
    assert settings["egress", "allow"] == (["[fd00::/8]:443"], False)
    assert settings["auth", "admin_key_file"] == ("********", False)
