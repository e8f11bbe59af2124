"""Signing secrets rotate under load, and no delivery fails at a receiver that does as it is told.

It verifies with the standardwebhooks package, by the secrets that `GET /v1/secrets` last showed it
before the delivery came, and takes what any of them verifies.
"""

import threading
from bisect import bisect_left

from standardwebhooks import Webhook, WebhookVerificationError

from engine.cli.client import Client
from engine.cli.options import Server
from tests.end_to_end.processes import Engine, Receiver, Request, until

DELIVERIES = 10_000
SCHEDULES = 1_000
RATE = 2_000
"""A herd of 1,000 each second leaves in half of it."""

UNDER_WAY_MAX = 512
"""Slots of an engine: after so many arrivals, with answers at once, none is left from before."""

KILLS = 8
KILL_STEP_SECONDS = 0.0015
"""Each kill comes so much later than the one before: from the request to after its answer."""


class CarefulReceiver:
    """What the receiver has been given, and when."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._since_ms: list[int] = []
        self._secrets: list[list[str]] = []

    def fetch(self) -> list[str]:
        """Ask the engine which secrets are active, and hold those and no others from now on."""
        answer = self._engine.ask("GET", "/v1/secrets")
        assert answer.answered_ms is not None
        self._secrets.append([row["secret"] for row in answer.document["data"]])
        self._since_ms.append(answer.answered_ms)
        return self._secrets[-1]

    def held(self, request: Request) -> list[str]:
        """The secrets that it had when a request came."""
        place = bisect_left(self._since_ms, request.wall_ms) - 1
        return self._secrets[max(place, 0)]

    def accepts(self, request: Request) -> bool:
        return any(verifies(secret, request) for secret in self.held(request))


def verifies(secret: str, request: Request) -> bool:
    try:
        Webhook(secret).verify(request.body, request.fields, json_parse=False)
    except WebhookVerificationError:
        return False
    return True


def put_schedules(engine: Engine, receiver: Receiver, count: int) -> None:
    target = {"url": receiver.url("/"), "json": {"total": 7}}
    documents = [{"name": f"s{n}", "every": 1, "target": target} for n in range(count)]
    with Client(Server(engine.url)) as client:
        assert {line["status"] for line in client.batch(documents)} == {"created"}


def arrivals(receiver: Receiver, more: int) -> None:
    """Wait until `more` deliveries have come in."""
    seen = len(receiver.requests())
    until(lambda: len(receiver.requests()) >= seen + more, f"{more} more deliveries")


def test_ten_thousand_deliveries_verify_through_rotations(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start("--rate", str(RATE))
    careful = CarefulReceiver(engine)
    shown = {tuple(careful.fetch())}
    put_schedules(engine, receiver, SCHEDULES)
    while len(receiver.requests()) < DELIVERIES:
        arrivals(receiver, UNDER_WAY_MAX // 2)
        assert engine.ask("POST", "/v1/secrets:rotate").status == 200
        arrivals(receiver, UNDER_WAY_MAX // 2)  # Signed by a secret that it does not know yet, too.
        shown.add(tuple(careful.fetch()))
        arrivals(receiver, UNDER_WAY_MAX)
        assert engine.ask("POST", "/v1/secrets:retire").status == 200
        shown.add(tuple(careful.fetch()))
    engine.stop()
    requests = receiver.requests()
    refused = [request.wall_ms for request in requests if not careful.accepts(request)]
    assert refused == []
    assert {len(secrets) for secrets in shown} == {1, 2}
    signatures = {len(request.fields["webhook-signature"].split()) for request in requests}
    assert signatures == {1, 2}
    print(f"{len(requests)} deliveries, {len(shown) // 2} rotations, {len(refused)} refused")


def test_a_kill_in_the_middle_of_a_change_leaves_what_was_shown_valid(
    engine: Engine, receiver: Receiver
) -> None:
    """The receiver asks again only after it has verified what the next life sends."""
    kept = 0
    engine.start()
    careful = CarefulReceiver(engine)
    put_schedules(engine, receiver, 20)
    for cycle in range(KILLS):
        before = careful.fetch()
        until(receiver.requests, "the first deliveries")
        call = "rotate" if len(before) == 1 else "retire"
        asking = threading.Thread(target=engine.write, args=("POST", f"/v1/secrets:{call}"))
        asking.start()
        threading.Event().wait(cycle * KILL_STEP_SECONDS)
        engine.kill()
        asking.join()
        engine.start()
        until(lambda: receiver.requests()[-1].wall_ms > engine.kills[-1], "this life has sent")
        kept += careful.fetch() != before
    engine.stop()
    requests = receiver.requests()
    assert [request.wall_ms for request in requests if not careful.accepts(request)] == []
    print(f"{len(requests)} deliveries, {kept} of {KILLS} changes were kept")
