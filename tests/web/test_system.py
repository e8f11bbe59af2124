"""Probes and metrics."""

from prometheus_client import Counter


def test_the_engine_says_that_it_lives(api):
    assert api.get("/livez").json == {"live": True}


def test_readiness_gives_its_reasons(api, engine):
    assert api.get("/readyz").json == {"ready": True}
    engine.reasons = ["the disk is full", "the clock is a day behind"]
    answer = api.get("/readyz")
    assert answer.status == 503
    assert answer.problem["code"] == "not_ready"
    assert answer.problem["reasons"] == engine.reasons
    assert api.get("/livez").status == 200


def test_metrics_are_prometheus_text(api, engine):
    Counter("scheduler_runs", "Runs.", registry=engine.registry).inc(3)
    answer = api.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert b"scheduler_runs_total 3.0" in answer.body
