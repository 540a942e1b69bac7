"""What built-in nodes find in outputs, and which guards are refused before anything runs."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from engine.core.errors import Refused
from engine.core.specs.check import Check
from engine.core.specs.guard import check_guard, check_pattern, describe_guard
from engine.core.strategies.sequential_with_validation import REJECTS
from engine.host.built_in.guards import (
    MAX_TEXT_CHARACTERS,
    CheckedOutput,
    holds_for,
    requires_approval,
    score_in,
    verdict_of,
)
from tests.depth import examples

pytestmark = pytest.mark.anyio

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def one(output: JsonValue, status: str = "done") -> list[CheckedOutput]:
    return [CheckedOutput("ada", status, output)]


@pytest.mark.parametrize(
    ("output", "score"),
    [
        ({"score": 0.5}, 0.5),
        ('{"score": 3}', 3.0),
        ('```json\n{"score": 0.25}\n```', 0.25),
        ("Good.\nScore: 0.8", 0.8),
        ("score 7/10, I would say", 0.7),
        ("score: 5/10", 0.5),
        ("**Score:** **5** / 10", 0.5),
        ("Score: `5`/`10`", 0.5),
        ("score: 5 out of 10", 0.5),
        ("score: 9", 9.0),
        ("score: 5/0", 5.0),
        ({"score": "5/10"}, None),
        ("scores of people", None),
        ({"score": True}, None),
        ({"score": "high"}, None),
        ([1], None),
        (None, None),
    ],
)
def test_scores_are_read_from_objects_and_from_texts(output: JsonValue, score: float | None) -> None:
    assert score_in(output) == score


def test_the_document_names_the_words_by_which_work_is_returned() -> None:
    text = (Path(__file__).parents[2] / "docs/semantics/strategies.md").read_text()
    (words,) = re.findall(r"one of the words of `rejects`\s+\(([^)]*)\)", text)

    assert re.findall("`([^`]+)`", words) == REJECTS


@pytest.mark.parametrize("word", REJECTS)
async def test_work_is_returned_by_each_of_the_words_and_by_no_other(word: str) -> None:
    check = Check(what="approved", args={"rejects": [*REJECTS]})

    assert (await verdict_of(check, one(f"**{word.upper()}**: too long")))["approved"] is False
    assert (await verdict_of(check, one(f"Not to be {word}")))["approved"] is True


async def test_every_critic_has_to_be_content() -> None:
    check = Check(what="score", args={"until": 0.9})
    looked = [CheckedOutput("ada", "done", {"score": 1}), CheckedOutput("bob", "done", {"score": 0.5})]

    assert await verdict_of(check, looked) == {"score": 0.5, "enough": False}
    assert await verdict_of(check, [*looked[:1], CheckedOutput("bob", "done", "no idea")]) == {
        "score": None,
        "enough": False,
    }


@pytest.mark.parametrize(
    ("output", "approved"),
    [
        ({"approved": False, "reasons": ["a", "b"]}, False),
        ('{"approved": false}', False),
        ("REJECTED: no numbers", False),
        ("**Rejected** because", False),
        ("rejectedly", True),
        ("It was not rejected", True),
        ({"approved": True}, True),
        ("fine", True),
    ],
)
async def test_what_sends_back_is_an_object_or_a_word_at_the_beginning(output: JsonValue, approved: bool) -> None:
    verdict = await verdict_of(Check(what="approved", args={"rejects": ["rejected"]}), one(output))

    assert verdict["approved"] is approved


@pytest.mark.parametrize(
    ("guard", "output", "holds"),
    [
        ({"contains": "Bug"}, "a BUG here", True),
        ({"contains": "bug"}, {"kind": "bug"}, True),
        ({"names": "bugs"}, "This goes to Bugs.", True),
        ({"names": "bugs"}, "debugs", False),
        ({"names": "worker1"}, "worker10", False),
        ({"names": "worker1"}, "_worker1", False),
        ({"names": "bugs"}, "bugs-urgent", False),
        ({"names": "urgent"}, "bugs-urgent", False),
        ({"names": "bugs-urgent"}, "to bugs-urgent, - bugs -", True),
        ({"names": "bugs"}, "to bugs-urgent, - bugs -", True),
        ({"names": "bugs"}, {"to": "bugs"}, True),
        ({"matches": r"^ok\b"}, "ok then", True),
        ({"matches": r"\d+"}, "no digits", False),
        ({"json": "a.0.b", "equals": 1}, {"a": [{"b": 1}]}, True),
        ({"json": "a.1", "equals": None}, {"a": [1]}, False),
        ({"json": "a", "equals": None}, '{"a": null}', True),
        ({"status": "done"}, "x", True),
        ({"status": "failed"}, "x", False),
    ],
)
async def test_guards_hold_as_they_say(guard: JsonValue, output: JsonValue, holds: bool) -> None:
    assert await holds_for(guard, one(output)) is holds


async def test_the_first_guard_that_holds_is_taken_and_else_where_none_does() -> None:
    guards: JsonValue = [{"contains": "x"}, {"contains": "y"}, "else"]

    assert (await verdict_of(Check(what="guards", args={"guards": guards}), one("y x")))["holds"] == [0]
    assert (await verdict_of(Check(what="guards", args={"guards": guards}), one("z")))["holds"] == [2]
    assert (await verdict_of(Check(what="guards", args={"guards": guards, "all": True}), one("x y")))["holds"] == [0, 1]


async def test_a_failure_that_no_guard_takes_is_told() -> None:
    check = Check(what="guards", args={"guards": [{"contains": "x"}]})

    assert (await verdict_of(check, [CheckedOutput("ada", "failed", None, "broken")]))["failed"] == "ada: broken"


@pytest.mark.parametrize(
    ("output", "items"),
    [
        (["a", "b"], 2),
        ({"items": [1]}, 1),
        ('["x"]', 1),
        ([], 0),
        ("a text", None),
        ({"a": 1}, None),
    ],
)
async def test_lists_are_found_as_values_and_in_texts(output: JsonValue, items: int | None) -> None:
    verdict = await verdict_of(Check(what="items", args={"most": 10}), one(output))

    assert verdict["items"] == items
    assert ("list" in verdict) == (items is not None and not isinstance(output, list))


@given(json_values)
async def test_nothing_that_an_agent_says_breaks_a_look(output: Any) -> None:
    checks = [
        Check(what="score", args={"until": 1}),
        Check(what="approved", args={"rejects": ["no"]}),
        Check(what="items", args={"most": 5}),
        Check(what="guards", args={"guards": [{"contains": "x"}, {"json": "a.b", "equals": 1}, {"matches": "a|b"}]}),
    ]
    for check in checks:
        assert isinstance(await verdict_of(check, one(output)), dict)


@pytest.mark.parametrize(
    "pattern",
    ["(", "x" * 501, "(a{90}){90}", "a{2000}", "((((a){99}){99}){99}){99}", "(?P<n>a)(?P<n>b)"],
)
def test_patterns_that_cannot_be_used_are_refused(pattern: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_pattern("branch 1", pattern)

    assert "\n" not in refusal.value.reason


@pytest.mark.parametrize(
    "pattern",
    [
        r"ticket \d+",
        "^(yes|no)$",
        r"\bTODO\b",
        "a{2,5}",
        r"https?://\S+",
        "(?i)done",
        "a?" * 25,
        r"(\w+\s?)+$",
        r"(a)\1",
    ],
)
def test_patterns_that_people_write_are_taken(pattern: str) -> None:
    check_pattern("branch 1", pattern)


@pytest.mark.parametrize(
    ("guard", "told"),
    [
        ("always", "a guard is 'else' or one of"),
        ({}, "a guard is 'else' or one of"),
        ({"contain": "x"}, "did you mean contains"),
        ({"contains": "x", "status": "done"}, "asks one thing"),
        ({"contains": 3}, "takes a text"),
        ({"status": "won"}, "status is one of"),
        ({"json": "a.b"}, "what it equals"),
        ({"run": "os.system"}, "no guard 'run'"),
    ],
)
def test_what_is_no_guard_is_refused_in_one_line(guard: JsonValue, told: str) -> None:
    with pytest.raises(Refused, match=told) as refusal:
        check_guard("branch 2", guard)

    assert refusal.value.reason.startswith("branch 2")


def test_guards_are_told_in_words() -> None:
    guards: list[JsonValue] = [{"contains": "yes"}, {"status": "failed"}, {"json": "a.b", "equals": True}, "else"]

    assert [describe_guard(guard) for guard in guards] == ["contains 'yes'", "status failed", "a.b == True", "else"]


padding = st.text(st.sampled_from('ab1_ \t\n\r"\\/{}[]:,.é\u2028'), max_size=30)


@st.composite
def hiding(draw: st.DrawFn, needle: str) -> Any:
    """Draw arguments in which a text stands somewhere, as a key or in a text, between whatever may stand around it."""
    value: Any = f"{draw(padding)} {needle}\n{draw(padding)}"
    for _ in range(draw(st.integers(0, 3))):
        beside, place = draw(json_values), draw(st.integers(0, 2))
        as_key: Any = {value: beside} if isinstance(value, str) else [value]
        value = ([beside, value], {draw(padding): value}, as_key)[place]
    return {"other": draw(json_values), "value": value, "padding": draw(padding) * draw(st.sampled_from([0, 1, 9_000]))}


@pytest.mark.parametrize("needle", ["rm -rf", 'say "no"', "C:\\secret", "a\nb", "prod", "\t", "é"])
@settings(max_examples=examples(8))
@given(st.data())
async def test_wherever_a_text_stands_in_arguments_a_guard_for_it_asks(needle: str, data: st.DataObject) -> None:
    arguments = data.draw(hiding(needle))

    assert await requires_approval({"contains": needle.upper()}, arguments)
    assert await requires_approval({"matches": re.escape(needle)}, arguments)
    if needle.strip() == needle:
        assert await requires_approval({"names": needle}, arguments)


@pytest.mark.parametrize(
    ("guard", "arguments", "asks"),
    [
        ({"matches": r"^\s*rm\b"}, {"note": "x", "cmd": " rm -rf /"}, True),
        ({"matches": r"^\s*rm\b"}, {"note": "x", "cmd": "ls; rm"}, False),
        ({"matches": r"rm\s+-rf"}, {"cmd": "rm\t-rf"}, True),
        ({"matches": r'"path": "/etc'}, {"text": "x", "path": "/etc/passwd"}, True),
        ({"matches": r"^/etc"}, [{"paths": ["/srv", "/etc/passwd"]}], True),
        ({"matches": r"^(true|5)$"}, {"force": True}, True),
        ({"matches": r"^(true|5)$"}, {"many": 5}, True),
        ({"matches": r"^(null|5)$"}, {"many": None}, False),
        ({"matches": r"^force$"}, {"force": False}, True),
        ({"contains": "prod"}, {"to": "\uff50rod"}, False),
        ({"json": "to.0", "equals": 1}, {"to": [True]}, False),
        ({"json": "to.0", "equals": 1}, {"to": [1.0]}, True),
    ],
)
async def test_a_guard_over_arguments_looks_at_the_whole_and_at_each_value(
    guard: JsonValue, arguments: JsonValue, asks: bool
) -> None:
    assert await requires_approval(guard, arguments) is asks


@pytest.mark.parametrize("guard", [{"contains": "zz"}, {"names": "zz"}, {"matches": "zz"}])
async def test_arguments_that_are_too_long_to_look_at_are_asked_about(guard: JsonValue) -> None:
    assert not await requires_approval(guard, {"text": "x" * (MAX_TEXT_CHARACTERS - 20)})
    assert await requires_approval(guard, {"text": "x" * MAX_TEXT_CHARACTERS})
    assert await requires_approval(guard, {"texts": ["x"] * MAX_TEXT_CHARACTERS})


async def test_where_a_pattern_takes_too_long_a_person_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.host.built_in.guards.MAX_PATTERN_S", 0.05)

    assert await requires_approval({"matches": r"(\w+\s?)+$"}, {"text": "a" * 5_000 + "!"})


@pytest.mark.parametrize(("pattern", "asks"), [("^x$", True), ("^y$", False)])
async def test_a_pattern_for_which_the_loop_has_no_time_is_looked_for_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, pattern: str, *, asks: bool
) -> None:
    monkeypatch.setattr("engine.host.built_in.guards.FAST_TIMEOUT_S", 0.0)

    assert await requires_approval({"matches": pattern}, {"text": "x"}) is asks


@pytest.mark.parametrize("rule", ["always", ["contains", "x"], None])
async def test_by_a_rule_that_is_no_guard_a_person_is_asked(rule: JsonValue) -> None:
    assert await requires_approval(rule, {"text": "y"})
