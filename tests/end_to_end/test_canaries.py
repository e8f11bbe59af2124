"""A thousand secrets go every way there is into an engine, and none is found where it must not be.

They are written by every request that takes a target, and the receiver repeats what it is sent, in
nine ways. Looked through: the database and its log while the engine runs and after, a backup, what
the engine has written, its metrics, its stream of events, an export, and the body of every answer,
whether it refuses or not, but of those that show a secret once. What a URL's query and a body hold
is data (docs/security.md): it is in the database, which shows that this test can find.
"""

import json
import socket
import sqlite3
import subprocess
from base64 import b64encode
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

from tests.end_to_end.checker import text_of
from tests.end_to_end.processes import Engine, Receiver, now_ms, until
from tests.end_to_end.receiver import ECHOES

SCHEDULES = 200
EACH = 50
ADMIN_KEY = "obk_operator_" + "c4nary0123456789" * 4
MARK, DATA = "c4nary", "d4tum"
TARGET = "http://h.example/"
SHOWN = (("POST", "/v1/keys"), ("POST", "/v1/secrets:rotate"), ("POST", "/v1/secrets:retire"))
"""What shows a secret once."""


class Api:
    """Sends secrets, counts them, and keeps what is answered, refusals apart."""

    def __init__(self, engine: Engine) -> None:
        self.address = engine.url.removeprefix("http://")
        self.sent = 0
        self.refusals: list[bytes] = []
        self.answers: list[bytes] = []

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str = f"Bearer {ADMIN_KEY}",
        **more: str,
    ) -> Any:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        kind = {} if data is None else {"Content-Type": "application/json"}
        while True:
            connection = HTTPConnection(self.address, timeout=30)
            connection.request(method, path, data, {"Authorization": key, **kind, **more})
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            if answer.status != 429:  # A fast machine asks more often than a key may.
                break
        if answer.status >= 400:
            self.refusals.append(text + str(answer.headers).encode())
        elif (method, path) not in SHOWN:
            self.answers.append(text + str(answer.headers).encode())
        return answer.status, text

    def listen(self) -> Thread:
        """Keep what the stream of events says until it ends."""

        def read() -> None:
            connection = HTTPConnection(self.address, timeout=60)
            connection.request("GET", "/v1/events", None, {"Authorization": f"Bearer {ADMIN_KEY}"})
            self.answers.append(connection.getresponse().read())
            connection.close()

        thread = Thread(target=read)
        thread.start()
        return thread

    def canary(self, what: str) -> str:
        self.sent += 1
        return f"{MARK}-{what}-{self.sent:04}"

    def raw(self, data: bytes) -> None:
        host, _, port = self.address.partition(":")
        with socket.create_connection((host, int(port)), 30) as connection:
            connection.sendall(data)
            self.refusals.append(connection.makefile("rb").read())


def forms(secret: str) -> set[bytes]:
    """A secret as it is, in hexadecimal, and inside base64 wherever it begins."""
    text = secret.encode()
    shifted = [b64encode(bytes(n) + text).rstrip(b"=")[4 if n else 0 : -2] for n in range(3)]
    return {text, text.hex().encode(), *shifted}


def store_credentials(api: Api, receiver: Receiver) -> None:
    """Three in each schedule; deliveries fail, so that what they answered and why is kept."""
    for number in range(SCHEDULES):
        name, path = f"s{number}", f"/v1/schedules/s{number}"
        document = schedule(api, receiver, number)
        batch: dict[str, Any] = {"Content-Type": "application/x-ndjson"}
        match number % 4:
            case 0:
                assert api.ask("PUT", path, document)[0] == 201
            case 1:
                target = {**document["target"], "headers": {}}
                assert api.ask("PUT", path, {**document, "target": target})[0] == 201
                assert api.ask("PATCH", path, {"target": document["target"]})[0] == 200
            case 2:
                once = {"Idempotency-Key": api.canary("once")}
                for _ in range(2):
                    new = api.ask("POST", "/v1/schedules", {**document, "name": name}, **once)
                    assert new[0] == 201
            case 3:
                line = json.dumps({**document, "name": name}).encode()
                assert api.ask("POST", "/v1/schedules:batch", line, **batch)[0] == 200
        assert api.ask("POST", "/v1/schedules:preview", {**document, "name": name})[0] == 200


def schedule(api: Api, receiver: Receiver, number: int) -> dict[str, Any]:
    """One that fails once: one in four reaches nobody, the others what repeats their headers."""
    echo = list(ECHOES)[number % len(ECHOES)]
    url = receiver.url(f"/?status=500&drop=10&q={DATA}&echo={echo}")
    return {
        "at": text_of(now_ms() + 4_000),
        "target": {
            "url": "http://127.0.0.1:1/" if number % 7 == 0 else url,
            "headers": credentials(api),
            "body": DATA,
        },
        "retry": {"max_attempts": 1},
        "flow_key": f"flow-{number}",  # A breaker that opens would hold the rest back.
    }


def credentials(api: Api) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {api.canary('auth')}",
        "Cookie": f"theme=dark; session={api.canary('cookie')}%2F",
        "X-Api-Key": api.canary("header"),
    }


