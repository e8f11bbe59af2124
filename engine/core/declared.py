"""A schedule as a file declares it: nothing that the engine adds, nothing that goes without saying.

What the API answers and what is declared read as the same definition. What is at its default is
left out, and `paused: false` with it, which a PUT keeps when it is not said: a file is about what
somebody chose.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.core.document import read_schedule, write_definition
from engine.core.fields import member_pointer
from engine.core.members import Shape
from engine.core.model import Draft, Pause
from engine.core.policy_document import RETRY
from engine.core.schedule_members import SCHEDULE
from engine.core.target_document import TARGET

Document = Mapping[str, Any]
Change = tuple[str, Any, Any]
"""Where (a JSON pointer), what is there, and what will be; None: nothing."""


def declare(answer: Document) -> dict[str, Any]:
    """What to write for a schedule that the API answered with, its name aside."""
    declared = _chosen(SCHEDULE, answer)
    del declared["name"]
    if answer["jitter_source"] == "default":
        del declared["jitter_seconds"]
    if not answer["paused"]:
        del declared["paused"]
    declared["target"] = _chosen(TARGET, answer["target"])
    declared["retry"] = _chosen(RETRY.shape, answer["retry"])
    for part, empty in ((declared["target"], "headers"), (declared, "labels"), (declared, "retry")):
        if part[empty] == {}:
            del part[empty]
    return declared


def changes(answer: Document, document: Document) -> list[Change]:
    """What putting `document` changes in the schedule of `answer`. Raises Invalid."""
    tenant, name = answer["tenant"], answer["name"]
    before = read_schedule(answer, tenant=tenant, name=name, inproc=True)
    after = read_schedule(document, tenant=tenant, name=name)
    resting = before.pause if before.paused else None
    return list(_differences(_written(before, resting), _written(after, resting), ""))


def _written(draft: Draft, resting: Pause | None) -> Document:
    pause = resting if draft.paused is None else draft.pause if draft.paused else None
    return write_definition(draft.definition, pause)


def _chosen(shape: Shape, document: Document) -> dict[str, Any]:
    pairs = ((member, document.get(member.name)) for member in shape.members)
    return {
        member.name: value
        for member, value in pairs
        if value is not None and value != member.default
    }


def _differences(before: Any, after: Any, pointer: str) -> Iterator[Change]:
    if not isinstance(before, dict) or not isinstance(after, dict):
        if before != after:
            yield pointer, before, after
        return
    for name in dict.fromkeys([*before, *after]):
        yield from _differences(before.get(name), after.get(name), member_pointer(pointer, name))
