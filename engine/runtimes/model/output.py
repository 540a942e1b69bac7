"""Structured output: an answer that has to fit a JSON Schema, with one clear reason where it does not."""

import json
import re
from typing import Any

from engine.core.records import JsonValue
from engine.core.strict_json import strict_json
from engine.errors import Unusable

_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\n(.*)\n```\s*\Z", re.DOTALL)
"""The Markdown fence that many models put around JSON."""


class Unfit(ValueError):
    """An answer does not fit its schema; one line."""


def check_schema(schema: JsonValue) -> None:
    """Return when `schema` is a JSON Schema.

    Raises:
        Unusable: If it is none; one line.
    """
    from jsonschema import Draft202012Validator, SchemaError  # 60 ms, which agents without a schema do not need

    if not isinstance(schema, dict):
        raise Unusable(f"must be a JSON Schema, an object, not {json.dumps(schema)[:60]}")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        at = ".".join(str(part) for part in error.absolute_path)
        raise Unusable(f"{at}: {_line(error.message)}" if at else _line(error.message)) from error


def fitting(text: str, schema: Any) -> JsonValue:
    """Return the JSON that an answer is.

    Raises:
        Unfit: If it is not JSON, or does not fit the schema.
    """
    from jsonschema import Draft202012Validator

    fenced = _FENCED.match(text)
    try:
        found: JsonValue = strict_json((fenced[1] if fenced else text).strip().encode())
    except ValueError as error:
        raise Unfit(f"it is not JSON: {_line(str(error))}") from error
    wrong = next(Draft202012Validator(schema).iter_errors(found), None)
    if wrong is not None:
        at = ".".join(str(part) for part in wrong.absolute_path)
        raise Unfit(f"{at}: {_line(wrong.message)}" if at else _line(wrong.message))
    return found


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
