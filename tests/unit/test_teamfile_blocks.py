"""Blocks of a team file follow from records: a field is a key with the same type, bounds, default and description."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from engine.core.errors import BadValue
from engine.core.validation.bounds import Label
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Also, InvalidValue, Within
from engine.teamfile.blocks import Block, as_record, block_of, blocks_in, keys_of
from engine.teamfile.schema import json_schema


class Brush(ValidatedRecord, kw_only=True):
    """A part of a tool.

    More about it.
    """

    width: Annotated[int, Within(ge=1, le=9)]
    """In fingers."""
    price: Annotated[Decimal, Within(gt=0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width == 7:
            raise BadValue("brush", ("width",), "is never 7")


def _check_order(names: Sequence[str]) -> None:
    if list(names) != sorted(names):
        raise InvalidValue("sorted", names, (0,))


class Tool(ValidatedRecord, kw_only=True):
    """A tool."""

    name: Label
    """What it is
    called."""
    colours: Annotated[Sequence[Label], Within(max_length=2), Also(_check_order)] = ()
    brush: Brush | None = None
    spares: Mapping[Label, Brush] = {}
    secret: int = 0


TOOL: Any = TypeAdapter(as_record(Tool))


def test_a_block_is_read_as_its_record() -> None:
    tool = TOOL.validate_python({"name": "roller", "brush": {"width": 2, "price": 0.5}, "spares": {"x": {"width": 1}}})

    assert tool == Tool(name="roller", brush=Brush(width=2, price=Decimal("0.5")), spares={"x": Brush(width=1)})


def test_the_schema_has_bounds_defaults_and_docstrings_of_the_record() -> None:
    schema = block_of(Tool).model_json_schema()

    assert schema["properties"]["name"] == {
        "title": "Name", "type": "string", "minLength": 1, "maxLength": 200, "description": "What it is called."
    }  # fmt: skip
    assert schema["properties"]["secret"] == {"title": "Secret", "type": "integer", "default": 0}
    assert schema["required"] == ["name"]
    assert schema["$defs"]["BrushBlock"]["description"] == "A part of a tool."
    assert schema["$defs"]["BrushBlock"]["properties"]["width"]["maximum"] == 9


@pytest.mark.parametrize(
    ("value", "loc"),
    [
        ({"width": 0}, ("brush", "width")),
        ({"width": "2"}, ("brush", "width")),
        ({"width": 2, "colour": "red"}, ("brush", "colour")),
        ({}, ("brush", "width")),
        ({"width": 7}, ("brush",)),
    ],
)
def test_what_the_record_refuses_is_an_error_with_its_place(value: Any, loc: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        TOOL.validate_python({"name": "roller", "brush": value})

    (error,) = caught.value.errors()
    assert error["loc"] == loc
    assert loc != ("brush",) or error["ctx"]["error"].path == ("width",)


def test_a_check_of_a_field_holds_in_a_file_too() -> None:
    with pytest.raises(ValidationError) as caught:
        TOOL.validate_python({"name": "roller", "colours": ["b", "a"]})

    assert caught.value.errors()[0]["ctx"]["error"].path == (0,)


def test_a_block_has_the_fields_of_its_record_but_those_left_and_its_own_in_place_of_them() -> None:
    @keys_of(Tool, leave=("secret",), first=("own",))
    class Shown(Block):
        """What a file has."""

        own: int = 1
        brush: Label | None = None

    assert [*Shown.model_fields] == ["own", "name", "colours", "brush", "spares"]
    assert blocks_in(Shown.model_fields["brush"].annotation) == []
    assert blocks_in(Shown.model_fields["spares"].annotation) == [block_of(Brush)]


@pytest.mark.parametrize(
    ("agent", "fault"),
    [
        ({"type": "process", "options": {"argv": ["tr"], "once": True}}, ""),
        ({"type": "process", "options": {"argv": ["tr"], "fs": "read"}}, "'fs' was unexpected"),
        ({"type": "acp", "options": {"argv": ["coder"], "fs": "read"}}, ""),
        ({"type": "MultiAgent", "options": {"team": []}}, "[] should be non-empty"),
        ({"type": "scripted", "options": {"script": [{"delay_s": "long"}]}}, "'long' is not valid"),
        ({"type": "scripted", "script": [{"delay_s": 1}]}, ""),
        ({"type": "llm", "run": "crew:work", "options": {"depth": 2}}, ""),
        ({"run": "crew:work", "options": {"depth": 2}}, ""),
        ({"type": "crew:Runtime", "options": {"depth": 2}}, ""),
    ],
)
def test_the_schema_describes_the_options_of_each_type_of_agent(agent: dict[str, Any], fault: str) -> None:
    team = {"version": 1, "supervisor": {"name": "desk"}, "agents": [{"name": "ada", **agent}]}
    errors = [*Draft202012Validator(json_schema()).iter_errors(team)]

    assert len(errors) == bool(fault)
    assert all(fault in error.message for error in errors)
