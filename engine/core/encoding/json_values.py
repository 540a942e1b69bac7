"""Equality of JSON values: true differs from 1 and false from 0, unlike in Python; 1 equals 1.0."""

from typing import Any

import msgspec


def json_equal(value: Any, other: Any) -> bool:
    """Return whether two values are the same JSON; records in them are compared by `==`."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(json_equal(item, other[key]) for key, item in value.items())
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(json_equal, value, other))
    return bool(value == other)


def canonical_json(value: Any) -> bytes:
    """Return a value as JSON, the same bytes for equal values: 1.0 as 1, keys sorted."""
    return msgspec.json.encode(_with_equal_numbers(value), order="deterministic")


def _with_equal_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_equal_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_equal_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
