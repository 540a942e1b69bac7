"""Agents made by agents at work: kept over processes, called again, checked, and stopped by what their makers lost."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentSpec, DynamicSupervisor, ModelSpec, RunFailed, TaskMismatch, tool
from engine.core.commands import RetireRecipes
from tests.runtime import crew_for_recipes as crew

SOLVED = {"parsed": ["x", "=", "2"], "by": "solver"}
pytestmark = pytest.mark.anyio


def lab(run: Any = crew.architect, *, store: Path | None = None, **fields: Any) -> DynamicSupervisor:
    spec = AgentSpec(name="architect", run=run, tools=[crew.solve, crew.parse], max_concurrency=3)
    return DynamicSupervisor(name="lab", store=store, agent_specs=[spec], **fields)


async def test_a_new_process_with_the_maker_alone_calls_child_and_grandchild_again(tmp_path: Path) -> None:
    for _ in range(2):
        async with lab(store=tmp_path / "team.db") as team:
            assert (await team.arun("x = 2")).output == SOLVED
            recipes = {"/".join(recipe.path): recipe.revision for recipe in team._state.recipes.values()}

    assert recipes == {"architect/solver": 1, "architect/solver/parser": 1}


async def test_requests_at_once_that_keep_the_same_agent_do_not_conflict() -> None:
    async with lab() as team, anyio.create_task_group() as group:
        outputs: list[Any] = []

        async def ask() -> None:
            outputs.append((await team.arun("x = 2")).output)

        for _ in range(3):
            group.start_soon(ask)

    assert outputs == [SOLVED] * 3


async def test_an_agent_that_a_person_removed_is_added_again_when_it_is_called() -> None:
    async with lab() as team:
        await team.arun("x = 2")
        await team.remove_agent("parser")
        await team.remove_agent("solver")

        assert (await team.arun("x = 2")).output == SOLVED


async def test_an_agent_is_called_itself_where_another_of_its_name_is_nearer() -> None:
    async def tell(text: str) -> str:
        return "another"

    async with lab() as team:
        assert (await team.arun("x = 2")).output == SOLVED
        desk = DynamicSupervisor(name="desk", agent_specs=[AgentSpec(name="solver", run=tell)])
        await team.add_sub_supervisor("desk", desk)
        await team.move("architect", "desk")

        assert (await team.arun("x = 2")).output == SOLVED


async def test_what_its_author_asks_about_does_not_become_an_agent_that_does_it_unasked() -> None:
    @tool(approve="always")
    def pay(text: str) -> str:
        return f"paid {text}"

    async def boss(task: Any, ctx: Any) -> Any:
        return await (await ctx.create_agent("payer", "You pay.", run="pay"))(task.value)

    boss_spec = AgentSpec(name="boss", run=boss, tools=[pay])
    async with DynamicSupervisor(name="bank", agent_specs=[boss_spec]) as team:
        with pytest.raises(RunFailed, match="boss/payer has no 'pay'"):
            await team.arun("all")


async def test_calls_of_an_agent_whose_recipe_was_removed_say_so(tmp_path: Path) -> None:
    async with lab(store=tmp_path / "team.db") as team:
        await team.arun("x = 2")
        await team._engine.order(lambda: RetireRecipes(recipes=["k1", "k2"]))

        with pytest.raises(RunFailed, match="the recipe k1 was removed: make the agent again"):
            await team.arun("x = 2")


async def test_a_made_agent_is_its_json_in_steps_outputs_and_nested_state() -> None:
    async def architect(task: Any, ctx: Any) -> Any:
        parser = await ctx.create_agent("parser", "You parse.", run="parse")
        ctx.state["crew"] = {"all": [parser]}
        same = await ctx.step("same", lambda agent: agent, parser)
        return [parser, same, await ctx.state["crew"]["all"][0]("a b")]

    async with lab(architect) as team:
        assert (await team.arun("go")).output == [{"$agent": "k1"}, {"$agent": "k1"}, ["a", "b"]]


async def test_a_function_of_its_text_is_made_also_by_one_with_a_time_limit_for_steps() -> None:
    async def architect(task: Any, ctx: Any) -> Any:
        parser = await ctx.create_agent(
            "parser", "You parse.", run="parse", tasks={"all": {"input": {"type": "string"}}}
        )
        with pytest.raises(TaskMismatch, match="its input does not fit"):
            await parser(5, task="all")
        return await parser("a b")

    spec = AgentSpec(name="architect", run=architect, tools=[crew.parse], step_timeout_s=9)
    async with DynamicSupervisor(name="lab", agent_specs=[spec]) as team:
        assert (await team.arun("go")).output == ["a", "b"]


async def test_the_work_of_an_agent_whose_maker_lost_its_tool_fails_with_the_name_of_the_tool() -> None:
    async with lab() as team:
        await team.arun("x = 2")
        await team.swap_agent("architect", AgentSpec(name="architect", run=crew.architect, tools=[crew.solve]))

        with pytest.raises(RunFailed, match="architect/solver has no 'parse' any more"):
            await team.arun("x = 2")


async def test_a_plain_function_makes_and_calls_an_agent_from_its_thread() -> None:
    async with lab(crew.architect_in_thread) as team:
        assert (await team.arun("x = 2")).output == ["x", "=", "2"]


async def test_a_made_agent_takes_part_only_where_it_is_asked() -> None:
    async with lab() as team:
        await team.arun("x = 2")

        assert (await team.arun("y = 3")).output == {"parsed": ["y", "=", "3"], "by": "solver"}


async def test_a_model_that_a_function_made_has_the_toolset_and_is_told_its_tasks() -> None:
    seen: list[Any] = []

    async def architect(task: Any, ctx: Any) -> Any:
        solver = await ctx.create_agent(
            "solver", "You solve.", capabilities=["math"], model="offline",
            tasks={"solve": {"doc": "Solve it.", "input": {"type": "string"}, "output": {"type": "integer"}}},
        )  # fmt: skip
        for value, name in ((3, "solve"), ("x", "fly"), ("x = 2", "solve")):
            try:
                seen.append(await solver(value, task=name))
            except Exception as error:
                seen.append(str(error))
        return seen[-1]

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    models = {
        "offline": ModelSpec(replies=[{"calls": [{"name": "double", "arguments": {"number": 1}}]}, {"text": "2"}])
    }
    async with lab(architect, models=models, toolsets={"math": [double]}) as team:
        assert (await team.arun("go")).output == 2
        spec = next(team._state.spec_of(agent) for agent in team._state.agents.values() if agent.name == "solver")

    assert seen[0].startswith("architect/solver, task solve: its input does not fit")
    assert seen[1] == "architect/solver has no task 'fly'; it has solve"
    assert "- solve: Solve it." in spec.instructions


async def test_a_person_makes_an_agent_for_another_within_its_rights() -> None:
    async with lab() as team:
        applied = await team.create_agent("architect", "parser", "You parse.", run="parse")

        assert (applied.result["recipe_id"], applied.result["path"]) == ("k1", ["architect", "parser"])
