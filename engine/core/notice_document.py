"""The document of `/v1/notices`: where a tenant's failure notices go.

Its `target` is a schedule's, less the body, which the engine writes for each notice: JSON, so its
Content-Type is that of JSON where the tenant names none. What is read can be sent back as it is.
"""

from typing import Any

from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.members import Choice, Nested, Shape
from engine.core.model import Draft, Schedule
from engine.core.notice import notices_of
from engine.core.target_document import HEADERS, TIMEOUT, URL, read_target, write_target

METHOD = Choice("method", "POST", ("POST", "PUT", "PATCH"), about="How notices are sent.")
TARGET = Shape((URL, METHOD, HEADERS, TIMEOUT), required=frozenset({"url"}))
NOTICES = Shape(
    (Nested("target", TARGET, about="Where notices go."),),
    required=frozenset({"target"}),
    ignored=frozenset({"schedule_id", "paused", "pause_reason", "revision"}),
)


def read_notices(document: object, *, tenant: str, inproc: bool = False) -> Draft:
    """The schedule of notices that `document` describes, not paused. Raises Invalid.

    `inproc`: the target may be a handler in the engine's process.
    """
    faults: list[Fault] = []
    target = Fields(document, pointer="", known=NOTICES.names, faults=faults).raw("target")
    Fields(target, pointer="/target", known=TARGET.names, faults=faults).choice(METHOD)
    if not faults:
        read = read_target({**target, "json": {}}, faults, inproc=inproc)
    if faults:
        raise Invalid(*faults)
    return Draft(definition=notices_of(tenant, read), paused=False)


def write_notices(schedule: Schedule) -> dict[str, Any]:
    """The document that the API answers with; the runs of `schedule_id` are the notices."""
    definition, pause = schedule.definition, schedule.pause
    target = write_target(definition.target)
    del target["json"]
    return {
        "target": target,
        "schedule_id": definition.schedule_id,
        "paused": pause is not None,
        "pause_reason": pause.reason if pause else None,
        "revision": schedule.revision,
    }
