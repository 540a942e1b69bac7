"""Looking at a team: agents, figures, registries, and who would be chosen."""

import math
from pathlib import Path
from typing import Any

import pytest

from engine import (
    AgentInfo,
    AgentRegistry,
    AgentSpec,
    CommandRefusedError,
    Context,
    DynamicSupervisor,
    RunFailed,
    Task,
    UnknownName,
    create_agent_from_spec,
)
from engine.core.commands import AddAgent, Order
from engine.core.signals import AgentsFound
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import spec_hash
from engine.core.state import Origin
from tests.databases import write_database
from tests.story import submitted
from tests.world import agent as of_crew
from tests.world import team_world

pytestmark = pytest.mark.anyio


async def echo(text: str) -> str:
    return text


async def odd_only(text: str) -> str:
    if int(text) % 2 == 0:
        raise ValueError("even")
    return text


def agent(name: str, **settings: Any) -> AgentSpec:
    return AgentSpec(name=name, **({"run": echo} | settings))


async def worked(count: int) -> DynamicSupervisor:
    team = DynamicSupervisor(
        "team", agent_specs=[agent("a", run=odd_only, specialties=["research", "machine learning"], category="science")]
    )
    async with team:
        for number in range(count):
            try:
                await team.arun(str(number))
            except RunFailed:
                continue
    return team


async def test_an_agent_is_seen_with_what_it_did() -> None:
    view = (await worked(10)).active_agents["a"]

    assert (view.status, view.tasks, view.error_count, view.success_rate) == ("idle", 10, 5, 0.5)
    assert view.p50_ms >= 0
    assert view.capability.performance_score == 0.5
    assert view.capability.specialties == ("research", "machine learning")
    assert view.spec.run is odd_only
    assert [ended.status for ended in view.last_tasks] == ["done", "failed"] * 5
    assert [ended.task_id for ended in view.last_tasks] == [f"t{number}" for number in range(20, 0, -2)]


async def test_a_share_of_few_attempts_is_nan_so_that_no_comparison_is_true() -> None:
    team = await worked(9)

    assert math.isnan(team.active_agents["a"].success_rate)
    assert not team.get_supervision_metrics().research_success_rate < 0.8
    assert team.active_agents["a"].capability.performance_score is None


async def test_success_rates_are_asked_for_by_specialty() -> None:
    metrics = (await worked(10)).get_supervision_metrics()

    assert metrics.research_success_rate == metrics.machine_learning_success_rate == metrics.science_success_rate == 0.5
    assert math.isnan(metrics.cooking_success_rate)
    assert (metrics.tasks_done, metrics.tasks_failed, metrics.agents, metrics.busy) == (5, 5, 1, 0)
    with pytest.raises(AttributeError, match="did you mean success_rate"):
        _ = metrics.sucess_rate


async def test_the_state_of_a_supervisor_is_one_frozen_value() -> None:
    registry = AgentRegistry()
    registry.register_agent(agent("spare"))
    team = DynamicSupervisor("team", agent_specs=[agent("a", specialties=["research"])], agent_registry=registry)
    async with team:
        before = team.state
        await team.arun("hello")
        await team.arun("long " * 100, conversation="other")
        state = team.state

    assert [(one.conversation, one.role, one.text) for one in state.messages] == [
        ("main", "user", "hello"), ("main", "assistant", "hello"), ("other", "user", None), ("other", "assistant", None)
    ]  # fmt: skip
    assert (await team.status(state.messages[-1].run_id)).output == "long " * 100
    assert state.agent_capabilities["a"] == state.active_agents["a"].capability
    assert [*state.available_specs] == team.list_available_agents() == ["spare", "a"]
    assert (before.active_agents["a"].tasks, before.messages, before.workflow_state) == (0, (), "idle")
    assert state.supervisor_metrics.tasks_done == state.active_agents["a"].tasks == 2
    with pytest.raises(AttributeError):
        state.workflow_state = "idle"  # type: ignore[misc]
    with pytest.raises(TypeError):
        state.active_agents["b"] = state.active_agents["a"]  # type: ignore[index]


