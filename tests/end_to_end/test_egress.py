"""What the guard makes of a schedule and of a run, from the settings to the journal."""

from pathlib import Path

from tests.end_to_end.processes import Engine, Receiver, until

EVERYWHERE = "0.0.0.0"
"""To Linux this machine; to the guard neither loopback nor private."""


def refusal(address: str, what: str, port: int) -> str:
    return f'{address} is {what}; to allow it: egress.allow = ["{address}:{port}"]'


def test_a_schedule_that_would_call_the_engine_itself_is_refused(engine: Engine) -> None:
    engine.start()
    own = {"every": 60, "target": {"url": f"{engine.url}/v1/schedules"}}
    refused = engine.write("PUT", "/v1/schedules/own", own)
    port = int(engine.url.rpartition(":")[2])
    detail = refusal("127.0.0.1", "this engine's own address", port)
    assert refused.status == 422
    assert refused.document["errors"] == [{"pointer": "/target/url", "detail": detail}]
    engine.stop()


def test_what_the_settings_open_is_reached_and_what_they_close_again_fails_at_once(
    engine: Engine, receiver: Receiver, directory: Path
) -> None:
    settings = directory / "offbeat.toml"
    settings.write_text(f'[egress]\nallow = ["{EVERYWHERE}"]\n')
    document = {"every": 86_400, "target": {"url": f"http://{EVERYWHERE}:{receiver.port}/"}}
    engine.start()
    engine.put("opened", document)
    engine.write("POST", "/v1/schedules/opened:trigger")
    until(lambda: engine.runs("state=succeeded"), "it is delivered")
    engine.stop()

    settings.unlink()
    engine.start()
    detail = refusal(EVERYWHERE, "not a public unicast address", receiver.port)
    refused = engine.write("PUT", "/v1/schedules/other", document)
    assert refused.document["errors"] == [{"pointer": "/target/url", "detail": detail}]
    engine.write("POST", "/v1/schedules/opened:trigger")
    [run] = until(lambda: engine.runs("state=failed"), "it has failed")
    [attempt] = engine.ask("GET", f"/v1/runs/{run['id']}").document["attempts"]
    assert (run["reason"], attempt["outcome"], attempt["error"]) == ("final", "blocked", detail)
    assert len(receiver.requests()) == 1
    engine.stop()


def test_a_file_of_authorities_that_is_not_there_stops_the_start(
    engine: Engine, directory: Path
) -> None:
    (directory / "offbeat.toml").write_text('[egress]\nca_file = "nowhere.pem"\n')
    engine.spawn()
    assert engine.exit_code() == 2
    assert "egress.ca_file: nowhere.pem: No such file or directory" in engine.said()
