"""Validates values by untrusted JSON Schemas: in bounded time, and without reading files or addresses."""

from collections.abc import Iterator
from time import thread_time
from typing import Any

from engine.core.encoding.json_values import canonical_json
from engine.platform.patterns import SLOW_TIMEOUT_S, Pattern

NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
"""Keywords of a schema whose keys are arbitrary names."""
MAX_CHECK_S = 2
"""Limit on the processor time of one validation, in seconds: a schema could make it take years."""


class CheckTimeout(Exception):
    """A validation exceeded its time limit."""


def faults_of(value: Any, schema: Any, *, within_s: float = MAX_CHECK_S) -> Iterator[Any]:
    """Yield the validation errors of jsonschema.

    Args:
        within_s: Limit on the processor time, in seconds.

    Raises:
        CheckTimeout: If it takes longer.
        TooSlow: If a `pattern` takes too long.
        Unresolvable: If the schema refers to something outside of it.
        RecursionError: If it refers to itself without end.
    """
    from referencing import Registry  # the default one reads referenced files and addresses

    yield from _bounded_validator(within_s)(_without_dialect(schema), registry=Registry()).iter_errors(value)


def _bounded_validator(within_s: float) -> Any:
    """Return a validator class whose checks end after `within_s`."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    end_s = thread_time() + within_s

    def limited(check: Any) -> Any:
        def timed_check(*args: Any) -> Any:
            if thread_time() > end_s:
                raise CheckTimeout
            return check(*args)

        return timed_check

    def check_pattern(_validator: Any, expression: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
        if isinstance(value, str) and not Pattern(expression).is_in(value, within_s=SLOW_TIMEOUT_S):
            yield ValidationError(f"{value!r} does not match {expression!r}")

    def check_unique(_validator: Any, is_required: bool, value: Any, _schema: Any) -> Iterator[ValidationError]:
        if is_required and isinstance(value, list) and len(set(map(canonical_json, value))) < len(value):
            yield ValidationError(f"{value!r} has non-unique elements")

    checks = {**Draft202012Validator.VALIDATORS, "pattern": check_pattern, "uniqueItems": check_unique}
    return extend(Draft202012Validator, {key: limited(check) for key, check in checks.items()})


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
