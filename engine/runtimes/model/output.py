"""Structured output: an answer that has to fit a JSON Schema, with one clear reason where it does not."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from engine.core.encoding.strict_json import strict_json
from engine.core.records.records import JsonValue
from engine.errors import Unusable
from engine.models.bounds import (
    IN_LOOP_CHARACTERS,
    IN_LOOP_S,
    JSON_CHARACTERS,
    JSON_VALUES,
    SCHEMA_CHARACTERS,
    excess_of_json,
)
from engine.platform.patterns import BadPattern, Pattern
from engine.runtimes.json_schema import LONGEST_S, NAMED, TakesTooLong, faults_of

_FENCE = "```"
"""What many models put around JSON, as Markdown has it."""


class Unfit(ValueError):
    """An answer does not fit its schema; one line."""


def check_schema(schema: JsonValue) -> None:
    """Return when `schema` is a JSON Schema that refers to nothing outside of it.

    Raises:
        Unusable: If it is none; one line.
    """
    from jsonschema import Draft202012Validator, SchemaError  # 60 ms, which agents without a schema do not need

    if not isinstance(schema, dict):
        raise Unusable(f"must be a JSON Schema, an object, not {json.dumps(schema)[:60]}")
    try:
        if len(json.dumps(schema)) > SCHEMA_CHARACTERS:
            raise Unusable(f"is a JSON Schema of more than {SCHEMA_CHARACTERS:,} characters")
        Draft202012Validator.check_schema(schema)
        outside = next(_outside(schema), None)
        for key, value in _keywords(schema):
            if key == "patternProperties":
                raise Unusable("patternProperties cannot be used; name the properties, or use additionalProperties")
            if key == "pattern" and isinstance(value, str):
                Pattern(value)
    except SchemaError as error:
        at = ".".join(str(part) for part in error.absolute_path)
        raise Unusable(f"{at}: {_line(error.message)}" if at else _line(error.message)) from error
    except BadPattern as error:
        raise Unusable(_line(str(error))) from error
    except RecursionError as error:
        raise Unusable("is nested too deeply") from error
    if outside is not None:
        said = "is not in the schema; nothing else is read, neither files nor addresses"
        raise Unusable(f"$ref {_line(outside)[:60]!r} {said}")


def _outside(schema: dict[str, JsonValue]) -> Iterator[str]:
    """Yield what a schema refers to and does not have."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    whole = DRAFT202012.create_resource(schema)
    base = whole.id() or ""
    resolver = Registry().with_resource(base, whole).crawl().resolver(base)
    for key, reference in _keywords(schema):
        if key in ("$ref", "$dynamicRef") and isinstance(reference, str):
            try:
                resolver.lookup(reference)
            except (Unresolvable, ValueError):
                yield reference


_VALUES = frozenset({"const", "default", "enum", "examples"})
"""Keywords of a schema under which values stand, and no schemas."""


def _keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield each keyword of a schema and of those in it, with what stands there."""
    if isinstance(schema, list):
        for one in schema:
            yield from _keywords(one)
    elif isinstance(schema, dict):
        for key, one in schema.items():
            yield key, one
            if key in NAMED and isinstance(one, dict):
                yield from _keywords([*one.values()])
            elif key not in _VALUES:
                yield from _keywords(one)


async def fits(text: str, schema: Any) -> JsonValue:
    """Return the JSON that an answer is, as `fitting` does; what takes long is done in a thread.

    Raises:
        Unfit: As `fitting`.
    """
    if len(text) <= IN_LOOP_CHARACTERS:
        with suppress(TakesTooLong):
            value = _value_of(text)
            _compare(value, schema, IN_LOOP_S)
            return value
    import anyio.to_thread  # what reads team files is not to load it

    return await anyio.to_thread.run_sync(fitting, text, schema, abandon_on_cancel=True)


def fitting(text: str, schema: Any) -> JsonValue:
    """Return the JSON that an answer is: the whole text, or the one fenced block in it.

    Raises:
        Unfit: If it is not JSON, or does not fit the schema, or the schema leads nowhere.
    """
    value = _value_of(text)
    check_value(value, schema)
    return value


def check_value(value: JsonValue, schema: Any) -> None:
    """Return when a value fits a schema.

    Raises:
        Unfit: If it does not, or the schema leads nowhere.
    """
    try:
        _compare(value, schema, LONGEST_S)
    except TakesTooLong as error:
        raise Unfit(f"it takes longer than {LONGEST_S:g} s to see whether it fits its schema") from error


def _value_of(text: str) -> JsonValue:
    body = _json_in(text).encode()
    try:
        value: JsonValue = strict_json(body)
    except ValueError as error:
        raise Unfit(f"it {_line(str(error))}") from error
    return value


def _compare(value: JsonValue, schema: Any, within_s: float) -> None:
    from referencing.exceptions import Unresolvable

    try:
        fault = next(faults_of(value, schema, within_s=within_s), None)
    except BadPattern as error:
        raise Unfit(_line(str(error))) from error
    except (Unresolvable, RecursionError) as error:
        raise Unfit(f"its schema refers to what is not there, or to itself without end: {_line(str(error))}") from error
    if fault is not None:
        at = ".".join(str(part) for part in fault.absolute_path)
        raise Unfit(f"{at}: {_line(fault.message)}" if at else _line(fault.message))


def _json_in(text: str) -> str:
    """Return the part of an answer that is meant.

    Raises:
        Unfit: If it is longer than can be looked at.
    """
    text = text.strip()
    if _FENCE in text and not text.startswith(("{", "[", '"')):
        lines = text.split("\n")  # a text of the JSON may hold other characters that end lines
        fences = [place for place, line in enumerate(lines) if line.lstrip().startswith(_FENCE)]
        if len(fences) == 2:
            text = "\n".join(lines[fences[0] + 1 : fences[1]]).strip()
    excess = excess_of_json(text)
    if excess is not None:
        most = JSON_CHARACTERS if excess == "characters" else JSON_VALUES
        raise Unfit(f"it has more than {most:,} {excess}")
    return text


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
