"""Every coordination strategy on a real engine, with functions and scripts that really answer."""

import json
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import JsonValue

from engine.core.commands import SwitchStrategy
from engine.core.specs.check import Check
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.host.built_in.guards import CheckedOutput, verdict_of
from engine.platform.clock import VirtualClock
from engine.platform.patterns import TooSlow
from tests.runtime.engines import Engines

pytestmark = pytest.mark.anyio


def says(name: str, *outputs: JsonValue, specialties: tuple[str, ...] = ()) -> AgentSpec:
    """An agent that answers in turn, the last answer for ever; without any, with what it was given."""
    left = list(outputs)

    async def answer(text: str) -> JsonValue:
        if not outputs:
            return f"{name}({text})"
        return left.pop(0) if len(left) > 1 else left[0]

    return AgentSpec(name=name, run=answer, specialties=specialties)


def settings(**values: Any) -> SupervisorOptions:
    return SupervisorOptions(settings=values)


async def titles(running: Any) -> list[str]:
    """Return the titles of the nodes that were added as graphs grew, in order."""
    found = []
    for record in await running.journal("group_grown"):
        found += [node["title"] for node in json.loads(record.body)["added"]]
    return found


async def test_a_draft_is_refined_until_its_critic_is_content(engine: Engines) -> None:
    author = says("author", "draft 1", "draft 2", "draft 3")
    critic = says("critic", {"score": 0.4}, "Much better. Score: 7/10", '{"score": 0.95}')

    async with engine(author, critic, mode="iterative_refinement", options=settings(rounds=5)) as running:
        assert await running.ask("write") == "draft 3"

        assert await titles(running) == ["author", "critic", "score ≥ 0.9?"] * 2


async def test_work_is_sent_back_with_reasons_until_it_is_approved(engine: Engines) -> None:
    seen: list[str] = []

    async def worker(text: str) -> str:
        seen.append(text)
        return f"try {len(seen)}"

    judge = says("judge", {"approved": False, "reasons": "no numbers"}, "REJECTED: too short", "fine by me")
    specs = [says("first"), AgentSpec(name="worker", run=worker), judge]

    async with engine(*specs, mode="sequential_with_validation") as running:
        assert await running.ask("go") == "try 3"

    assert "no numbers" in seen[1]
    assert "too short" in seen[2]


@pytest.mark.parametrize(
    ("said", "output"),
    [
        ("it is a BUG here", "fixer(it is"),
        ({"verdict": {"ok": True}}, "signer("),
        ("ticket 4711 of many", "clerk("),
        ("nothing", "other("),
    ],
)
async def test_guards_are_looked_at_on_what_was_really_said(engine: Engines, said: JsonValue, output: str) -> None:
    branches = [
        {"when": {"contains": "bug"}, "to": "fixer"},
        {"when": {"json": "verdict.ok", "equals": True}, "to": "signer"},
        {"when": {"matches": r"ticket \d+"}, "to": "clerk"},
        {"when": "else", "to": "other"},
    ]
    specs = [says("first", said), *(says(name) for name in ("fixer", "signer", "clerk", "other"))]

    async with engine(*specs, mode="conditional", options=settings(branches=branches)) as running:
        answer = str(await running.ask("look"))

    assert answer.startswith(output.partition("(")[0])


async def test_a_list_is_mapped_over_whoever_is_free_in_the_order_of_its_items(engine: Engines) -> None:
    items: list[JsonValue] = [f"item {number} {'long ' * 40 if number % 2 else ''}" for number in range(25)]
    specs = [says("chief"), says("ada"), says("bob")]

    async with engine(*specs, mode="map") as running:
        output = await running.ask(items)

    assert isinstance(output, list)
    assert len(output) == 25
    assert all(str(items[place]) in str(one) for place, one in enumerate(output))


async def test_a_splitter_makes_the_list_and_an_empty_one_is_an_empty_result(engine: Engines) -> None:
    specs = [says("split", '```json\n["x", "y"]\n```', []), says("ada")]

    async with engine(*specs, mode="map") as running:
        assert await running.ask("cut it") == ["ada(x)", "ada(y)"]
        assert await running.ask("cut it again") == []


