"""Each strategy is switched to each other in the middle of a run: how often does each agent work, and each question?

Three seconds after the request, members have worked, are at work and have not begun, and bob has asked three questions:
one is answered, one is at work, one waits.
"""

from collections import Counter
from itertools import permutations
from typing import Any

import anyio
import pytest

from engine import DynamicSupervisor
from engine.core.strategies import STRATEGIES
from tests.meaning.diary import Diary, during

pytestmark = pytest.mark.anyio

ALL = ("ada", "bob", "cyd", "dan")
QUESTIONS = {"short": "hal", "long": "hob", "waiting": "hob"}
CHAIN = [
    {"name": f"of {name}", "agent": name, "after": [f"of {before}"] if before else []}
    for before, name in zip((None, *ALL), ALL, strict=False)
]
SETTINGS: dict[str, dict[str, Any]] = {
    "sequential": {},
    "parallel": {},
    "parallel_then_synthesis": {"aggregator": "dan"},
    "sequential_with_validation": {"validator": "dan", "returns": 0},
    "iterative_refinement": {"author": "bob", "critics": ["cyd"], "rounds": 1},
    "hierarchical_review": {"levels": [["ada"], ["bob"], ["cyd", "dan"]], "returns": 0},
    "conditional": {"first": "ada", "branches": [{"when": "else", "to": "bob"}], "then": "cyd"},
    "delegate": {"lead": "bob"},
    "map": {"over": "ada", "to": "bob"},
    "graph": {"nodes": CHAIN},
}
CASTS = dict.fromkeys(SETTINGS, ALL) | {
    "iterative_refinement": ("bob", "cyd"),
    "conditional": ("ada", "bob", "cyd"),
    "delegate": ("bob",),
    "map": ("ada",),
}
"""Who has to have worked once in each, items of a `map` not counted."""
BY_DEFAULT: dict[str, dict[str, Any]] = {mode: {} for mode in SETTINGS} | {
    "graph": SETTINGS["graph"],
    "delegate": SETTINGS["delegate"],
    "iterative_refinement": {"rounds": 1},
    "parallel_then_synthesis": {"aggregator": "dan"},
}
"""Settings that leave the roles to the defaults, where there are defaults."""
ITEMS = 2
WHOEVER_HAS_NOT_WORKED = ("sequential", "parallel", "parallel_then_synthesis", "sequential_with_validation")
"""Strategies in which an item of a `map` before counts as the part of its agent; the others have a place to fill."""


def team(diary: Diary, mode: str, settings: dict[str, Any]) -> DynamicSupervisor:
    async def asks(task: Any, ctx: Any) -> Any:
        answers: dict[str, Any] = {}

        async def ask(question: str, of: str) -> None:
            answers[question] = await ctx.delegate(of, f"{question} for {task.text}")

        async with anyio.create_task_group() as group:
            for question, of in QUESTIONS.items():
                group.start_soon(ask, question, of)
        return [answers[question] for question in QUESTIONS]

    return diary.supervisor(
        "chief",
        diary.agent("ada", takes_s=1, says=[f"item {number}" for number in range(ITEMS)]),
        diary.agent("bob", body=asks),
        diary.agent("cyd", takes_s=7, says="score: 9"),
        diary.agent("dan", takes_s=7, says="approved"),
        diary.agent("hal", takes_s=1),
        diary.agent("hob", takes_s=5),
        coordination_mode=mode,
        coordination_settings=settings,
        participants=list(ALL),
    )


def expected(before: str, after: str, had_worked: set[str]) -> dict[str, int]:
    """Return how often each member works: once, and anew only for what the new strategy alone asks of it."""
    counts = dict.fromkeys(had_worked | set(CASTS[after]), 1)
    if before == "map":
        counts["bob"] = ITEMS + (after not in WHOEVER_HAS_NOT_WORKED)
    if after == "map":
        counts["bob"] = counts.get("bob", 0) + ITEMS
    if after == "parallel_then_synthesis" and "dan" in had_worked:
        counts["dan"] += 1  # what it made is among what it makes a whole of
    return counts


def test_every_strategy_is_switched_from_and_to() -> None:
    assert set(SETTINGS) == set(STRATEGIES)


@pytest.mark.parametrize(("before", "after"), permutations(SETTINGS, 2))
async def test_nothing_is_stopped_or_done_again_and_each_question_is_asked_once(before: str, after: str) -> None:
    diary = Diary()
    had_worked: set[str] = set()

    async with team(diary, before, SETTINGS[before]) as chief:

        async def switch(run_id: str) -> None:
            async with diary.at(3):
                had_worked.update(set(diary.order()) & set(ALL))
                await chief.reconfigure_coordination({"mode": after, "settings": SETTINGS[after]})

        result = await during(diary, chief, switch)

    assert (result.status, result.error) == ("done", None)
    assert [one.agent for one in diary.entries if one.ended_s is None] == []
    counts = diary.counts()
    questions = {name: counts.pop(name) for name in ("hal", "hob")}
    assert counts == expected(before, after, had_worked)
    assert questions == {"hal": counts["bob"], "hob": 2 * counts["bob"]}


@pytest.mark.parametrize("at_s", [3, 8])
@pytest.mark.parametrize(("before", "after"), permutations(SETTINGS, 2))
async def test_a_member_that_is_done_fills_its_role_where_nobody_names_one(
    before: str, after: str, at_s: float
) -> None:
    diary = Diary()
    had_worked: set[str] = set()

    async with team(diary, before, BY_DEFAULT[before]) as chief:

        async def switch(run_id: str) -> None:
            async with diary.at(at_s):
                had_worked.update(one.agent for one in diary.entries if one.text == "go" or before != "map")
                await chief.reconfigure_coordination({"mode": after, "settings": BY_DEFAULT[after]})

        result = await during(diary, chief, switch)

    assert (result.status, result.error) == ("done", None)
    parts = Counter(one.agent for one in diary.entries if not one.text.startswith("item ") and one.agent in ALL)
    if after == "parallel_then_synthesis" and "dan" in had_worked:
        parts["dan"] -= 1  # the synthesis
    assert [name for name in had_worked & set(ALL) if parts[name] > 1] == []


@pytest.mark.parametrize(
    ("request_", "says", "status", "output"),
    [
        (["x", "y"], "no list", "done", ["bob(x)", "bob(y)"]),
        ("go", ["x", "y"], "done", ["bob(x)", "bob(y)"]),
        ("go", "no list", "failed", None),
    ],
    ids=["request", "splitter", "neither"],
)
async def test_the_list_is_the_request_or_what_the_first_member_has_made_already(
    request_: Any, says: Any, status: str, output: Any
) -> None:
    diary = Diary()
    specs = [diary.agent("ada", takes_s=1, says=says), diary.agent("bob", takes_s=4)]

    async with diary.supervisor("chief", *specs, coordination_mode="parallel") as chief:

        async def switch(run_id: str) -> None:
            async with diary.at(2):
                await chief.reconfigure_coordination({"mode": "map"})

        result = await during(diary, chief, switch, request_)

    assert (result.status, result.output if status == "done" else None) == (status, output)
    assert diary.counts()["ada"] == 1
    assert result.error in (None, "what ada made is not a list")
