"""Structured output: what a schema may be, and that nothing but the schema is read to look at an answer."""

import json
import socket
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from engine.errors import Unusable
from engine.models.bounds import MAX_CHECK_S
from engine.runtimes.model.output import SchemaMismatch, check_schema, parse_output, parse_output_in_thread


@pytest.fixture
def address() -> Any:
    """An address that must not be requested."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_schema_that_refers_to_an_address_is_refused_and_the_address_never_asked(address: str) -> None:
    schema: Any = {"properties": {"a": {"$ref": address}}}

    with pytest.raises(Unusable, match=r"^\$ref 'http://127.* is not defined in the schema; external references"):
        check_schema(schema)
    with pytest.raises(SchemaMismatch, match=r"^its schema has an unresolvable"):
        parse_output('{"a": 1}', schema)


@pytest.mark.parametrize("outside", ["file:///etc/passwd", "#/$defs/nothing", "#nobody", "other", "http://[", ""])
def test_what_a_schema_refers_to_has_to_be_in_it(outside: str) -> None:
    schema: Any = {"type": "array", "items": {"$ref": outside}}
    if outside:
        with pytest.raises(Unusable, match="is not defined in the schema"):
            check_schema(schema)
    with pytest.raises(SchemaMismatch):
        parse_output("[[[]], 1]", schema)


def test_what_refers_to_its_own_parts_is_fine() -> None:
    tree: Any = {"$id": "https://example.org/tree", "$ref": "#/$defs/node", "$defs": {
        "node": {"$anchor": "node", "type": "object", "properties": {
            "$ref": {"const": {"$ref": "a value"}}, "below": {"type": "array", "items": {"$ref": "#node"}},
        }, "additionalProperties": False},
    }}  # fmt: skip
    check_schema(tree)

    assert parse_output('{"below": [{"below": []}]}', tree) == {"below": [{"below": []}]}
    with pytest.raises(SchemaMismatch, match=r"below\.0: "):
        parse_output('{"below": [{"above": []}]}', tree)


def test_a_schema_without_end_is_one_line() -> None:
    with pytest.raises(SchemaMismatch, match="endlessly recursive reference"):
        parse_output("1", {"$ref": "#"})


def test_what_is_no_json_is_said_once() -> None:
    with pytest.raises(SchemaMismatch, match=r"^it is not JSON \("):
        parse_output("fine", {})


SLOW = "(.*a){20}b"
LONG = "a" * 3_000


def test_an_expression_that_takes_too_long_ends_in_one_line() -> None:
    for schema in ({"pattern": SLOW}, {"$schema": "http://json-schema.org/draft-04/schema#", "pattern": SLOW}):
        check_schema(dict(schema))
        with pytest.raises(SchemaMismatch, match=r"it takes longer than 0\.1 s"):
            parse_output(f'"{LONG}"', schema)
        with pytest.raises(SchemaMismatch, match=r"^'c' does not match '\(\.\*a\)\{20\}b'$"):
            parse_output('"c"', schema)
    assert parse_output('"tide 7"', {"pattern": "^tide [0-9]$"}) == "tide 7"


def test_names_of_properties_are_no_keywords_and_expressions_over_names_are_refused() -> None:
    check_schema({"properties": {"patternProperties": {"type": "string"}, "pattern": {"type": "string"}}})

    with pytest.raises(Unusable, match="patternProperties cannot be used"):
        check_schema({"items": {"patternProperties": {SLOW: {}}}})
    with pytest.raises(Unusable, match="repeats a part more than"):
        check_schema({"pattern": "((a{1000}){1000}){1000}"})


def test_a_schema_that_would_take_years_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CHECK_S == 2
    monkeypatch.setattr("engine.runtimes.model.output.MAX_CHECK_S", 0.2)
    parts: dict[str, Any] = {"x0": {"type": "integer"}}
    for level in range(1, 60):
        parts[f"x{level}"] = {"allOf": [{"$ref": f"#/$defs/x{level - 1}"}] * 2}
    schema: Any = {"$ref": "#/$defs/x59", "$defs": parts}
    check_schema(schema)

    with pytest.raises(SchemaMismatch, match=r"checking it against its schema takes longer than 0\.2 s"):
        parse_output("1", schema)


def test_of_many_items_each_is_looked_at_once() -> None:
    many = [{"a": number, "b": "x"} for number in range(20_000)]

    assert parse_output(json.dumps(many), {"uniqueItems": True}) == many
    with pytest.raises(SchemaMismatch, match="has non-unique elements"):
        parse_output('[{"a": 1, "b": 2}, {"b": 2, "a": 1}]', {"uniqueItems": True})
    with pytest.raises(SchemaMismatch, match="has non-unique elements"):
        parse_output('[{"a": 1}, {"a": 1.0}]', {"uniqueItems": True})
    assert parse_output('[1, true, "1"]', {"uniqueItems": True}) == [1, True, "1"]


def test_a_schema_and_json_beyond_their_bounds_are_refused_in_one_line() -> None:
    with pytest.raises(Unusable, match=r"^is a JSON Schema of more than 200,000 characters$"):
        check_schema({"description": "x" * 200_000})
    with pytest.raises(SchemaMismatch, match=r"^it has more than 200,000 values$"):
        parse_output(json.dumps([0] * 300_000), {})
    with pytest.raises(SchemaMismatch, match=r"^it has more than 4,000,000 characters$"):
        parse_output(json.dumps("x" * 4_000_000), {})


BRANCHES: Any = {f"a{level}": {"anyOf": [{"$ref": f"#/$defs/a{level - 1}"}] * 8} for level in range(1, 9)}
BOMB: Any = {"$defs": {"a0": {"type": "integer"}, **BRANCHES}, "$ref": "#/$defs/a8"}


@pytest.mark.anyio
@pytest.mark.parametrize("text", ['"x"', json.dumps([1] * 10_000)], ids=["schema", "answer"])
async def test_the_loop_turns_while_an_answer_takes_long_to_check(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.runtimes.model.output.MAX_CHECK_S", 0.3)
    schema = BOMB if text == '"x"' else {"items": {"$ref": "#/$defs/a", "$defs": {}}, "$defs": {"a": {"minimum": 0}}}
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(turn)
        with suppress(SchemaMismatch):
            await parse_output_in_thread(text, schema)
        group.cancel_scope.cancel()

    assert turns > 10
