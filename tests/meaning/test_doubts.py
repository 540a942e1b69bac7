"""Calls of tools that were cut off: nothing is called twice unless a person says so (docs/operating.md, Questions)."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from engine import (
    AgentCrashed,
    AgentSpec,
    DynamicSupervisor,
    Limits,
    Preempt,
    Restart,
    Retry,
    Skip,
    SupervisorOptions,
    idempotent,
)
from tests.meaning.diary import Diary, during
from tests.meaning.stages import staged

pytestmark = pytest.mark.anyio
Act = Callable[[Diary, DynamicSupervisor], Coroutine[Any, Any, None]]
PAYS_S = 5


def buyer(diary: Diary, name: str, **spec: Any) -> AgentSpec:
    """An agent that looks for two seconds, and then calls a tool that takes five."""

    async def pay(what: str) -> str:
        diary.steps.append(("pay", what, round(diary.now_s())))
        await diary.works(PAYS_S)
        return f"paid {what}"

    async def body(task: Any, ctx: Any) -> Any:
        await ctx.step("look", lambda: diary.works(2))
        return await ctx.tool("pay", task.text)

    return diary.agent(name, "buying", body=body, tools=[pay], **spec)


async def swap(diary: Diary, chief: DynamicSupervisor) -> None:
    await chief.swap_agent("ada", buyer(diary, "ada", team="new"), mode="abort")


async def move_on(diary: Diary, chief: DynamicSupervisor) -> None:
    await chief.reassign(str(chief.active_agents["ada"].current_task), "bob", now=True)


async def remove(diary: Diary, chief: DynamicSupervisor) -> None:
    await chief.remove_agent("ada", mode="abort")


CUTS: dict[str, Act] = {"swap": swap, "reassign": move_on, "remove": remove}


def paid(diary: Diary) -> list[int]:
    """Return the moments at which the tool was called."""
    return [second for name, _, second in diary.steps if name == "pay"]


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize(
    ("answer", "status", "output", "took_s"),
    [("again", "done", "paid go", PAYS_S), ("ran", "done", "by hand", 0), ("fail", "failed", None, 0)],
)
async def test_a_call_that_is_cut_off_is_made_again_only_where_a_person_says_so(
    how: str, answer: str, status: str, output: Any, took_s: int
) -> None:
    diary = Diary()
    workers = [buyer(diary, name) for name in ("ada", "bob")]

    async with diary.supervisor("chief", *workers, participants=["ada"]) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(4):
                await CUTS[how](diary, chief)
            question = await chief.next_question()
            assert (question.kind, question.options, diary.now_s()) == ("doubt", ["again", "ran", "fail"], 4)
            async with diary.at(20):
                assert paid(diary) == [2]
                await chief.answer(question.id, answer, "by hand" if answer == "ran" else None)

        result = await during(diary, chief, act)

        assert (result.status, result.output) == (status, output), result.error
        assert chief.questions == []
    looks_again_s = 2 if how == "swap" and answer != "fail" else 0  # what is aborted throws its steps away
    assert diary.now_s() == 20 + looks_again_s + took_s
    assert paid(diary) == ([2, 20 + looks_again_s] if answer == "again" else [2])


async def test_each_of_several_calls_is_asked_about_and_answered_apart() -> None:
    diary = Diary()

    async with diary.supervisor("chief", buyer(diary, "ada", max_concurrency=3), coordination_mode="parallel") as chief:
        runs = [await chief.submit(text) for text in ("x", "y")]

        async def act(run_id: str) -> None:
            async with diary.at(4):
                await chief.swap_agent("ada", buyer(diary, "ada", max_concurrency=3, team="new"), mode="abort")
            async with diary.at(20):
                asked = {question.run_id: question.id for question in chief.questions}
                await chief.answer(asked[runs[0]], "again")
                await chief.answer(asked[runs[1]], "ran", "by hand")
                assert len(asked) == 3
            async with diary.at(30):
                await chief.answer(asked[run_id], "ran", "later")

        last = await during(diary, chief, act, "z")
        outputs = [(await chief.wait(one)).output for one in runs]

    assert ([*outputs, last.output], paid(diary)) == (["paid x", "by hand", "later"], [2, 2, 2, 22])
    assert diary.now_s() == 32


async def test_a_timeout_in_a_call_is_asked_about_before_any_policy() -> None:
    diary = Diary()
    ada = buyer(diary, "ada", timeout_s=4, on_failure=[Retry(3, 0.001, 0.001), Skip()])

    async with diary.supervisor("chief", ada) as chief:

        async def act(run_id: str) -> None:
            for second, answer in ((9, "again"), (20, "ran")):
                question = await chief.next_question()
                async with diary.at(second):
                    await chief.answer(question.id, answer, "by hand" if answer == "ran" else None)

        result = await during(diary, chief, act)

    assert (result.output, paid(diary), [one.began_s for one in diary.entries]) == ("by hand", [2, 9], [0, 9, 20])


async def test_an_urgent_task_that_stops_a_call_now_leaves_it_in_doubt() -> None:
    diary = Diary()
    options = SupervisorOptions(preempt=Preempt(at="now"))

    async with diary.supervisor("chief", buyer(diary, "ada"), options=options) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(4):
                last = await chief.submit("urgent", priority=0)
            question = await chief.next_question()
            async with diary.at(6):
                await chief.answer(question.id, "again")
            await chief.wait(last)

        await during(diary, chief, act)

    assert diary.steps == [("pay", "go", 2), ("pay", "urgent", 6), ("pay", "go", 11)]
    assert diary.now_s() == 16


async def test_a_crash_of_another_agent_that_restarts_all_leaves_a_call_in_doubt() -> None:
    diary = Diary()

    async def crash(task: Any, ctx: Any) -> None:
        await ctx.sleep(4)
        raise AgentCrashed("boom")

    eve = diary.agent("eve", body=crash, on_failure=[Skip()])
    options = SupervisorOptions(restart=Restart("one_for_all"))
    async with diary.supervisor(
        "chief", buyer(diary, "ada"), eve, coordination_mode="parallel", options=options
    ) as chief:

        async def act(run_id: str) -> None:
            question = await chief.next_question()
            async with diary.at(9):
                await chief.answer(question.id, "ran", "by hand")

        result = await during(diary, chief, act)

    assert (result.output, paid(diary), diary.now_s()) == ("by hand", [2], 9)


@pytest.mark.parametrize("how", ["cancel", "deadline", "budget"])
async def test_nobody_is_asked_about_a_call_of_work_that_ends(how: str) -> None:
    diary = Diary()
    duties: dict[str, Any] = {"deadline": {"deadline_s": 4}, "budget": {"limits": Limits(time_s=4, then="fail")}}

    async with diary.supervisor("chief", buyer(diary, "ada"), options=SupervisorOptions(grace_s=0)) as chief:

        async def act(run_id: str) -> None:
            if how == "cancel":
                async with diary.at(4):
                    await chief.cancel(run_id)

        result = await during(diary, chief, act, **duties.get(how, {}))

        assert (result.status, chief.questions) == ("cancelled" if how == "cancel" else "failed", [])
    assert (paid(diary), diary.now_s()) == ([2], 4)


async def test_an_idempotent_tool_is_called_again_with_the_same_key_and_nobody_is_asked() -> None:
    diary, keys = Diary(), list[str]()

    @idempotent
    async def pay(what: str, idempotency_key: str = "") -> str:
        keys.append(idempotency_key)
        await diary.works(PAYS_S)
        return f"paid {what}"

    async def body(task: Any, ctx: Any) -> Any:
        return await ctx.tool("pay", task.text)

    workers = [diary.agent(name, body=body, tools=[pay]) for name in ("ada", "bob")]
    async with diary.supervisor("chief", *workers, participants=["ada"]) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(4):
                await move_on(diary, chief)

        result = await during(diary, chief, act)

    assert (result.output, diary.order(), diary.now_s()) == ("paid go", ["ada", "bob"], 4 + PAYS_S)
    assert (len(keys), len(set(keys))) == (2, 1)


@pytest.mark.parametrize("stage", ["alone", "teams", "twins", "paused", "attached"])
@pytest.mark.parametrize(
    ("answer", "status", "output", "calls"),
    [("again", "done", "paid go", 2), ("ran", "done", {"by": "hand"}, 1), ("fail", "failed", None, 1)],
)
async def test_a_doubt_is_answered_from_wherever_it_is_seen(
    stage: str, answer: str, status: str, output: Any, calls: int
) -> None:
    diary = Diary()

    async def pay(what: str) -> str:
        diary.steps.append(("pay", what, round(diary.now_s())))
        await diary.works(30 if len(diary.steps) == 1 else 1)
        return f"paid {what}"

    async def body(task: Any, ctx: Any) -> Any:
        return await ctx.tool("pay", task.text)

    ada = diary.agent("ada", "buying", body=body, tools=[pay], timeout_s=4)

    async with staged(stage, diary, ada, participants=["ada"]) as chief:

        async def act(run_id: str) -> None:
            question = await chief.next_question()
            assert (question.run_id, question.options) == (run_id, ["again", "ran", "fail"])
            async with diary.at(20):
                await chief.answer(question.id, answer, output if answer == "ran" else None)

        result = await during(diary, chief, act)
        assert chief.questions == []

    assert (result.status, result.output, len(paid(diary))) == (status, output, calls)
    assert all(second >= 20 for second in paid(diary)[1:])
