"""Requests that nobody thought of, made out of `/openapi.json`, against the engine in its process.

Schemathesis tries examples, the edges of every schema, random values good and bad, and sequences
that follow the document's links. Each answer is held against the document. The sequence is the
same in every run: derandomized, with a fixed seed and without a database of earlier failures.
"""

import json
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.engine.run import PhaseName

from engine.web.application import DESCRIPTION
from engine.web.operations import NDJSON_TYPES
from tests.web.node_process import served

CASES_MIN = 2_500
"""For each of the two engines: 5,000 in all."""

EXAMPLES = 10
"""Of each operation, in the phase of random values."""

SEQUENCES = 50
"""In the phase that follows links."""

SEED = 20_261_130

# What may become of a request that its schema allows: rules between members are not in schemas, nor
# is that If-Match and If-None-Match never hold together, which is a 400.
ACCEPTED = ["2xx", "400", "401", "403", "404", "409", "412", "422", "429"]
REFUSED = ["400", "401", "403", "404", "405", "409", "412", "413", "415", "422", "429", "431"]

OFF = {"enabled": False}
EXCEPTIONS = [
    # A batch is answered with 200 and refuses line by line.
    {"include-name": "POST /v1/schedules:batch", "checks": {"negative_data_rejection": OFF}},
    # That a schedule would be refused is what is asked there, and answered with 200.
    {"include-name": "POST /v1/schedules:preview", "checks": {"negative_data_rejection": OFF}},
    # To the document it is text that does not end; here it would be read as a list of events.
    {"include-name": "GET /v1/events", "checks": {"response_schema_conformance": OFF}},
    # The answer to a request under an Idempotency-Key may name a key that was revoked since.
    {"include-name": "DELETE /v1/keys/{id}", "checks": {"ensure_resource_availability": OFF}},
    # What is deleted are its limits; the flow stays for as long as schedules name it.
    {"include-path-regex": "^/v1/flows/", "checks": {"use_after_free": OFF}},
    # These are addresses of `{name}` too, or of `{id}`, whose methods refuse it in their own way.
    {
        "include-path-regex": r"\{\w+\}:",
        "checks": {"unsupported_method": OFF, "allow_header_conformance": OFF},
    },
]


@schemathesis.serializer(*NDJSON_TYPES)
def write_lines(context: Any, value: Any) -> bytes:
    """An array as the lines that it stands for; what is no array as one line."""
    items = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


@schemathesis.deserializer(NDJSON_TYPES[0])
def read_lines(context: Any, response: Any) -> list[Any]:
    return list(map(json.loads, response.content.splitlines()))


@dataclass
class Report:
    """What was asked and what was wrong."""

    cases: Counter[PhaseName] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, event: events.EngineEvent) -> None:
        if isinstance(event, events.ScenarioFinished):
            answers = [i.response for i in event.recorder.interactions.values()]
            self.cases[event.phase] += len(answers)
            self.statuses.update(answer.status_code for answer in answers if answer is not None)
            self.faults += faults_of(event.recorder)
        elif isinstance(event, events.NonFatalError | events.FatalError):
            self.faults.append(str(event))


def faults_of(recorder: ScenarioRecorder) -> Iterator[str]:
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                request = recorder.interactions[case_id].request
                failure = check.failure_info.failure
                yield f"{request.method} {request.uri} {request.body!r}: {failure.message}"


def explore(url: str, key: str | None) -> Report:
    document = deepcopy(DESCRIPTION.document)
    if key is None:
        for methods in document["paths"].values():
            for described in methods.values():
                described.pop("security", None)
    report = Report()
    schema = schemathesis.openapi.from_dict(document, config=settings(url, key))
    for event in from_schema(schema).execute():
        report.add(event)
    return report


def settings(url: str, key: str | None) -> SchemathesisConfig:
    return SchemathesisConfig.from_dict(
        {
            "seed": SEED,
            "base-url": url,
            "headers": {} if key is None else {"Authorization": f"Bearer {key}"},
            # A key may ask 100 times a second, and a 429 shows nothing of what is behind it.
            **({} if key is None else {"rate-limit": "95/s"}),
            "continue-on-failure": True,
            "generation": {"max-examples": EXAMPLES, "deterministic": True, "database": "none"},
            "phases": {"stateful": {"generation": {"max-examples": SEQUENCES}}},
            "checks": {
                "positive_data_acceptance": {"expected-statuses": ACCEPTED},
                "negative_data_rejection": {"expected-statuses": REFUSED},
            },
            "operations": EXCEPTIONS,
        }
    )


@pytest.mark.parametrize("keys", [False, True], ids=["keyless", "keyed"])
def test_every_answer_to_any_request_is_described(tmp_path: Path, keys: bool):
    with served(tmp_path, keys=keys) as (url, key):
        report = explore(url, key)
    assert not report.faults, "\n\n".join(report.faults)
    assert all(status < 500 for status in report.statuses)
    assert report.cases.keys() == {
        PhaseName.EXAMPLES,
        PhaseName.COVERAGE,
        PhaseName.FUZZING,
        PhaseName.STATEFUL_TESTING,
    }
    assert report.cases.total() >= CASES_MIN
