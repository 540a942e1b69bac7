"""The arguments of a tool call as JSON, for guards and people, before the call is made.

Rule: they are exactly the arguments that are passed, with the defaults that are filled in later. A value that is not
JSON is represented by its `repr`, and such a call needs approval whatever a guard says.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.records.records import JsonValue
from engine.errors import NotJson, TooManyValues
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.tools import KEY, options_of
from engine.runtimes.values import clean, json_value

MAX_SCHEMA_PARTS = 10_000
"""Parts of a server's schema that are searched for the defaults of one call."""


@dataclass(frozen=True, slots=True)
class CallValue:
    """Arguments of a call by name, in the order of the signature."""

    arguments: JsonValue
    is_exact: bool = True
    """Whether these are all arguments of the call, unchanged; otherwise no guard can decide."""


async def function_value(
    work: Work, function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> CallValue:
    """Return the arguments of a call of a function; pydantic converts other types in a thread."""
    arguments = _with_defaults(function, args, named)
    if arguments is None:
        return CallValue([*args, dict(named)], is_exact=False)
    try:
        return CallValue(json_value(arguments))
    except NotJson:
        return await work.in_thread(lambda: _convert(arguments))


def _with_defaults(
    function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the arguments by name; None if the function has no signature, or does not accept them."""
    try:
        bound = inspect.signature(function).bind(*args, **named)
    except (TypeError, ValueError):
        return None
    engine_key = {KEY} - bound.arguments.keys() if options_of(function).idempotent else set()
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name not in engine_key}


def _convert(arguments: Mapping[str, Any]) -> CallValue:
    texts: dict[str, JsonValue] = {}
    is_exact = True
    for name, value in arguments.items():
        try:
            texts[name] = _as_json(value)
        except Exception:  # the types are the user's, and converting them runs their code
            texts[name], is_exact = _representation(value), False
    return CallValue(texts, is_exact)


def _as_json(value: Any) -> JsonValue:
    from pydantic_core import to_jsonable_python

    if isinstance(value, Iterator):
        raise NotJson("an iterator can be read once, by the function")
    try:
        return json_value(value)
    except TooManyValues:
        raise
    except NotJson:
        return json_value(to_jsonable_python(value))


def _representation(value: Any) -> str:
    try:
        return clean(repr(value))
    except Exception:  # the user's `__repr__` may raise anything
        return f"<{type(value).__name__}>"


def server_value(arguments: Mapping[str, JsonValue], schema: Any) -> CallValue:
    """Return the arguments of a call of a server's tool, with the defaults of its schema."""
    try:
        return CallValue(_SchemaDefaults(schema).add_defaults(dict(arguments), schema))
    except RecursionError:
        return CallValue(dict(arguments), is_exact=False)


class _SchemaDefaults:
    """Adds the defaults of a schema to a value, also in nested objects; in a union, those of each alternative."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._parts_left = MAX_SCHEMA_PARTS

    def add_defaults(self, value: JsonValue, schema: Any) -> JsonValue:
        """Return the value with the defaults of a part of the schema.

        Raises:
            RecursionError: If more than `MAX_SCHEMA_PARTS` are visited, for example because of a cycle.
        """
        if not isinstance(schema, Mapping) or not isinstance(value, dict | list):
            return value
        self._parts_left -= 1
        if self._parts_left < 0:
            raise RecursionError
        for part in self._linked_schemas(schema):
            value = self.add_defaults(value, part)
        items, properties = schema.get("items"), schema.get("properties")
        if isinstance(value, list) and items is not None:
            return [self.add_defaults(item, items) for item in value]
        if isinstance(value, dict) and isinstance(properties, Mapping):
            defaults = {
                name: part["default"]
                for name, part in properties.items()
                if isinstance(part, Mapping) and "default" in part
            }
            value = {**value, **{name: default for name, default in defaults.items() if name not in value}}
            return {name: self.add_defaults(item, properties.get(name)) for name, item in value.items()}
        return value

    def _linked_schemas(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        """Yield further schemas of the same value: the referenced one, and the parts of a union."""
        if isinstance(target := schema.get("$ref"), str):
            yield self._resolve_reference(target)
        for keyword in ("allOf", "anyOf", "oneOf"):
            if isinstance(parts := schema.get(keyword), list):
                yield from parts

    def _resolve_reference(self, target: str) -> Any:
        """Return the part of the schema that a local reference names; None for any other reference."""
        part = self._root if target.startswith("#") else None
        for name in target.removeprefix("#").split("/")[1:]:
            part = part.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(part, Mapping) else None
        return part
