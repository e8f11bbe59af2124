"""What a tenant has that a stranger might guess, name and see: made by its own requests.

All texts that it writes or causes begin with its mark, so that whoever sees one knows whose it is.
"""

from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from engine.core.access import Scope
from engine.core.identity import format_instant, schedule_id
from engine.core.model import Outcome
from tests.web.document_requests import Operation, operations
from tests.web.keyed import OK, Node

MARKS = {"acme": "amethyst", "globex": "gneiss", "nobody": "obsidian"}
KINDS = ("succeeds", "fails", "waits", "is-deleted", "rests", "spare")
"""What becomes of a thing, or of its run; a stranger makes things under the names of `spare`."""

KEYS_USED = 200
"""Idempotency keys of a tenant: a stranger uses each once at most."""

TEXTS = ("header", "body", "error", "said", "reason", "notices")
"""Of which there is one a tenant, beside what each thing has."""


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A schedule, and what there is because of it."""

    name: str
    schedule_id: str
    url: str
    host: str
    label: str
    flow: str
    run: str


@dataclass(frozen=True, kw_only=True)
class Owned:
    """`cursors` by path; `shown`: what is in the answers to the tenant, and in no others."""

    things: list[Thing]
    spare: Thing
    keys: list[str]
    cursors: dict[str, str]
    etags: list[str]
    event_id: str
    shown: list[str]

    @property
    def marks(self) -> list[str]:
        of_things = [text for thing in (*self.things, self.spare) for text in astuple(thing)]
        return [*of_things, *self.keys, self.event_id, *self.shown]


def answer(request: Any) -> Outcome:
    """What a receiver of a tenant's says is kept with the attempt, and has its mark."""
    if request.url.endswith(("/succeeds", "/notices")):
        return OK
    mark = request.url.removeprefix("http://").partition("-")[0]
    said = f"{mark}-said".encode()
    return Outcome(name="http_error", status=500, error=f"{mark}-error", response=said)


def make_all(node: Node, tenant: str) -> Owned:
    """Make all that a tenant may have, and wait until nothing of it changes by itself."""
    key, mark = node.keys[tenant, Scope.WRITE], MARKS[tenant]
    begun = node.ask("GET", "/v1/events", key=key).text
    target = {"url": f"http://{mark}.example/notices"}
    node.ask("PUT", "/v1/notices", key=key, body={"target": target})
    made = [make(node, tenant, number) for number in range(len(KINDS))]
    node.until(lambda: under_way(node, key), 0)
    deleted = made[KINDS.index("is-deleted")][0].name
    node.ask("POST", "/v1/runs:delete", key=key, body={"schedule": deleted})
    resting = f"/v1/schedules/{made[KINDS.index('rests')][0].name}:pause"
    node.ask("POST", resting, key=key, body={"reason": f"{mark}-reason"})
    node.ask("POST", "/v1/secrets:rotate", key=key)
    keys = keys_of(tenant)
    for used in keys:
        node.ask("POST", "/v1/runs:delete", key=key, headers={"Idempotency-Key": used},
                 body={"labels": {"of": used}})  # fmt: skip
    things = [thing for thing, _ in made]
    return Owned(
        things=things[:-1],
        spare=things[-1],
        keys=keys,
        cursors=cursors_of(node, things[0].name, key),
        etags=[etag for _, etag in made],
        event_id=begun.partition("id: ")[2].partition("\n")[0],
        shown=[*node.engine.of(tenant).secrets.active, *(f"{mark}-{text}" for text in TEXTS)],
    )


def imagine_all(other: Owned) -> Owned:
    """What another has in all but names, of a tenant that is not there."""
    things = [imagine("nobody", number) for number in range(len(KINDS))]
    keys = keys_of("nobody")
    return replace(other, things=things[:-1], spare=things[-1], keys=keys, event_id="0-0")


def make(node: Node, tenant: str, number: int) -> tuple[Thing, str]:
    """A schedule with a run, and its revision."""
    key, thing = node.keys[tenant, Scope.WRITE], imagine(tenant, number)
    path = f"/v1/schedules/{thing.name}"
    limits, unless = f"/v1/flows/{thing.flow}", {"If-None-Match": "*"}
    node.ask("PUT", limits, key=key, body={"parallelism": 7}, headers=unless)
    stored = node.ask("PUT", path, key=key, body=document(MARKS[tenant], thing))
    assert stored.json["id"] == thing.schedule_id
    run = node.ask("POST", f"{path}:trigger", key=key).json["id"]
    return replace(thing, run=run), stored.headers["ETag"]


def imagine(tenant: str, number: int) -> Thing:
    """What a tenant has, or would have."""
    mark, kind = MARKS[tenant], KINDS[number]
    identity = schedule_id(tenant, f"{mark}-schedule-{number}")
    return Thing(
        name=f"{mark}-schedule-{number}",
        schedule_id=identity,
        url=f"http://{mark}-host-{number}.example/{kind}",
        host=f"{mark}-host-{number}.example:80",
        label=f"{mark}-label-{number}",
        flow=f"{mark}-flow-{number}",
        run=f"{identity}@{format_instant(1_796_040_000_001)}",
    )


def document(mark: str, thing: Thing) -> dict[str, Any]:
    """Due in half an hour and no earlier: in every forecast, and at rest while a test looks."""
    soon = datetime.now(UTC) + timedelta(minutes=30)
    return {
        "every": 60,
        "jitter_seconds": 0,  # All at one offset, where they are counted together.
        "start_at": soon.isoformat(timespec="seconds"),
        "labels": {"mark": thing.label},
        "target": {"url": thing.url, "headers": {"X-Mark": f"{mark}-header"},
                   "body": f"{mark}-body"},
        # What no schedule names are limits alone, which are forgotten when they are deleted.
        "flow_key": None if thing.url.endswith("/spare") else thing.flow,
        "retry": {"max_attempts": 2 if thing.url.endswith("/waits") else 1, "jitter": "none",
                  "min_backoff_seconds": 3_600, "max_backoff_seconds": 3_600},
    }  # fmt: skip


def keys_of(tenant: str) -> list[str]:
    return [f"{MARKS[tenant]}-key-{number}" for number in range(KEYS_USED)]


def under_way(node: Node, key: str) -> int:
    """How many runs have something happen to them soon; the others rest, for an hour at least."""
    runs = node.ask("GET", "/v1/runs?limit=1000", key=key).json["data"]
    return sum(run["state"] in {"planned", "attempting"} for run in runs)


def cursors_of(node: Node, name: str, key: str) -> dict[str, str]:
    """Of each list that a tenant has, where its second page begins, if it has one."""
    found = {
        operation.path: node.ask(
            "GET", operation.path.replace("{name}", name) + "?limit=1", key=key
        ).json["next_cursor"]
        for operation in operations()
        if has_pages(operation) and operation.needs is not Scope.ADMIN
    }
    return {path: cursor for path, cursor in found.items() if cursor is not None}


def has_pages(operation: Operation) -> bool:
    return any(each["name"] == "cursor" for each in operation.described["parameters"])
