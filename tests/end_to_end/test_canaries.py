"""A thousand secrets go every way there is into an engine, and none is found where it must not be.

Looked through: the database and its log while the engine runs and after, a copy by VACUUM INTO,
what the engine has written, its metrics, and the body of every answer that refuses. What a URL's
query and a body hold is data (docs/security.md): it is in the database, which shows that this test
can find.
"""

import json
import socket
import sqlite3
from base64 import b64encode
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.end_to_end.checker import text_of
from tests.end_to_end.processes import Engine, Receiver, now_ms, until

SCHEDULES = 200
EACH = 50
ADMIN_KEY = "obk_operator_" + "c4nary0123456789" * 4
MARK, DATA = "c4nary", "d4tum"
TARGET = "http://h.example/"


class Api:
    """Sends secrets, counts them, and keeps what the answers say that refuse them."""

    def __init__(self, engine: Engine) -> None:
        self.address = engine.url.removeprefix("http://")
        self.sent = 0
        self.refusals: list[bytes] = []

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
        return answer.status, text

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
        headers = {
            "Authorization": f"Bearer {api.canary('auth')}",
            "Cookie": f"session={api.canary('cookie')}",
            "X-Api-Key": api.canary("header"),
        }
        url = (
            receiver.url(f"/?status=500&drop=30&q={DATA}") if number % 2 else "http://127.0.0.1:1/"
        )
        target = {"url": url, "headers": headers, "body": DATA}
        document = {"at": text_of(now_ms() + 2_000), "target": target, "retry": {"max_attempts": 1}}
        document["flow_key"] = f"flow-{number}"  # A breaker that opens would hold the rest back.
        assert api.ask("PUT", f"/v1/schedules/s{number}", document)[0] == 201


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
    with closing(sqlite3.connect(database)) as db:
        count: int = db.execute("SELECT count(*) FROM attempt").fetchone()[0]
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
    store_credentials(api, receiver)
    send_astray(api)
    shown = take_secrets(api)
    until(lambda: attempts(engine.database) == SCHEDULES, "all were attempted")
    assert any(MARK in request.fields["authorization"] for request in receiver.requests())

    places = {f.name: f.read_bytes() for f in engine.data_dir.glob("*.db*")}
    places["metrics"] = api.ask("GET", "/metrics")[1]
    engine.stop()
    places["after"] = engine.database.read_bytes()
    with closing(sqlite3.connect(engine.database)) as db:
        db.execute("VACUUM INTO ?", (str(directory / "copy.db"),))
    places["copy"] = (directory / "copy.db").read_bytes()
    places["log"] = engine.log.read_bytes()
    places["refusals"] = b"".join(api.refusals)
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
    assert not any(DATA.encode() in places[place] for place in ("log", "metrics", "refusals"))
    assert api.sent >= 1_000