def test_the_state_of_a_team_elsewhere_names_agents_that_a_catalogue_has_brought(tmp_path: Path) -> None:
    world, spec = team_world(of_crew("ada")), of_crew("scout")
    origin = Origin(kind="catalogue", id="c0123456789abcdef", hash=spec_hash(spec))
    command = AddAgent(spec=spec, catalogue=origin.id)
    world.say(Order(id="add", command=command, granted={"crew:scout": "1"}, origin=origin))
    team = DynamicSupervisor.attach(write_database(tmp_path / "team.db", world.journal))

    assert ((*team.state.active_agents,), (*team.state.discovered_agents,)) == (("ada", "scout"), ("scout",))


def test_the_state_keeps_what_was_found_outside_the_team(tmp_path: Path) -> None:
    discovery = DiscoveryConfig(modes=(AgentDiscoveryMode.CATALOGUE,))
    world = team_world(of_crew("ada", "parse"), auto_discover=True, options=SupervisorOptions(discovery=discovery))
    submitted(world, "paint pictures")
    world.say(AgentsFound(task_id="t1", text="paint pictures", found=[]))
    team = DynamicSupervisor.attach(write_database(tmp_path / "team.db", world.journal))

    assert {task_id: search.chosen for task_id, search in team.state.discovery_cache.items()} == {"t1": []}


async def test_a_supervisor_that_executes_says_so_until_it_waits_for_a_person() -> None:
    states = []

    async def asker(task: Task, ctx: Context) -> str:
        states.append(team.state.workflow_state)
        return await ctx.ask("which?")

    team = DynamicSupervisor("team", agent_specs=[agent("a", run=asker)])
    async with team:
        run_id = await team.submit("go")
        question = await team.next_question()
        states.append(team.state.workflow_state)
        await team.answer(question.id, "reply", output="this")
        await team.wait(run_id)

    assert [*states, team.state.workflow_state] == ["executing", "waiting", "idle"]


async def test_views_are_copies() -> None:
    team = DynamicSupervisor("team", agent_specs=[agent("a")])
    views = team.active_agents
    views.clear()

    assert list(team.active_agents) == ["a"]
    assert team.active_agents["a"].current_task is None


async def test_a_registry_is_kept_and_searched_by_words() -> None:
    registry = AgentRegistry()
    registry.register_agent(agent("cook", specialties=["cooking"]))
    registry.register_agent(AgentInfo(create_agent_from_spec(agent("pilot")), capability="flying planes"))

    assert [info.name for info in registry.list()] == ["cook", "pilot"]
    assert [info.name for info in registry.search("fly me home")] == ["pilot"]
    assert registry.get("pilot").spec.specialties == ("flying", "planes")
    assert (len(registry), "cook" in registry) == (2, True)
    assert registry.unregister("cook").name == "cook"
    with pytest.raises(UnknownName, match="did you mean pilot"):
        registry.get("pilto")


async def test_an_entry_registered_again_takes_the_place_of_the_first() -> None:
    registry = AgentRegistry()
    registry.register_agent(agent("anna", specialties=["cooking"]))
    registry.register_agent(agent("anna", specialties=["flying"]))

    assert [info.spec.specialties for info in registry] == [("flying",)]
    assert registry.search("cooking") == []


async def test_agents_are_added_from_the_registry_under_any_name() -> None:
    registry = AgentRegistry()
    registry.register_agent(agent("cook", specialties=["cooking"]))
    team = DynamicSupervisor("team", agent_registry=registry)
    assert (team.list_available_agents(), team.list_active_agents()) == (["cook"], [])

    await team.add_agent_from_registry("cook")
    await team.add_agent_from_registry("cook", as_name="second_cook")

    assert team.list_active_agents() == ["cook", "second_cook"]
    with pytest.raises(CommandRefusedError, match="did you mean cook"):
        await team.add_agent_from_registry("cok")


async def test_specs_are_found_by_the_words_of_a_request_wherever_they_are() -> None:
    registry = AgentRegistry()
    registry.register_agent(agent("pilot", specialties=["flying"]))
    team = DynamicSupervisor("team", agent_specs=[agent("cook", specialties=["cooking"])], agent_registry=registry)

    assert [spec.name for spec in team.find_matching_agent_specs("cook while flying")] in (
        ["cook", "pilot"],
        ["pilot", "cook"],
    )
    assert [view.name for view in team.discover_agents("cook while flying")] == ["cook"]
    assert team.find_matching_agent_specs("nothing of that kind") == []
    assert team.create_agent_from_spec(agent("x")).capability.name == "x"
