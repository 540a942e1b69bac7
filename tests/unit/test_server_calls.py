"""The value of a call of a server's tool: its arguments, and the defaults that its schema names."""

from typing import Any

import pytest

from engine.runtimes.toolbox.call_value import MAX_SCHEMA_PARTS, CallValue, server_value


@pytest.mark.parametrize(
    ("schema", "arguments", "value"),
    [
        (None, {"a": 1}, {"a": 1}),
        (True, {"a": 1}, {"a": 1}),
        ({"properties": {"a": {"default": 2}, "b": {"default": None}}}, {"a": 1}, {"a": 1, "b": None}),
        ({"properties": {"a": True, "b": {}}}, {}, {}),
        ({"properties": ["a"], "items": {"default": 1}}, {"a": {}}, {"a": {}}),
        # A default that is an object has its own defaults added, as one that is given has.
        (
            {"properties": {"a": {"default": {}, "properties": {"b": {"default": 1}}}}},
            {"c": {}},
            {"c": {}, "a": {"b": 1}},
        ),
        ({"properties": {"a": {"items": {"properties": {"b": {"default": 1}}}}}}, {"a": [0, {}]}, {"a": [0, {"b": 1}]}),
        ({"$ref": "#/$defs/m~0n", "$defs": {"m~n": {"properties": {"a": {"default": 1}}}}}, {}, {"a": 1}),
        ({"$ref": "#/$defs/none/deeper", "$defs": {}}, {"a": 1}, {"a": 1}),
        ({"$ref": "other#/$defs/a", "$defs": {"a": {"properties": {"a": {"default": 1}}}}}, {}, {}),
        ({"$ref": 3, "allOf": {"properties": {"a": {"default": 1}}}}, {}, {}),
        ({"allOf": 3, "anyOf": True, "oneOf": None, "properties": {"a": {"default": 1}}}, {}, {"a": 1}),
        *(
            ({union: [{"properties": {name: {"default": 1}}} for name in "ab"]}, {}, {"a": 1, "b": 1})
            for union in ("allOf", "anyOf", "oneOf")
        ),
        (
            {"$ref": "#/a", "properties": {"b": {"default": 2}}, "a": {"properties": {"a": {"default": 1}}}},
            {},
            {"a": 1, "b": 2},
        ),
    ],
)  # fmt: skip
def test_a_call_has_the_defaults_of_its_schema(schema: Any, arguments: Any, value: Any) -> None:
    before = repr(arguments)

    assert server_value(arguments, schema) == CallValue(value)
    assert repr(arguments) == before


def test_a_schema_of_values_in_values_is_followed_as_far_as_the_call_goes() -> None:
    schema = {"properties": {"next": {"$ref": "#"}, "n": {"default": 1}}}

    assert server_value({"next": {"next": {}}}, schema) == CallValue({"next": {"next": {"n": 1}, "n": 1}, "n": 1})


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"anyOf": [{}] * MAX_SCHEMA_PARTS}])
def test_a_schema_without_end_leaves_a_call_that_cannot_be_looked_at_whole(schema: Any) -> None:
    assert server_value({"a": 1}, schema) == CallValue({"a": 1}, is_exact=False)
