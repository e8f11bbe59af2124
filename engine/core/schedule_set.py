"""Sets: the schedules that one source of files declares, so that what it drops can be deleted.

A set is a label that whoever applies the files puts there. Nothing is deleted that does not carry
it, a schedule of one set is not put by another, and a source that declares nothing deletes nothing.
What belongs to a set can be put without naming one, as `kubectl apply` puts what is in an ApplySet:
it is changed, and stays in its set.

kubectl's first prune chose by labels that anybody may have given, and deleted what others had made;
its ApplySets (KEP-3659) mark what is theirs, and are the model here.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engine.core.errors import Conflict, Fault, Invalid

SET_LABEL = "offbeat/set"


def mark(document: Mapping[str, Any], set_name: str) -> dict[str, Any]:
    """The document with the label of a set."""
    labels = document.get("labels") or {}
    if not isinstance(labels, dict):
        return dict(document)  # The engine says what is wrong with it.
    return {**document, "labels": {**labels, SET_LABEL: set_name}}


def keep_marks(
    documents: Iterable[Mapping[str, Any]], marked: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The documents of no named set, each with the mark that its schedule has, and the names of
    those that did not have it; `marked` has all names and their sets.

    Raises Conflict where a document names another set.
    """
    whole, kept = [], []
    for document in documents:
        name, labels = document["name"], document.get("labels") or {}
        its_set = marked.get(name)
        stated = labels.get(SET_LABEL) if isinstance(labels, dict) else None
        if its_set is not None and stated not in (None, its_set):
            raise _taken(name, its_set)
        if its_set is not None and stated is None:
            kept.append(name)
        whole.append(dict(document) if its_set is None else mark(document, its_set))
    return whole, kept


def strays(
    declared: Collection[str], marked: Iterable[tuple[str, str]], set_name: str
) -> list[str]:
    """The names of the set that are declared no more; `marked` has all names and their sets.

    Raises Conflict where a declared name is in another set, and Invalid where nothing is declared
    while the set has members: that is a wrong path far more often than a wish.
    """
    left = []
    for name, its_set in marked:
        if name in declared and its_set != set_name:
            raise _taken(name, its_set)
        if name not in declared and its_set == set_name:
            left.append(name)
    if left and not declared:
        raise Invalid(
            Fault(
                "",
                f"the files declare no schedule, and the set {set_name} would lose all of its"
                f" {len(left):,}: is the path right? (offbeat schedules delete NAME)",
            )
        )
    return left


def _taken(name: str, its_set: str) -> Conflict:
    return Conflict(
        f"{name} belongs to the set {its_set}: delete it there first, or choose another name"
    )
