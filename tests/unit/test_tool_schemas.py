"""Functions as models are told of them: what is described, what is refused, and arguments held against it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from engine import Unusable, tool
from engine.runtimes.functions.tools import options_of
from engine.runtimes.toolbox.calling import BadArguments
from engine.runtimes.toolbox.docstrings import ParsedDocstring as Docstring
from engine.runtimes.toolbox.docstrings import parse_docstring
from engine.runtimes.toolbox.schemas import FunctionSchema


@dataclass
class Place:
    """Somewhere."""

    name: str
    height_m: float = 0.0


class Order(BaseModel):
    item: str
    due: date | None = None


class Opaque:
    """Nothing that a schema could hold."""


def search(
    query: str,
    limit: Annotated[int, Field(gt=0, le=50)] = 10,
    kind: Literal["web", "news"] = "web",
    near: Place | None = None,
    orders: list[Order] = [],  # noqa: B006
) -> str:
    """Search for pages.

    Finds the newest first.

    Args:
        query: What to look for,
            in plain words.
        limit (int): How many at most.

    Returns:
        Nothing of use to a model.
    """
    return f"{query} {limit} {kind} {near} {orders}"


def properties(function: Callable[..., Any]) -> Any:
    return FunctionSchema("it", function).schema.parameters["properties"]


def test_a_signature_becomes_the_schema_of_an_object() -> None:
    schema = FunctionSchema("search", search).schema

    assert schema.description == "Search for pages.\n\nFinds the newest first."
    assert schema.parameters["type"] == "object"
    assert schema.parameters["required"] == ["query"]
    assert schema.parameters["additionalProperties"] is False


def test_types_defaults_bounds_and_descriptions_stand_in_the_schema() -> None:
    said = properties(search)

    assert said["query"] == {"type": "string", "description": "What to look for, in plain words."}
    assert said["limit"] == {
        "type": "integer", "default": 10, "exclusiveMinimum": 0, "maximum": 50, "description": "How many at most.",
    }  # fmt: skip
    assert said["kind"]["enum"] == ["web", "news"]


def test_arguments_become_values_of_the_types_of_the_function() -> None:
    arguments: Any = {"query": "tides", "near": {"name": "Lisbon"}, "orders": [{"item": "map", "due": "2026-01-02"}]}

    positional, named = FunctionSchema("search", search).bind(arguments)

    assert positional == []
    assert named == {
        "query": "tides",
        "near": Place("Lisbon", 0.0),
        "orders": [Order(item="map", due=date(2026, 1, 2))],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "wrong arguments of search: query: Field required"),
        ({"query": 5}, "query: Input should be a valid string"),
        ({"query": "x", "limit": "5"}, "limit: Input should be a valid integer"),
        ({"query": "x", "limit": 0}, "limit: Input should be greater than 0"),
        ({"query": "x", "limt": 3}, "limt: is not an argument of it; it takes query, limit, kind, near, orders"),
        ({"query": "x", "kind": "books"}, "kind: Input should be 'web' or 'news'"),
        ({"query": "x", "near": {"height_m": 1}}, "near.name: Field required"),
    ],
)
def test_a_wrong_argument_is_named_with_what_it_should_be(arguments: Any, said: str) -> None:
    with pytest.raises(BadArguments) as bad:
        FunctionSchema("search", search).bind(arguments)

    assert said in str(bad.value)
    assert "\n" not in str(bad.value)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda one: st.lists(one))


@cache
def described_search() -> FunctionSchema:
    return FunctionSchema("search", search)


@given(st.dictionaries(st.sampled_from(["query", "limit", "kind", "near", "orders", "x"]), JSON))
def test_whatever_a_model_writes_it_fits_or_is_refused(arguments: dict[str, Any]) -> None:
    try:
        positional, named = described_search().bind(arguments)
    except BadArguments:
        return

    assert isinstance(search(*positional, **named), str)


def untyped(x):  # type: ignore[no-untyped-def]
    return x


def collects(*words: str) -> None:
    """Take what there is."""


def opaque(thing: list[Opaque]) -> None:
    """Take what no schema says."""


def calls(back: Callable[[int], int]) -> None:
    """Take a function."""


def lost(thing: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Take what nobody knows."""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (untyped, "tool 'it': its parameter 'x' has no type; write x: str, say"),
        (collects, "tool 'it': its parameter *words takes any arguments, which cannot be described"),
        (opaque, "tool 'it': its parameter 'thing' of type list[tests.unit.test_tool_schemas.Opaque] cannot be"),
        (calls, "tool 'it': its parameter 'back' of type Callable[[int], int] cannot be described to a model"),
        (
            lost,
            "tool 'it': the type of its parameter 'thing' cannot be read (NameError: name 'Nowhere'",
        ),
        (dict, "tool 'it': it does not say what it takes; write a function that calls it"),
    ],
)
def test_what_cannot_be_described_is_refused_with_its_parameter(function: Any, said: str) -> None:
    with pytest.raises(Unusable) as refused:
        FunctionSchema("it", function)

    assert said in refused.value.reason
    assert "\n" not in refused.value.reason


@pytest.mark.parametrize("name", ["", "two words", "a" * 65, "straße"])
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    with pytest.raises(Unusable, match="give it another with @tool"):
        FunctionSchema(name, search)


def test_names_of_parameters_may_be_those_of_pydantic() -> None:
    def odd(json: str, model_config: int, copy: bool, _private: str = "p", /, schema: str = "s") -> None: ...

    described = FunctionSchema("odd", odd)

    assert list(properties(odd)) == ["json", "model_config", "copy", "_private", "schema"]
    assert described.bind({"json": "a", "model_config": 1, "copy": True}) == (["a", 1, True, "p"], {})