async def test_the_levels_of_a_review_build_on_each_other(engine: Engines) -> None:
    lead = says("lead", {"approved": False, "reasons": ["thin"]}, "lead is content")
    options = settings(levels=[["ada", "bob"], ["lead"], ["head"]], returns=2)
    specs = [says("ada"), says("bob"), lead, says("head")]

    async with engine(*specs, mode="hierarchical_review", options=options) as running:
        output = str(await running.ask("go"))

    assert output.startswith("head(")
    assert "lead is content" in output


async def test_a_graph_is_done_as_it_is_drawn(engine: Engines) -> None:
    nodes = [
        {"name": "draft", "agent": "ada"},
        {"name": "facts", "agent": "bob", "after": ["draft"]},
        {"name": "style", "agent": "cyd", "after": ["draft"], "when": {"contains": "never said"}},
        {"name": "edit", "agent": "dan", "after": ["facts", "style"]},
    ]
    specs = [says(name) for name in ("ada", "bob", "cyd", "dan")]

    async with engine(*specs, mode="graph", options=settings(nodes=nodes)) as running:
        output = str(await running.ask("go"))

    assert output.startswith("dan(")
    assert "bob(ada(go))" in output
    assert "cyd" not in output


async def test_two_of_three_are_enough_and_the_slow_one_is_stopped(engine: Engines) -> None:
    script: dict[str, Any] = {"script": [{"delay_s": 3600, "output": "late"}]}
    slow = AgentSpec(name="slow", agent_type="scripted", options=script)

    async with engine(
        says("ada"), slow, says("bob"), clock=VirtualClock(), mode="parallel", options=settings(need=2)
    ) as running:
        output = str(await running.ask("go"))

    assert "ada(go)" in output
    assert "bob(go)" in output
    assert "late" not in output


async def test_a_synthesis_is_made_by_whoever_writes(engine: Engines) -> None:
    specs = [says("scout", specialties=("search",)), says("writer", specialties=("writing",)), says("sums")]

    async with engine(*specs, mode="parallel_then_synthesis") as running:
        output = str(await running.ask("go"))

    assert output.startswith("writer(")
    assert "scout(go)" in output
    assert "sums(go)" in output


async def test_the_category_of_a_request_chooses_the_strategy_and_who_takes_part(engine: Engines) -> None:
    options = SupervisorOptions(
        strategies={"research_tasks": "parallel_then_synthesis", "content_tasks": "iterative_refinement"},
        settings={"iterative_refinement": {"until": 0.5}},
    )
    specs = [
        says("seeker", specialties=("research",)),
        says("finder", specialties=("research", "writing reports")),
        says("poet", "an ode", specialties=("content",)),
        says("editor", {"score": 0.6}, specialties=("content",)),
    ]

    async with engine(*specs, options=options) as running:
        researched = str(await running.ask("Research the history of salt"))
        poem = await running.ask("Make content for the front page")

    assert researched.startswith("finder(")
    assert "seeker(" in researched
    assert poem == "an ode"


async def test_a_pattern_that_never_ends_fails_its_run_and_does_not_stall_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.host.built_in.guards.MAX_PATTERN_S", 0.5)
    beats = 0

    async def heart() -> None:
        nonlocal beats
        while True:
            await anyio.lowlevel.checkpoint()  # no sleep: on a busy machine it may last as long as the pattern
            beats += 1

    check = Check(what="guards", args={"guards": [{"matches": "(a|aa)+$"}]})
    async with anyio.create_task_group() as group:
        group.start_soon(heart)
        with pytest.raises(TooSlow, match="longer than"):
            await verdict_of(check, [CheckedOutput("ada", "done", "a" * 60 + "!")])
        group.cancel_scope.cancel()

    assert beats > 1  # a loop that stands still beats at most once, when the pattern is given up


async def test_a_switch_in_the_middle_of_refinement_keeps_what_is_done(engine: Engines) -> None:
    asked = anyio.Event()
    go_on = anyio.Event()

    async def critic(text: str) -> JsonValue:
        asked.set()
        await go_on.wait()
        return {"score": 0.1}

    specs = [says("author", "draft"), AgentSpec(name="critic", run=critic)]
    async with engine(*specs, mode="iterative_refinement") as running:
        run_id = await running.submit("write")
        await asked.wait()
        await running.host.order(SwitchStrategy(mode="sequential"))
        go_on.set()
        summary, output = await running.ended(run_id)

        assert (summary.status, output) == ("done", {"score": 0.1})
        assert len(await running.journal("attempt_done")) == 2
