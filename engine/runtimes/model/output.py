"""Structured output: answers that must fit a JSON Schema, with one clear reason if they do not."""

import json
from contextlib import suppress
from typing import Any

from engine.core.encoding.strict_json import strict_json
from engine.core.records.records import JsonValue
from engine.errors import Unusable
from engine.models.bounds import (
    IN_LOOP_CHARACTERS,
    IN_LOOP_S,
    MAX_CHECK_S,
    MAX_JSON_CHARACTERS,
    MAX_JSON_VALUES,
    SCHEMA_CHARACTERS,
    excess_of_json,
)
from engine.platform.patterns import BadPattern, Pattern

_FENCE = "```"
"""The Markdown fence that many models put around JSON."""


class SchemaMismatch(ValueError):
    """An answer does not fit its schema; one line."""


def check_schema(schema: JsonValue) -> None:
    """Check that `schema` is a JSON Schema without references to anything outside of it.

    Raises:
        Unusable: If it is not; one line.
    """
    from jsonschema import Draft202012Validator, SchemaError

    from engine.runtimes.json_schema import keywords, unresolved_references  # 60 ms, needed by agents with a schema

    if not isinstance(schema, dict):
        raise Unusable(f"must be a JSON Schema, an object, not {json.dumps(schema)[:60]}")
    try:
        if len(json.dumps(schema)) > SCHEMA_CHARACTERS:
            raise Unusable(f"is a JSON Schema of more than {SCHEMA_CHARACTERS:,} characters")
        Draft202012Validator.check_schema(schema)
        unresolved = next(unresolved_references(schema), None)
        if unresolved is not None:
            reason = "is not defined in the schema; external references are not followed"
            raise Unusable(f"$ref {_one_line(unresolved)[:60]!r} {reason}")
        for key, value in keywords(schema):
            if key == "patternProperties":
                raise Unusable("patternProperties cannot be used; name the properties, or use additionalProperties")
            if key == "pattern" and isinstance(value, str):
                Pattern(value)
    except SchemaError as error:
        at = ".".join(str(part) for part in error.absolute_path)
        raise Unusable(f"{at}: {_one_line(error.message)}" if at else _one_line(error.message)) from error
    except BadPattern as error:
        raise Unusable(_one_line(str(error))) from error
    except RecursionError as error:
        raise Unusable("is nested too deeply") from error


async def parse_output_in_thread(text: str, schema: Any) -> JsonValue:
    """Return the JSON value of an answer, as `parse_output` does, in a thread if the answer is long or its check slow.

    Raises:
        SchemaMismatch: As `parse_output`.
    """
    if len(text) <= IN_LOOP_CHARACTERS:
        with suppress(TimeoutError):
            value = _parse_json(text)
            _check_fit(value, schema, IN_LOOP_S)
            return value
    import anyio.to_thread  # not needed to read team files

    return await anyio.to_thread.run_sync(parse_output, text, schema, abandon_on_cancel=True)


def parse_output(text: str, schema: Any) -> JsonValue:
    """Return the JSON value of an answer: of the whole text, or of the only fenced block in it.

    Raises:
        SchemaMismatch: If it is not JSON, or does not fit the schema, or the schema cannot be resolved.
    """
    value = _parse_json(text)
    check_value(value, schema)
    return value


def check_value(value: JsonValue, schema: Any) -> None:
    """Check that a value fits a schema.

    Raises:
        SchemaMismatch: If it does not, or the schema cannot be resolved.
    """
    try:
        _check_fit(value, schema, MAX_CHECK_S)
    except TimeoutError as error:
        raise SchemaMismatch(f"checking it against its schema takes longer than {MAX_CHECK_S:g} s") from error


def _parse_json(text: str) -> JsonValue:
    body = _extract_json(text).encode()
    try:
        value: JsonValue = strict_json(body)
    except ValueError as error:
        raise SchemaMismatch(_one_line(str(error))) from error
    return value


def _check_fit(value: JsonValue, schema: Any, within_s: float) -> None:
    from referencing.exceptions import Unresolvable

    from engine.runtimes.json_schema import faults_of

    try:
        fault = next(faults_of(value, schema, within_s=within_s), None)
    except BadPattern as error:
        raise SchemaMismatch(_one_line(str(error))) from error
    except (Unresolvable, RecursionError) as error:
        reason = "its schema has an unresolvable or endlessly recursive reference"
        raise SchemaMismatch(f"{reason}: {_one_line(str(error))}") from error
    if fault is not None:
        at = ".".join(str(part) for part in fault.absolute_path)
        raise SchemaMismatch(f"{at}: {_one_line(fault.message)}" if at else _one_line(fault.message))


def _extract_json(text: str) -> str:
    """Return the JSON text in an answer: the whole answer, or its only fenced block.

    Raises:
        SchemaMismatch: If it exceeds a limit.
    """
    text = text.strip()
    if _FENCE in text and not text.startswith(("{", "[", '"')):
        lines = text.split("\n")  # not `splitlines`: texts in the JSON may contain other line ends
        fences = [index for index, line in enumerate(lines) if line.lstrip().startswith(_FENCE)]
        if len(fences) == 2:
            text = "\n".join(lines[fences[0] + 1 : fences[1]]).strip()
    excess = excess_of_json(text)
    if excess is not None:
        limit = MAX_JSON_CHARACTERS if excess == "characters" else MAX_JSON_VALUES
        raise SchemaMismatch(f"it has more than {limit:,} {excess}")
    return text


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
