"""Built-in joins: the results of several agents become one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from engine.host.built_in.joins import Result, join


def results(*outputs: JsonValue) -> list[Result]:
    return [Result(f"a{place}", "", output) for place, output in enumerate(outputs, 1)]


def test_texts_stand_under_the_names_of_their_agents() -> None:
    assert join("concat", results("one", "two")) == "## a1\n\none\n\n## a2\n\ntwo"


def test_one_result_alone_is_itself() -> None:
    assert join("concat", results({"a": 1})) == {"a": 1}


def test_where_one_is_no_text_the_join_is_a_list() -> None:
    assert join("concat", results("one", [2])) == [{"agent": "a1", "output": "one"}, {"agent": "a2", "output": [2]}]


def test_nothing_joins_to_nothing() -> None:
    assert join("concat", []) is None


def test_a_vote_goes_by_meaning_and_says_the_counts() -> None:
    assert join("vote", results("Lyon", "Paris.", " paris", "PARIS!")) == {
        "answer": "Paris.",
        "votes": 3,
        "of": 4,
        "counts": [{"answer": "Paris.", "votes": 3}, {"answer": "Lyon", "votes": 1}],
    }


@given(st.lists(st.sampled_from(["a", "b", "c", {"x": 1}, 2]), min_size=1))
def test_every_vote_is_counted_once_and_nobody_has_more_than_the_winner(outputs: list[JsonValue]) -> None:
    verdict = join("vote", results(*outputs))

    assert isinstance(verdict, dict)
    counts = verdict["counts"]
    assert isinstance(counts, list)
    votes = [count["votes"] for count in counts if isinstance(count, dict)]
    assert sum(votes) == len(outputs)  # type: ignore[arg-type]
    assert verdict["votes"] == max(votes)  # type: ignore[type-var]


def test_a_tie_goes_to_the_earlier_answer() -> None:
    verdict = join("vote", results("b", "a", "a", "b"))

    assert isinstance(verdict, dict)
    assert verdict["answer"] == "b"


def test_the_best_has_the_highest_score_also_in_json_that_came_as_text() -> None:
    best = '{"score": 9.5, "text": "me"}'

    assert join("best", results({"score": 9}, best, "no score", {"score": True})) == best


@pytest.mark.parametrize("outputs", [("first", "second"), ({"score": float("nan")}, {"score": "10"})])
def test_without_scores_the_best_is_the_first_declared(outputs: tuple[JsonValue, ...]) -> None:
    assert join("best", results(*outputs)) is outputs[0]


def test_the_first_is_who_was_there_first() -> None:
    late, early = Result("a1", "", "late", ended_ms=9), Result("a2", "", "early", ended_ms=3)

    assert join("first", [late, early]) == "early"
    assert join("first", [Result("a1", "", "unknown"), early]) == "early"
