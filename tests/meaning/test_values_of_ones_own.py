"""What user code is given is its own: its changes reach no other agent, journal or archive.

The values are typed as programs type them: a checker that reads this file sees that a `dict[str, list[str]]` is taken.
"""

import json
from typing import Any

import pytest

from engine import AgentSpec, BlockingContext, CommandRefusedError, Context, DynamicSupervisor, Retry, Task

pytestmark = pytest.mark.anyio

PAGES: dict[str, list[str]] = {"pages": ["one"]}


async def vandal(task: Task, ctx: Context) -> str:
    given: Any = task
    given.value["pages"].append("spoilt")
    given.request["pages"].append("spoilt")
    given.options["deep"]["pages"].append("spoilt")
    for one in given.inputs:
        one.output["pages"].append("spoilt")
    return "done"


async def shows(task: Task, ctx: Context) -> list[Any]:
    return [task.value, task.request, task.options, [one.output for one in task.inputs]]


async def finds(task: Task, ctx: Context) -> dict[str, list[str]]:
    return {"pages": ["found"]}


def members(*functions: Any) -> list[AgentSpec]:
    return [AgentSpec(name=one.__name__, run=one, options={"deep": PAGES}) for one in functions]


async def test_an_agent_that_changes_what_it_is_given_changes_it_for_itself_alone() -> None:
    request = {"pages": ["one"]}
    async with DynamicSupervisor("team", agent_specs=members(finds, vandal, shows)) as team:
        result = await team.arun(request, None)
        state = await team.serialize_complete_state()

    assert result.output == [PAGES, PAGES, {"deep": PAGES}, [{"pages": ["found"]}, "done"]]
    assert request == {"pages": ["one"]}
    assert "spoilt" not in json.dumps(state)


async def test_a_program_that_changes_a_result_changes_no_later_answer() -> None:
    async with DynamicSupervisor("team", agent_specs=members(finds)) as team:
        result: Any = await team.arun("x")
        result.output["pages"].append("spoilt")
        streamed: list[Any] = [one.result async for one in team.stream("x") if one.kind == "completed"]
        streamed[0]["pages"].append("spoilt")

        assert (await team.status("r1")).output == (await team.status("r2")).output == {"pages": ["found"]}


async def test_a_step_that_is_not_repeated_gives_what_it_gave_and_not_what_became_of_that() -> None:
    async def draws(task: Task, ctx: Context) -> list[int]:
        drawn: list[int] = await ctx.step("draw", lambda: [1])
        drawn.append(2)
        if task.attempt == 1:
            raise OSError("again")
        return drawn

    spec = AgentSpec(name="draws", run=draws, on_failure=[Retry(1, base_s=0.001)])

    assert (await DynamicSupervisor("team", agent_specs=[spec]).arun("x")).output == [1, 2]


async def test_the_answer_to_a_delegation_is_the_askers_own() -> None:
    def lead(task: Task, ctx: BlockingContext) -> list[Any]:
        found = [ctx.delegate("shows", PAGES), *ctx.map("shows", [PAGES])]
        for answer in found:
            answer[0]["pages"].append("spoilt")
        return [ctx.task.request, PAGES]

    async with DynamicSupervisor("team", agent_specs=members(lead, shows), participants=["lead"]) as team:
        result = await team.arun(["x"])
        ended: list[Any] = [one.result async for one in team.stream(["x"]) if one.kind == "task_ended"]
        state = await team.serialize_complete_state()

    assert result.output == [["x"], PAGES]
    assert "spoilt" not in json.dumps([ended, state])


async def test_a_program_that_changes_a_question_changes_neither_the_question_nor_its_answers() -> None:
    async def asks(task: Task, ctx: Context) -> str:
        return await ctx.ask("Which?", ["this", "that"])

    async with DynamicSupervisor("team", agent_specs=members(asks)) as team:
        run_id = await team.submit("x")
        question: Any = await team.next_question()
        question.options.append("both")
        question.question = "What?"

        with pytest.raises(CommandRefusedError, match="both"):
            await team.answer(question.id, "both")
        assert [(one.question, one.options) for one in team.questions] == [("Which?", ["this", "that"])]
        await team.answer(question.id, "this")
        assert str(await team.wait(run_id)) == "this"
