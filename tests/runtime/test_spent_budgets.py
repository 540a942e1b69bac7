"""Every strategy under a budget that its last work spends: what has ended keeps its outcome, whatever it cost."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import pytest
from pydantic import JsonValue

from engine.core.commands import AddSupervisor, Submit, SupervisorSpec
from engine.core.records.records import copy_with
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.platform.clock import VirtualClock
from tests.runtime.engines import running

pytestmark = pytest.mark.anyio

COST = 10
"""Tokens that each attempt spends, in one piece."""


def scripted(name: str, *, output: JsonValue = "{agent} is done", at: str = "step", **rule: Any) -> AgentSpec:
    """Return an agent that spends its tokens with its last step, or with its answer."""
    spend: dict[str, Any] = {"tokens_in": COST}
    cost: dict[str, Any] = {"spend": spend} if at == "end" else {"steps": [{"name": "work", "spend": spend}]}
    options = {"script": [{**cost, "output": output, **rule}]}
    return AgentSpec(name=name, agent_type="scripted", options=options)


GRAPH = [
    {"name": "one", "agent": "ada"},
    {"name": "two", "agent": "bob", "after": ["one"]},
    {"name": "never", "agent": "ada", "after": ["two"], "when": {"contains": "no such word"}},
]
BRANCHES = [{"when": {"contains": "no such word"}, "to": "cyd"}, {"when": "else", "to": "bob"}]
TEAM: dict[str, Any] = {"ada": {}, "bob": {"delay_s": 1}}
LEAD = {"delegate": {"to": "bob"}, "output": "{answer}"}
REVIEW = {"ada": {}, "bob": {"output": "approved"}}
CASES: dict[str, tuple[str, dict[str, Any], dict[str, dict[str, Any]], JsonValue]] = {
    "sequential": ("sequential", {}, TEAM, "go"),
    "parallel": ("parallel", {}, TEAM, "go"),
    "parallel with need": ("parallel", {"need": 1}, {"ada": {}, "bob": {"delay_s": 60}}, "go"),
    "synthesis": ("parallel_then_synthesis", {"aggregator": "cyd"}, {**TEAM, "cyd": {}}, "go"),
    "validation": ("sequential_with_validation", {}, REVIEW, "go"),
    "refinement": ("iterative_refinement", {}, {"ada": {}, "bob": {"output": {"score": 1}}}, "go"),
    "review": ("hierarchical_review", {"levels": [["ada"], ["bob"]]}, REVIEW, "go"),
    "conditional": ("conditional", {"first": "ada", "branches": BRANCHES}, {**TEAM, "cyd": {}}, "go"),
    "delegate": ("delegate", {"lead": "ada"}, {"ada": LEAD, "bob": {}}, "go"),
    "map": ("map", {"to": "bob"}, {"bob": {}}, ["x", "y"]),
    "map over a list": ("map", {"over": "ada", "to": "bob"}, {"ada": {"output": ["x", "y"]}, "bob": {}}, "go"),
    "graph": ("graph", {"nodes": GRAPH, "output": "two"}, TEAM, "go"),
}
LEVELS = ("run", "run of teams", "task", "agent", "supervisor")


@dataclass(frozen=True)
class Ended:
    """What came of a run; no status while a person is asked."""

    status: str | None
    error: str | None = None
    output: JsonValue = None
    tokens: int = 0


async def ended_run(case: str, level: str, limits: Mapping[str, Limits], at: str) -> Ended:
    """Run a case with limits at a level: of each agent by its name, else of the whole under an empty name."""
    mode, settings, rules, request = CASES[case]
    whole = limits.get("")
    specs = [scripted(name, at=at, **rule) for name, rule in rules.items()]
    if level == "agent":
        specs = [copy_with(spec, limits=limits.get(spec.name)) for spec in specs]
    options = SupervisorOptions(
        settings=settings,
        task_limits=whole if level == "task" else None,
        limits=whole if level == "supervisor" else None,
    )
    team = SupervisorSpec(name="team", members=[*specs], mode=mode, options=options)
    top = SupervisorSpec(name="top", members=[team]) if level == "run of teams" else team
    async with running(clock=VirtualClock()) as engine:
        await engine.host.order(AddSupervisor(parent=None, team=top))
        submit = Submit(request=request, limits=whole if level.startswith("run") else None)
        run_id = str((await engine.host.order(submit)).result["run_id"])
        await engine.until(lambda state: bool(state.escalations) or run_id not in state.runs)
        if engine.state.escalations:
            return Ended(None)
        summary, output = await engine.ended(run_id)
        return Ended(str(summary.status.value), summary.error, output, summary.usage.tokens_in or 0)


def costs(case: str, level: str, tokens: int) -> dict[str, int]:
    """Return the tokens that a run spends: of each agent, of the largest task, or of the whole."""
    is_led = case == "delegate"
    if level == "task":
        return {"": COST * 2 if is_led else COST}
    if level != "agent":
        return {"": tokens}
    names = [name for name in CASES[case][2] if not (is_led and name == "ada")]  # the step of a lead is not its last
    return {name: COST * (2 if case.startswith("map") and name == "bob" else 1) for name in names}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", CASES)
async def test_a_run_whose_last_work_spends_the_rest_or_more_is_done_and_nobody_is_asked(case: str, level: str) -> None:
    free = await ended_run(case, level, {}, "end")
    assert (free.status, free.error) == ("done", None)
    thens: tuple[Literal["stop", "fail", "ask"], ...] = ("stop", "fail", "ask")
    for then, missing, at in product(thens, (0, COST - 1), ("step", "end")):
        cost = costs(case, level, free.tokens)
        limits = {name: Limits(tokens=tokens - missing, then=then) for name, tokens in cost.items()}
        ended = await ended_run(case, level, limits, at)
        assert replace(ended, tokens=0) == replace(free, tokens=0), f"{then}, {missing} too little, spent at its {at}"
