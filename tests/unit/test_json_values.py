"""JSON values at the edge to the user's code."""

import enum
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import NotJson, TooManyValues
from engine.runtimes import values
from engine.runtimes.values import MAX_VALUES, clean, json_value, one_line

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_what_is_json_stays_as_it_is(value: Any) -> None:
    assert json_value(value) == value


@given(st.recursive(PLAIN | st.text(st.characters()), lambda inner: st.tuples(inner, inner), max_leaves=10))
def test_whatever_comes_out_can_be_written_and_read_again(value: Any) -> None:
    out = json_value(value)

    assert json.loads(json.dumps(out, ensure_ascii=False).encode()) == out


class Colour(enum.StrEnum):
    RED = "red"


def test_subclasses_become_what_they_are_made_of() -> None:
    out = json_value({"colour": Colour.RED, "flag": enum.IntFlag("F", "A B").A})  # type: ignore[attr-defined]

    assert out == {"colour": "red", "flag": 1}
    assert isinstance(out, dict)
    assert type(out["colour"]) is str
    assert type(out["flag"]) is int


def test_a_value_is_copied_so_that_later_changes_do_not_reach_the_journal() -> None:
    given_list = [1]
    out = json_value(given_list)
    given_list.append(2)

    assert out == [1]


def test_what_holds_itself_is_too_deep() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(NotJson, match="deeper than"):
        json_value(endless)


def test_too_much_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_CHARACTERS", 10)

    with pytest.raises(NotJson, match="longer than"):
        json_value(["12345", "123456"])


def test_two_halves_of_a_character_become_whole_and_one_is_replaced() -> None:
    assert clean("\ud83d\ude00 \ud83d") == "😀 \ufffd"


@given(st.text(st.characters()))
def test_an_error_is_one_printable_line(text: str) -> None:
    line = one_line(ValueError(text))

    assert line
    assert len(line) <= values.ERROR_CHARACTERS
    assert line.isprintable()


def test_an_error_whose_text_raises_is_still_said() -> None:
    class Nasty(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text for you")

    assert "RuntimeError" in one_line(Nasty())


@pytest.mark.parametrize("wrap", [list, tuple, lambda items: {"a": [{str(number): number} for number in items]}])
def test_a_value_holds_so_many_values_and_no_more(wrap: Any) -> None:
    assert json_value(wrap(range(1_000))) == json.loads(json.dumps(wrap(range(1_000))))
    with pytest.raises(TooManyValues, match="more than 200,000 values; write it to a file"):
        json_value(wrap(range(MAX_VALUES + 1)))
    assert json_value(wrap(range(MAX_VALUES + 1)), most_values=3 * MAX_VALUES)


@given(PLAIN, st.lists(st.integers(0, 3) | st.sampled_from(["a", "b"]), max_size=6))
def test_a_fault_is_told_with_its_place(value: Any, path: list[int | str]) -> None:
    wrong: Any = {1}
    for part in reversed(path):
        wrong = {"before": value, part: wrong} if isinstance(part, str) else [*[value] * part, wrong]
    place = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in path).removeprefix(".")

    with pytest.raises(NotJson) as raised:
        json_value(wrong)
    assert str(raised.value) == f"{place or 'the value'} is of type set, which JSON cannot hold"


def nested(levels: int, wrap: Any) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}])
def test_the_bounds_of_a_value_are_exact(wrap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json_value(nested(values.MAX_DEPTH, wrap))
    assert json_value(wrap(wrap(1)), most_values=2) == wrap(wrap(1))
    with pytest.raises(NotJson, match="deeper than 100 levels"):
        json_value(nested(values.MAX_DEPTH + 1, wrap))
    with pytest.raises(TooManyValues, match="more than 1 values"):
        json_value(wrap(wrap(1)), most_values=1)
    monkeypatch.setattr(values, "MAX_CHARACTERS", 10)
    assert json_value({"12345": "1234é"})
    with pytest.raises(NotJson, match=r"^1234 is where the texts are longer than"):
        json_value({"1234567": 1, "1234": 1})


def test_a_place_that_is_far_inside_is_cut() -> None:
    with pytest.raises(NotJson) as raised:
        json_value({"x" * 500: {"y" * 500: [{1}]}})

    assert str(raised.value) == f"{'x' * 79} is of type set, which JSON cannot hold"
