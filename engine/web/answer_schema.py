"""The JSON Schema of a type, as the types of answers say what they hold.

A `TypedDict` becomes a component of its own and is referred to; its docstring is the description.
Nothing may be in an answer that is not in its type, nor be missing.
"""

import types
from collections.abc import Mapping, Sequence
from enum import StrEnum
from inspect import cleandoc
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from engine.core.members import JsonSchema

_PLAIN: Mapping[Any, JsonSchema] = {
    Any: {},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    types.NoneType: {"type": "null"},
}
_ARRAYS = (list, tuple, Sequence)
_OBJECTS = (dict, Mapping)


def schema_of(hint: Any, components: dict[str, JsonSchema]) -> JsonSchema:
    """The schema of `hint`; the objects that it is made of go to `components`, by their names."""
    if is_typeddict(hint):
        return _reference(hint, components)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"type": "string", "enum": list(map(str, hint))}
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        return _PLAIN[hint]
    if origin is Annotated:
        return {**schema_of(arguments[0], components), "format": arguments[1]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _union([schema_of(argument, components) for argument in arguments])
    if origin in _ARRAYS:
        return {"type": "array", "items": schema_of(arguments[0], components)}
    if origin in _OBJECTS:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], components)}
    # What is left is a TypedDict of other types, such as a page of runs.
    return _object(origin, components, dict(zip(origin.__parameters__, arguments, strict=True)))


def _reference(hint: Any, components: dict[str, JsonSchema]) -> JsonSchema:
    name = hint.__name__.removesuffix("Document")
    if name not in components:
        components[name] = {}  # Its members may refer to it.
        components[name] = _object(hint, components, {})
    return {"$ref": f"#/components/schemas/{name}"}


def _object(
    hint: Any, components: dict[str, JsonSchema], types_of: Mapping[Any, Any]
) -> JsonSchema:
    schema: JsonSchema = {
        "type": "object",
        "properties": {
            name: schema_of(_member(member, types_of), components)
            for name, member in get_type_hints(hint, include_extras=True).items()
        },
        "required": sorted(hint.__required_keys__),
        "additionalProperties": False,
    }
    if hint.__doc__:
        schema["description"] = cleandoc(hint.__doc__)
    return schema


def _member(hint: Any, types_of: Mapping[Any, Any]) -> Any:
    if get_origin(hint) is NotRequired:
        [hint] = get_args(hint)
    parameters = getattr(hint, "__parameters__", ())
    if parameters:
        return hint[tuple(types_of[parameter] for parameter in parameters)]
    return types_of.get(hint, hint)


def _union(schemas: Sequence[JsonSchema]) -> JsonSchema:
    """`{"type": [...]}` where that says it all, as for a text or null."""
    if all(schema.keys() == {"type"} for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": list(schemas)}
