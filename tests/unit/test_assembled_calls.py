"""Calls, texts and ends of answers, assembled from chunks however a server cuts and repeats them."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.assembly import Assembly
from engine.models.bounds import MAX_JSON_CHARACTERS, MAX_JSON_VALUES
from engine.models.records import Call, ModelAnswer


def chunk(finish: str | None = None, usage: Any = None, **delta: Any) -> Any:
    """Return a chunk in the form of litellm."""
    parts = SimpleNamespace(**{"content": None, "tool_calls": None, **delta})
    return SimpleNamespace(model="m", usage=usage, choices=[SimpleNamespace(finish_reason=finish, delta=parts)])


def part(index: int | None, id: str | None, name: str | None, arguments: Any) -> Any:
    """Return a part of a call."""
    return SimpleNamespace(index=index, id=id, function=SimpleNamespace(name=name, arguments=arguments))


def assembled(*chunks: Any) -> tuple[ModelAnswer, list[tuple[bool, str]]]:
    """Return the answer that comes in these chunks, and what is shown of it."""
    assembly = Assembly()
    shown = [piece for one in chunks for piece in assembly.add_chunk(one)]
    return assembly.answer("openai"), shown


CALLS = st.lists(
    st.builds(lambda name, text: (name, {"city": text, "in": {"b": "}"}}), st.sampled_from("fg"), st.text("a{} ")),
    min_size=1,
    max_size=4,
)
REPEATS = ["nothing", "name", "id", "both"]


@given(CALLS, st.sampled_from(REPEATS), st.sampled_from(["own", "one", "none"]), st.booleans(), st.integers(1, 30))
def test_calls_are_told_apart_however_they_are_sent(
    calls: list[tuple[str, Any]], repeats: str, indices: str, has_ids: bool, size: int
) -> None:
    parts = []
    for place, (name, value) in enumerate(calls):
        index, id = {"own": place, "one": 0, "none": None}[indices], f"id{place}" if has_ids else None
        text = json.dumps(value)
        cuts = [text[at : at + size] for at in range(0, len(text), size)]
        for number, cut in enumerate(cuts if indices == "own" or has_ids else [text]):
            shown_id = id if number == 0 or repeats in ("id", "both") else ""
            shown_name = name if number == 0 or repeats in ("name", "both") else None
            parts.append(chunk(tool_calls=[part(index, shown_id, shown_name, cut)]))

    answer, shown = assembled(*parts)

    ids = [f"id{place}" if has_ids else f"call_{place}" for place in range(len(calls))]
    expected = tuple(Call(id, name, value) for id, (name, value) in zip(ids, calls, strict=True))
    assert (answer, shown) == (ModelAnswer(calls=expected, finish="calls", model="m", provider="openai"), [])


UNDER_ONE_INDEX: list[tuple[list[tuple[str, str, str]], list[Call]]] = [
    ([("a", "f", '{"x": '), ("b", "", "1}")], [Call("b", "f", {"x": 1})]),
    ([("a", "", ""), ("b", "f", "{}")], [Call("b", "f", {})]),
    ([("a", "f", "{}"), ("b", "f", "{}")], [Call("a", "f", {}), Call("b", "f", {})]),
    ([("a", "f", "{}"), ("", "g", " {}")], [Call("a", "f", {}), Call("call_1", "g", {})]),
    ([("", "f", "{}"), ("", "f", "")], [Call("call_0", "f", {})]),
    (
        [("", "f", '{"x": '), ("", "f", "1} "), ("", "f", "{}")],
        [Call("call_0", "f", {"x": 1}), Call("call_1", "f", {})],
    ),
    ([("", "f", '{"x": "}'), ("", "f", '{"}')], [Call("call_0", "f", {"x": "}{"})]),
]


@pytest.mark.parametrize(("parts", "calls"), UNDER_ONE_INDEX, ids=range(len(UNDER_ONE_INDEX)))
def test_parts_under_one_index_are_of_one_call_unless_they_begin_another(
    parts: list[tuple[str, str, str]], calls: list[Call]
) -> None:
    answer, _ = assembled(*(chunk(tool_calls=[part(0, *one)]) for one in parts))

    assert answer.calls == tuple(calls)


ARGUMENTS: list[tuple[Any, Call]] = [
    ({"a": [1]}, Call("c", "f", {"a": [1]})),
    (None, Call("c", "f", {})),
    (" \n", Call("c", "f", {})),
    ("[1]", Call("c", "f", None, "[1]")),
    ('{"a": NaN}', Call("c", "f", None, '{"a": NaN}')),
    ("{", Call("c", "f", None, "{")),
    ('{"a": "\ud800"}', Call("c", "f", {"a": "�"})),
    (json.dumps({"a": [0] * (MAX_JSON_VALUES + 1)}), Call("c", "f", None, "(more than 200,000 values)")),
    (json.dumps({"a": "x" * MAX_JSON_CHARACTERS}), Call("c", "f", None, "(more than 4,000,000 characters)")),
]


@pytest.mark.parametrize(("arguments", "call"), ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_the_arguments_of_a_call_are_an_object_or_are_told_as_they_are(arguments: Any, call: Call) -> None:
    answer, _ = assembled(chunk(tool_calls=[part(0, "c", "f", arguments)]), chunk("stop"))

    assert answer == ModelAnswer(calls=(call,), finish="calls", model="m", provider="openai")


def test_a_part_without_a_function_belongs_to_the_call_of_its_index() -> None:
    empty = SimpleNamespace(index=1, id="late", function=None)
    parts = [
        part(1, None, None, "{"),
        part(None, "a", "f", "{"),
        part(0, "a", "f", "}"),
        part(1, None, "g", "}"),
        empty,
    ]

    answer, _ = assembled(*(chunk(tool_calls=[one]) for one in parts))

    assert answer.calls == (Call("late", "g", {}), Call("a", "f", {}))


FINISHES = {
    ("length", "a"): "length", ("content_filter", "a"): "refusal", ("stop", "a"): "stop", (None, "a"): "stop",
    ("stop", " \n"): "empty", ("length", ""): "length", ("stop", "<think>a</think>"): "empty",
    ("stop", "a\n</think>\n"): "empty",
}  # fmt: skip


@pytest.mark.parametrize(("finish", "text"), FINISHES)
def test_an_answer_ends_as_its_server_says_and_as_its_text_is(finish: str | None, text: str) -> None:
    assert assembled(chunk(content=text), chunk(finish), chunk())[0].finish == FINISHES[finish, text]


ANSWERS: list[tuple[list[dict[str, Any]], tuple[str, Any, str], list[tuple[bool, str]]]] = [
    ([{"refusal": "no"}], ("no", None, "refusal"), [(False, "no")]),
    ([{"refusal": "no"}, {}], ("no", None, "refusal"), [(False, "no")]),
    ([{"content": "a"}, {"refusal": "no"}], ("ano", None, "refusal"), [(False, "a"), (False, "no")]),
    ([{"reasoning_content": "t", "content": "a"}], ("a", "t", "stop"), [(True, "t"), (False, "a")]),
    ([{"reasoning_content": ["t"], "content": "a"}], ("a", None, "stop"), [(False, "a")]),
    ([{"content": [{"thinking": "t"}, "a"]}], ("a", "t", "stop"), [(True, "t"), (False, "a")]),
    ([{"content": "<thin"}], ("<thin", None, "stop"), []),
    ([{"content": "<think>t<"}], ("", "t<", "empty"), []),
    ([{"content": "t\n</think>\n4"}], ("4", "t\n", "stop"), [(False, "t\n</think>\n4")]),
    ([{"reasoning_content": "t", "content": "u\n</think>\n4"}], ("u\n</think>\n4", "t", "stop"),
     [(True, "t"), (False, "u\n</think>\n4")]),
]  # fmt: skip


@pytest.mark.parametrize(("deltas", "whole", "pieces"), ANSWERS, ids=range(len(ANSWERS)))
def test_texts_and_thoughts_are_shown_as_they_come_and_divided_at_the_end(
    deltas: list[dict[str, Any]], whole: tuple[str, Any, str], pieces: list[tuple[bool, str]]
) -> None:
    answer, shown = assembled(*(chunk(**delta) for delta in deltas))

    assert (answer.text, answer.thinking, answer.finish) == whole
    assert shown == pieces


def test_what_has_arrived_is_counted_for_an_estimate() -> None:
    assembly = Assembly()
    parts = [part(0, "a", "f", "{}"), part(1, "b", "g", '{"a": 1}')]
    for one in (chunk(reasoning_content="abc"), chunk(content="de"), chunk(tool_calls=parts), chunk(usage=7)):
        list(assembly.add_chunk(one))

    assert (assembly.characters, assembly.text, assembly.usage) == (3 + 2 + 2 + 8, "de", 7)