def read_all(api: Api) -> None:
    """Whatever tells of a schedule, a run, an attempt or the engine."""
    for number in range(SCHEDULES):
        api.ask("GET", f"/v1/schedules/s{number}")
    runs = json.loads(api.ask("GET", "/v1/runs?limit=1000")[1])["data"]
    assert len(runs) >= SCHEDULES
    for run in runs:
        assert api.ask("GET", f"/v1/runs/{run['id']}")[0] == 200
    for path in (
        "schedules?limit=1000",
        "failures",
        "system",
        "flows",
        "notices",
        "keys",
        "tenants",
    ):
        assert api.ask("GET", f"/v1/{path}")[0] == 200
    for path in ("audit", "herd/monitor", "herd/forecast", "herd/advice", "herd/attribution"):
        assert api.ask("GET", f"/v1/{path}")[0] == 200
    assert api.ask("GET", "/readyz?verbose")[0] == 200


def offbeat(engine: Engine, *arguments: str) -> bytes:
    """What a command says."""
    done = subprocess.run(
        [*engine.program, *arguments],
        cwd=engine.log.parent,
        env=engine.environment,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout + done.stderr


def send_astray(api: Api) -> None:
    """Secrets where they are refused."""
    for number in range(EACH):
        path = f"/v1/schedules/astray{number}"
        bad = [
            {"url": f"http://me:{api.canary('userinfo')}@h.example/"},
            {"url": TARGET, "headers": {"Authorization": f"Bearer {api.canary('value')}\n"}},
            {"url": TARGET, "timeout_seconds": api.canary("number")},
            {"url": f"nowhere://{api.canary('scheme')}/?{MARK}"},
        ]
        for target in bad:
            assert api.ask("PUT", path, {"every": 60, "target": target})[0] == 422
        assert api.ask("PUT", path, f'{{"every": "{api.canary("json")}'.encode())[0] == 400
        key = f"obk_abc_{MARK}{api.canary('key')[-4:] * 8}"
        for method in (f"Bearer {key}", f"Basic {key}", key):
            assert api.ask("GET", "/v1/runs", key=method)[0] == 401
        assert api.ask("GET", f"/v1/runs?key={key}")[0] == 422
        assert api.ask("POST", "/v1/keys", {"tenant": key, "scope": "read"})[0] == 422
        assert api.ask("GET", "/v1/runs", key="", **{"X-Api-Key": key})[0] == 401
        api.raw(
            f"GET / HTTP/1.1\r\nHost: h\r\nAuthorization: {api.canary('raw')}\0\r\n\r\n".encode()
        )


def take_secrets(api: Api) -> set[str]:
    """Signing secrets and keys that the engine has shown once."""
    shown: set[str] = set()
    for number in range(EACH):
        call = "retire" if number % 2 else "rotate"
        status, text = api.ask("POST", f"/v1/secrets:{call}")
        assert status == 200
        shown |= {row["secret"].removeprefix("whsec_") for row in json.loads(text)["data"]}
        made = {"tenant": "default", "scope": "read"}
        shown.add(json.loads(api.ask("POST", "/v1/keys", made)[1])["key"].split("_")[2])
    api.sent += len(shown)
    return shown


def attempts(database: Path) -> int:
    """How many have ended."""
    with closing(sqlite3.connect(database)) as db:
        count: int = db.execute("SELECT count(ended_at) FROM attempt").fetchone()[0]
    return count


def test_none_of_a_thousand_secrets_is_found(
    engine: Engine, receiver: Receiver, directory: Path
) -> None:
    admin = directory / "admin.key"
    admin.touch(0o600)
    admin.write_text(ADMIN_KEY)
    (directory / "offbeat.toml").write_text(
        f'[auth]\nadmin_key_file = "{admin}"\n[egress]\nallow = ["127.0.0.1"]\n'
    )
    engine.start()
    api = Api(engine)
    listener = api.listen()
    told = {"url": receiver.url("/told?echo=json"), "headers": credentials(api)}
    assert api.ask("PUT", "/v1/notices", {"target": told})[0] == 201
    store_credentials(api, receiver)
    send_astray(api)
    shown = take_secrets(api)
    until(lambda: attempts(engine.database) == 2 * SCHEDULES, "all were attempted, and all told")
    assert any(MARK in request.fields["authorization"] for request in receiver.requests("/"))
    assert any(MARK in request.fields["cookie"] for request in receiver.requests("/told"))

    read_all(api)
    places = {f.name: f.read_bytes() for f in engine.data_dir.glob("*.db*")}
    places["metrics"] = api.ask("GET", "/metrics")[1]
    engine_at = ("--server", engine.url, "--key-file", str(admin))
    places["export"] = offbeat(engine, "export", *engine_at)
    data_dir = ("--data-dir", str(engine.data_dir))
    places["backup's words"] = offbeat(engine, "backup", str(directory / "copy.db"), *data_dir)
    places["copy"] = (directory / "copy.db").read_bytes()
    engine.stop()
    listener.join(60)
    places["after"] = engine.database.read_bytes()
    places["log"] = engine.log.read_bytes()
    places["refusals"], places["answers"] = b"".join(api.refusals), b"".join(api.answers)
    master = (engine.data_dir / "master.key").read_text().strip()
    secrets = {MARK, master, *shown}
    found = {
        (place, secret)
        for place, content in places.items()
        for secret in secrets
        if any(form in content for form in forms(secret))
    }
    assert found == set()
    assert bytes.fromhex(master) not in places["after"]
    assert DATA.encode() in places["copy"], "this can find"
    assert places["copy"].count(b"********") > SCHEDULES, "and there was an echo"
    assert b"run.ended" in places["answers"] or b"event:" in places["answers"]
    assert not any(DATA.encode() in places[place] for place in ("log", "metrics", "refusals"))
    assert api.sent >= 1_000
