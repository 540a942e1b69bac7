"""Agents that ask a person: they wait without a slot, once, also over the end of an engine."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentSpec
from engine.core.commands import Answer, Cancel, StopEngine
from engine.core.state import State
from engine.platform.clock import VirtualClock
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio


async def paints(task: Any, ctx: Any) -> str:
    return f"painted {await ctx.ask('Which colour?', ['red', 'blue'])}"


def writes(task: Any, ctx: Any) -> str:
    return f"wrote: {ctx.ask('What shall I write?')}"


async def bob(text: str) -> str:
    return "dug"


def is_parked(state: State) -> bool:
    return any(agent.parked for agent in state.agents.values())


async def asked(running: Engine) -> str:
    """Return the id of the question, once the attempt that asked it waits without a slot."""
    await running.until(lambda state: bool(state.escalations) and is_parked(state))
    return next(iter(running.state.escalations))


def bind(running: Engine, function: Any) -> None:
    """Let the one agent of a team that is there have its code again."""
    (spec,) = running.state.specs.values()
    assert isinstance(spec.run, str)
    running.host.bind({spec.run: function})


async def test_an_agent_that_asks_holds_no_slot_and_goes_on_with_the_answer(engine: Engines) -> None:
    async with engine(AgentSpec(name="painter", run=paints)) as running:
        run_id = await running.submit()
        question = await asked(running)
        assert not running.state.agents["a1"].running
        await running.host.order(Answer(escalation=question, answer="blue"))

        assert (await running.ended(run_id))[1] == "painted blue"
        assert [one.kind for one in await running.journal() if "slot" in one.kind or "attempt" in one.kind] == [
            "attempt_started", "attempt_parked", "slot_wanted", "attempt_resumed", "attempt_done",
        ]  # fmt: skip


async def test_a_plain_function_asks_too_and_gets_what_the_person_wrote(engine: Engines) -> None:
    async with engine(AgentSpec(name="writer", run=writes)) as running:
        run_id = await running.submit()
        await running.host.order(Answer(escalation=await asked(running), answer="reply", output="a poem"))

        assert (await running.ended(run_id))[1] == "wrote: a poem"


async def test_a_question_of_an_agent_names_the_variable_in_place_of_its_secret(
    engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "svc-0123456789")

    async def asks(task: Any, ctx: Any) -> str:
        return f"{await ctx.ask('Is svc-0123456789 the right one?', ['svc-0123456789', 'no'])}"

    async with engine(AgentSpec(name="asker", run=asks)) as running:
        run_id = await running.submit()
        question = running.state.escalations[await asked(running)]
        await running.host.order(Answer(escalation=question.id, answer="svc-0123456789"))

        assert question.question == "Is [SERVICE_TOKEN] the right one?"
        assert (await running.ended(run_id))[1] == "svc-0123456789"


async def test_a_question_outlives_the_engine_and_is_asked_once(engine: Engines, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with engine(AgentSpec(name="painter", run=paints), path=path) as running:
        run_id = await running.submit()
        question = await asked(running)
    async with engine(path=path) as running:
        bind(running, paints)
        assert await asked(running) == question
        await running.host.order(Answer(escalation=question, answer="red"))

        assert (await running.ended(run_id))[1] == "painted red"
        assert len(await running.journal("escalated")) == 1


async def test_an_answer_that_comes_before_the_code_is_back_is_taken(engine: Engines, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with engine(AgentSpec(name="painter", run=paints), path=path) as running:
        run_id = await running.submit()
        question = await asked(running)
    async with engine(path=path) as running:  # nobody is bound: the task waits for its code
        await running.host.order(Answer(escalation=question, answer="red"))
        await running.host.order(StopEngine())
    async with engine(path=path) as running:
        bind(running, paints)

        assert (await running.ended(run_id))[1] == "painted red"


async def test_a_deadline_without_an_answer_takes_the_default(engine: Engines) -> None:
    async def hurries(task: Any, ctx: Any) -> str:
        return str(await ctx.ask("Now?", ["yes", "no"], default="no", due_s=3600))

    async with engine(AgentSpec(name="hasty", run=hurries), clock=VirtualClock(0)) as running:
        assert await running.ask() == "no"
        (answered,) = await running.journal("escalation_answered")
        assert '"by":"default"' in answered.body.decode()


async def test_who_stops_waiting_asks_no_more(engine: Engines) -> None:
    async def loses_patience(task: Any, ctx: Any) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(ctx.ask, "Anybody?")
            await ctx.step("look", bob, "x")
            group.cancel_scope.cancel()
        return "went on"

    async with engine(AgentSpec(name="hasty", run=loses_patience)) as running:
        assert await running.ask() == "went on"
        assert not running.state.escalations
        assert len(await running.journal("question_withdrawn")) == 1


async def test_a_question_goes_with_the_task_that_is_cancelled(engine: Engines) -> None:
    async with engine(AgentSpec(name="painter", run=paints)) as running:
        run_id = await running.submit()
        await asked(running)
        await running.host.order(Cancel(target=run_id))

        assert (await running.ended(run_id))[0].status == "cancelled"
        assert not running.state.escalations


async def test_a_question_beside_a_delegation_waits_for_neither_slot(engine: Engines) -> None:
    said: list[Any] = []

    async def lead(task: Any, ctx: Any) -> str:
        async def asks() -> None:
            said.append(await ctx.ask("Go?", ["yes"]))

        async with anyio.create_task_group() as group:
            group.start_soon(asks)
            said.append(await ctx.delegate("bob", "dig"))
        return " ".join(said)

    async with engine(
        AgentSpec(name="lead", run=lead), AgentSpec(name="bob", run=bob), participants=("lead",)
    ) as running:
        run_id = await running.submit()
        with anyio.fail_after(PATIENCE_S):
            while not said:
                await anyio.lowlevel.checkpoint()
        await running.until(is_parked)
        await running.host.order(Answer(escalation=await asked(running), answer="yes"))

        assert (await running.ended(run_id))[1] == "dug yes"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"options": ["a", "a"]}, "not all different"),
        ({"options": ["a"], "default": "b", "due_s": 1}, "is none of the options"),
        ({"default": "b"}, "give default and due_s together"),
        ({"due_s": 0, "default": "b"}, "a number above 0"),
        ({"options": [""]}, "options"),
    ],
)
async def test_what_nobody_could_answer_is_an_error_of_the_code(
    engine: Engines, asked: dict[str, Any], said: str
) -> None:
    async def wrong(task: Any, ctx: Any) -> str:
        return str(await ctx.ask("What?", **asked))

    async with engine(AgentSpec(name="wrong", run=wrong)) as running:
        assert said in await running.fails()