def test_a_default_in_a_field_reaches_the_function_as_its_value() -> None:
    def look(pages: int = Field(default=3, ge=1, description="How many.")) -> int:
        return pages

    described = FunctionSchema("look", look)

    assert described.schema.parameters["properties"] == {
        "pages": {"type": "integer", "default": 3, "minimum": 1, "description": "How many."}
    }
    assert described.bind({}) == ([], {"pages": 3})


def test_the_id_of_the_step_is_not_shown_to_a_model() -> None:
    @tool(idempotent=True)
    def pay(amount: int, idempotency_key: str = "") -> None: ...

    assert list(properties(pay)) == ["amount"]


def test_methods_partials_and_objects_that_are_called_are_described() -> None:
    class Shop:
        def buy(self, item: str) -> str:
            """Buy something."""
            return item

        def __call__(self, item: str) -> str:
            """Look for something."""
            return item

    assert FunctionSchema("buy", Shop().buy).schema.description == "Buy something."
    assert FunctionSchema("look", Shop()).schema.description == "Look for something."
    assert list(properties(partial(search, kind="news"))) == ["query", "limit", "kind", "near", "orders"]


@pytest.mark.parametrize(
    "docstring",
    [
        "Do it.\n\nArgs:\n    x (int, optional): The first\n        of two.\n    y: The second.\n"
        "\nRaises:\n    E: never.",
        "Do it.\n\nParameters\n----------\nx : int, optional\n    The first\n    of two.\ny\n    The second.\n\n"
        "Returns\n-------\nint\n    Nothing.",
        "Do it.\n\n:param int x: The first\n    of two.\n:param y: The second.\n:returns: nothing",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_docstrings_of_three_styles_say_the_same(docstring: str) -> None:
    found = parse_docstring(docstring)

    assert found.text == "Do it."
    assert found.parameters == {"x": "The first of two.", "y": "The second."}


_LINE = st.lists(
    st.sampled_from(("look", "in", "(a)", "list,", "e.g.", "here:", "`x`", "[y]", "https://example.org", "-")),
    min_size=1,
)
_TEXT = st.lists(_LINE.map(" ".join), min_size=1, max_size=3)


@given(
    _TEXT,
    st.dictionaries(st.sampled_from(("x", "y", "a_long_name")), _TEXT),
    st.sampled_from(("", " (int)", " (list[str], optional)")),
    st.sampled_from(("Args", "Arguments", "Keyword Args", "args")),
    st.lists(st.tuples(st.sampled_from(("Note", "Returns", "Raises", "Example", "Todo")), _TEXT), max_size=3),
    st.booleans(),
)
def test_arguments_in_the_style_of_google_are_read_whatever_other_sections_say(
    text: list[str],
    arguments: dict[str, list[str]],
    kind: str,
    title: str,
    others: list[tuple[str, list[str]]],
    come_first: bool,
) -> None:
    entries = [f"    {name}{kind}: " + "\n        ".join(lines) for name, lines in arguments.items()]
    sections = ["\n    ".join([f"{other}:", *lines]) for other, lines in dict(others).items()]
    own = ["\n".join([f"{title}:", *entries])] if entries else []
    ordered = [*sections, *own] if come_first else [*own, *sections]

    found = parse_docstring("\n\n".join(["\n".join(text), *ordered]))

    assert found.text == "\n".join(text)
    assert found.parameters == {name: " ".join(lines) for name, lines in arguments.items()}


def test_names_that_share_a_description_have_it_each() -> None:
    found = parse_docstring("Do it.\n\nParameters\n----------\nx, y : int\n    One of two.\n*z\n    More.")

    assert found.parameters == {"x": "One of two.", "y": "One of two.", "z": "More."}


def test_a_docstring_that_breaks_the_rules_of_its_style_is_a_description_as_a_whole() -> None:
    docstring = "Do it.\n\nArgs:\n    x: The first\n    of two."

    assert parse_docstring(docstring) == Docstring(docstring, {})


_MARKS = (
    "Args:", "    x: y", "    z", "Parameters", "----------", "x : int", ":param x: y", ":param a b c d:", ":", "::",
    ":return a b:", "Returns", "Returns:", ".. deprecated::", "",
)  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(_MARKS)).map("\n".join))
def test_any_docstring_can_be_read(docstring: str) -> None:
    assert isinstance(parse_docstring(docstring).text, str)


def test_a_tool_says_what_its_author_declared() -> None:
    @tool(name="fetch", approve="always", timeout_s=3, at_once=2)
    def get(url: str) -> str:
        return url

    options = options_of(get)

    assert (options.name, options.approve, options.timeout_s, options.at_once) == ("fetch", "always", 3.0, 2)
    assert options.idempotent is False
    assert options_of(partial(get, url="x")) == options
    assert get("x") == "x"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"timeout_s": 0}, "timeout_s must be a number of seconds above 0, not 0"),
        ({"timeout_s": float("nan")}, "timeout_s must be a number of seconds above 0, not nan"),
        ({"at_once": 0}, "at_once must be a whole number, 1 or more, not 0"),
        ({"at_once": True}, "at_once must be a whole number, 1 or more, not True"),
        ({"name": 5}, "name must be a text, not 5"),
    ],
)
def test_a_declaration_that_cannot_be_right_is_refused(wrong: Any, said: str) -> None:
    with pytest.raises(Unusable) as refused:
        tool(**wrong)

    assert said in refused.value.reason


def test_what_is_written_in_c_is_not_marked() -> None:
    with pytest.raises(Unusable, match="write a function that calls it"):
        tool(idempotent=True)(len)
