"""Building blocks of scripted agents and scripted models: parts of a script, and texts with placeholders.

See `engine.runtimes.scripted` and `engine.models.scripted`.
"""

import re
from collections.abc import Mapping
from typing import Annotated, overload

from pydantic import AfterValidator, BaseModel, ConfigDict

from engine.core.records.records import JsonValue
from engine.platform.field_docstrings import describe_keys
from engine.platform.patterns import BadPattern, Pattern


class ScriptPart(BaseModel):
    """A part of a script; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", strict=False, defer_build=True, json_schema_extra=describe_keys)


def _expression(value: str) -> str:
    try:
        re.compile(value)
        Pattern(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from error
    except BadPattern as error:
        raise ValueError(f"not a regular expression that is used: {error.reason}") from error
    return value


Expression = Annotated[str, AfterValidator(_expression)]
"""A regular expression."""


@overload
def fill_placeholders(value: str, values: Mapping[str, str]) -> str: ...
@overload
def fill_placeholders(value: JsonValue, values: Mapping[str, str]) -> JsonValue: ...
def fill_placeholders(value: JsonValue, values: Mapping[str, str]) -> JsonValue:
    """Return a JSON value with each known `{name}` replaced in all its texts; other braces stay."""
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda placeholder: values.get(placeholder[1], placeholder[0]), value)
    if isinstance(value, list):
        return [fill_placeholders(item, values) for item in value]
    return {key: fill_placeholders(item, values) for key, item in value.items()} if isinstance(value, dict) else value
