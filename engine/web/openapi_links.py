"""Links from what an operation answers to what can be done with it (OpenAPI 3.1, Link Object).

An answer that is a schedule names it; so every operation at that schedule's address can follow,
and so on for the rest. A list gives its first item.
"""

from collections.abc import Iterator, Sequence
from typing import Any, get_args, get_origin

from engine.web.access import Route
from engine.web.queries import CURSOR, Page

# A document's type, the address where it is, and the member that names it there.
IDENTITIES = {
    "ScheduleDocument": ("/v1/schedules/{name}", "name"),
    "RunDocument": ("/v1/runs/{id}", "id"),
    "RunWithAttemptsDocument": ("/v1/runs/{id}", "id"),
    "FlowDocument": ("/v1/flows/{key}", "key"),
    "TenantDocument": ("/v1/tenants/{tenant}", "name"),
    "KeyDocument": ("/v1/keys/{id}", "id"),
    "NewKeyDocument": ("/v1/keys/{id}", "id"),
}


def links_from(route: Route, status: int, routes: Sequence[Route]) -> dict[str, Any]:
    """The `links` of one answer of a route: empty where there are none."""
    links = dict(_links(route, route.operation.answers[status].document, routes))
    return {"links": links} if links else {}


def _links(route: Route, document: Any, routes: Sequence[Route]) -> Iterator[tuple[str, Any]]:
    pointer = ""
    if get_origin(document) is Page:
        [document] = get_args(document)
        pointer = "/data/0"
        if CURSOR in route.operation.query:
            yield _link(route, {"cursor": "$response.body#/next_cursor"})
    address, member = IDENTITIES.get(getattr(document, "__name__", ""), (None, ""))
    if address is None:
        return
    parameter = address.rpartition("{")[2].rstrip("}")
    for other in routes:
        if other.path.startswith(address):
            yield _link(other, {parameter: f"$response.body#{pointer}/{member}"})


def _link(route: Route, parameters: dict[str, str]) -> tuple[str, Any]:
    name = route.operation.handler.__name__
    return name, {"operationId": name, "parameters": parameters}
