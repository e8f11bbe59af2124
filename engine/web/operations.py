"""What an operation takes and what it answers, said once, beside its handler.

The declaration is what is enforced: `queries.query_of` knows no parameter that is not in it. And it
is what `/openapi.json` shows, together with the handler's docstring.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from engine.core.members import JsonSchema, Member, Shape, patch_schema
from engine.web.problem_codes import PROBLEMS

JSON_TYPES = ("application/json",)
PATCH_TYPES = ("application/json", "application/merge-patch+json")
NDJSON_TYPES = ("application/x-ndjson", "application/ndjson", "application/jsonl")

NOTHING = Shape()
"""Of a body that says nothing, where the address says all."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The members of a request's body; `media_types` are what it may be sent as."""

    shape: Shape
    media_types: tuple[str, ...] = JSON_TYPES
    required: bool = False

    def schema(self) -> JsonSchema:
        """Of lines, as OpenAPI has it of sequences, that of an array with an item for each."""
        schema = self.shape.schema()
        match self.media_types:
            case media_types if media_types == NDJSON_TYPES:
                return {"type": "array", "items": schema}
            case media_types if media_types == PATCH_TYPES:
                return patch_schema(schema)
            case _:
                return schema


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer: the type of its document, None for no content, and headers of its own.

    `or_text`: it may be asked for as plain text, too.
    """

    document: Any = None
    media_type: str = "application/json"
    headers: tuple[str, ...] = ()
    or_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A handler, and all that a client has to know of it.

    `answers` by status. `problems` are codes of its own: those that follow from the rest, from the
    route's scope or from having a body are not repeated.
    """

    handler: Handler
    answers: Mapping[int, Answer]
    query: tuple[Member, ...] = ()
    headers: tuple[Member, ...] = ()
    body: Body | None = None
    problems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert PROBLEMS.keys() >= set(self.problems), "give the code a line in PROBLEMS"


OPERATION: web.RequestKey[Operation] = web.RequestKey("operation", Operation)
"""Where a request keeps what it asks for; `access.py` puts it there."""


def operation(
    *,
    answers: Mapping[int, Answer],
    query: tuple[Member, ...] = (),
    headers: tuple[Member, ...] = (),
    body: Body | None = None,
    problems: tuple[str, ...] = (),
) -> Callable[[Handler], Operation]:
    """Say what a handler takes and answers."""

    def declare(handler: Handler) -> Operation:
        return Operation(
            handler=handler,
            answers=answers,
            query=query,
            headers=headers,
            body=body,
            problems=problems,
        )

    return declare
