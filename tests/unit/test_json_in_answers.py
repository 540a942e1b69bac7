"""The JSON of an answer, and the keywords of its schema."""

import json
from typing import Any

import pytest

from engine.errors import Unusable
from engine.models.bounds import MAX_JSON_CHARACTERS, MAX_JSON_VALUES, excess_of_json
from engine.runtimes.json_schema import NAMED
from engine.runtimes.model.output import SchemaMismatch, check_schema, parse_output

READ: dict[str, Any] = {
    " \n[1] ": [1],
    "```\n[1]\n```": [1],
    "Here:\n  ```json\n[\n1]\n  ```  \nDone.": [1],
    'Here:\r\n```json\r\n{"a":\r\n1}\r\n```\r\n': {"a": 1},
    '```\n["a\u2028b", "c\x85d"]\n```': ["a\u2028b", "c\x85d"],
    '"a ``` b"': "a ``` b",
    '["\\n```\\n"]': ["\n```\n"],
    '{"a": "```"}': {"a": "```"},
}
UNREAD = [
    '"Here":\n```\n[1]\n```',
    " [\n```\n[1]\n```",
    "Here: [1]",
    "```\n[1]",
    "```\n[1]\n```\n```",
    "```[1]```",
    "",
    "```\n```",
]


@pytest.mark.parametrize("text", READ)
def test_the_whole_answer_or_the_one_fenced_block_is_read(text: str) -> None:
    assert parse_output(text, {}) == READ[text]


@pytest.mark.parametrize("text", UNREAD)
def test_of_other_answers_nothing_is_read(text: str) -> None:
    with pytest.raises(SchemaMismatch, match=r"^it is not JSON"):
        parse_output(text, {})


def test_json_may_have_as_much_as_its_bounds() -> None:
    for sign in ",[{":
        assert excess_of_json(sign * MAX_JSON_VALUES + " ") is None
        assert excess_of_json(sign * (MAX_JSON_VALUES + 1)) == "values"
    assert excess_of_json(",[{" * (MAX_JSON_VALUES // 3 + 1)) == "values"
    assert excess_of_json(" " * MAX_JSON_CHARACTERS) is None
    assert excess_of_json("," * (MAX_JSON_CHARACTERS + 1)) == "characters"
    with pytest.raises(SchemaMismatch, match=r"characters$"):
        parse_output("```\n" + json.dumps("x" * MAX_JSON_CHARACTERS) + "\n```", {})


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_references_are_looked_for_where_schemas_stand_and_nowhere_else(keyword: str) -> None:
    reference: Any = {keyword: "#/nowhere"}
    for name in sorted(NAMED - {"patternProperties", "dependentRequired"}):
        with pytest.raises(Unusable, match="is not defined in the schema"):
            check_schema({name: {"const": reference}})
    schemas: list[Any] = [{"items": reference}, {"anyOf": [{"not": reference}]}]
    for schema in schemas:
        with pytest.raises(Unusable, match="is not defined in the schema"):
            check_schema(schema)
    for name in ("const", "default"):
        check_schema({name: reference})
    for name in ("enum", "examples"):
        check_schema({name: [reference]})
