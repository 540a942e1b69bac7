"""Looks at values by JSON Schemas that others wrote: in a time that is bounded, and without reading anything else."""

from collections.abc import Iterator
from time import thread_time
from typing import Any

from engine.core.encoding.json_values import canonical_json
from engine.platform.patterns import SLOW_TIMEOUT_S, Pattern

NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
"""Keywords of a schema whose keys are arbitrary names."""
MAX_CHECK_S = 2
"""Processor time that one value may take, in seconds: schemas can be written that would take years."""


class CheckTimeout(Exception):
    """A value took more time to look at than it may."""


def faults_of(value: Any, schema: Any, *, within_s: float = MAX_CHECK_S) -> Iterator[Any]:
    """Yield what does not fit, as jsonschema tells it.

    Args:
        within_s: Processor time that it may take, in seconds.

    Raises:
        CheckTimeout: If that takes longer than it may.
        TooSlow: If a `pattern` does.
        Unresolvable: If the schema refers to what is not in it.
        RecursionError: If it refers to itself without end.
    """
    from referencing import Registry  # the usual one fetches what is referred to, from any address and any file

    yield from _bounded_validator(within_s)(_without_dialect(schema), registry=Registry()).iter_errors(value)


def _bounded_validator(within_s: float) -> Any:
    """Return a class that looks at one value."""
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
    """Return a schema without `$schema`, which would call for another validator."""
    if isinstance(schema, list):
        return [_without_dialect(subschema) for subschema in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_dialect(subschema)
        for key, subschema in schema.items()
        if key != "$schema" or not isinstance(subschema, str)
    }
