"""Validates values by untrusted JSON Schemas: in bounded time, and without reading files or addresses."""

from collections.abc import Iterator, Mapping
from time import thread_time
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from engine.core.encoding.json_values import canonical_json
from engine.core.records.records import JsonValue
from engine.models.bounds import MAX_CHECK_S
from engine.platform.patterns import SLOW_TIMEOUT_S, Pattern

NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
"""Keywords of a schema whose keys are arbitrary names."""
_VALUES = frozenset({"const", "default", "enum", "examples"})
"""Keywords of a schema that contain values, not schemas."""
_NOT_CHECKED = frozenset({"pattern", "patternProperties", "format", "$id", "$schema"})
"""Schema keywords that are not checked, because they could take forever or open addresses; the server checks them."""


def faults_of(value: Any, schema: Any, *, within_s: float = MAX_CHECK_S) -> Iterator[Any]:
    """Yield the validation errors of jsonschema.

    Args:
        within_s: Limit on the processor time, in seconds.

    Raises:
        TimeoutError: If it takes longer.
        TooSlow: If a `pattern` takes too long.
        Unresolvable: If the schema refers to something outside of it.
        RecursionError: If it refers to itself without end.
    """
    # The default registry reads referenced files and addresses.
    yield from _bounded_validator(within_s)(_without_dialect(schema), registry=Registry()).iter_errors(value)


def _bounded_validator(within_s: float) -> Any:
    """Return a validator class whose checks end after `within_s`."""
    end_s = thread_time() + within_s

    def limit_time(check: Any) -> Any:
        def check_in_time(*args: Any) -> Any:
            if thread_time() > end_s:
                raise TimeoutError
            return check(*args)

        return check_in_time

    def check_pattern(_validator: Any, expression: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
        if isinstance(value, str) and not Pattern(expression).is_in(value, timeout_s=SLOW_TIMEOUT_S):
            yield ValidationError(f"{value!r} does not match {expression!r}")

    def check_unique(_validator: Any, is_required: bool, value: Any, _schema: Any) -> Iterator[ValidationError]:
        if is_required and isinstance(value, list) and len(set(map(canonical_json, value))) < len(value):
            yield ValidationError(f"{value!r} has non-unique elements")

    checks = {**Draft202012Validator.VALIDATORS, "pattern": check_pattern, "uniqueItems": check_unique}
    return extend(Draft202012Validator, {key: limit_time(check) for key, check in checks.items()})


def _without_dialect(schema: Any) -> Any:
    """Return a schema without `$schema`, which would select another validator."""
    if isinstance(schema, list):
        return [_without_dialect(subschema) for subschema in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_dialect(subschema)
        for key, subschema in schema.items()
        if key != "$schema" or not isinstance(subschema, str)
    }


def checkable_schema(schema: Any) -> Any:
    """Return a schema of a tool server without the keywords that are not checked here."""
    if isinstance(schema, list):
        return [checkable_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: {name: checkable_schema(part) for name, part in value.items()}
        if key in NAMED and isinstance(value, dict)
        else checkable_schema(value)
        for key, value in schema.items()
        if key not in _NOT_CHECKED
    }


def unresolved_references(schema: dict[str, JsonValue]) -> Iterator[str]:
    """Yield the references of a schema that it does not define."""
    resource = DRAFT202012.create_resource(schema)
    base = resource.id() or ""
    resolver = Registry().with_resource(base, resource).crawl().resolver(base)
    for key, reference in keywords(schema):
        if key in ("$ref", "$dynamicRef") and isinstance(reference, str):
            try:
                resolver.lookup(reference)
            except (Unresolvable, ValueError):
                yield reference


def keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield each keyword of a schema and of its subschemas, with its value."""
    if isinstance(schema, list):
        for value in schema:
            yield from keywords(value)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            yield key, value
            if key in NAMED and isinstance(value, dict):
                yield from keywords([*value.values()])
            elif key not in _VALUES:
                yield from keywords(value)
