"""What docs/operating.md promises of what a person does by hand: answers, retries, holds, and changes at work."""

from typing import Any

import pytest

from engine import Circuit, Escalate, Limits, Retry, RunFailed, Skip
from engine.core.specs.options import SupervisorOptions
from engine.errors import CommandRefusedError
from tests.meaning.diary import Diary, during

pytestmark = pytest.mark.anyio
TO_DIG: dict[str, Any] = {"coordination_mode": "map", "coordination_settings": {"to": "dig"}}


@pytest.mark.parametrize(("at_s", "order"), [(5, ["first", "new", "old"]), (15, ["first", "old", "new"])])
async def test_waiting_raises_a_priority(at_s: float, order: list[str]) -> None:
    diary = Diary()
    ada = diary.agent("ada", takes_s=20)

    async with diary.supervisor("chief", ada, options=SupervisorOptions(ageing_s=10)) as chief:

        async def act(run_id: str) -> None:
            await chief.submit("old", priority=6)
            async with diary.at(at_s):
                last = await chief.submit("new", priority=5)
            await chief.wait(last)

        await during(diary, chief, act, "first")
        await diary.clock.sleep_until(diary.clock.now_ms() + 100_000)

    assert [one.text for one in diary.entries] == order


async def test_a_task_that_backs_off_is_tried_now() -> None:
    diary = Diary()
    ada = diary.fails(1, "ada", takes_s=1, on_failure=[Retry(1, base_s=3600, cap_s=3600)])  # drawn from all of it

    async with diary.supervisor("chief", ada) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(5):
                await chief.retry("t2")

        result = await during(diary, chief, act)

    assert (result.status, [one.began_s for one in diary.entries]) == ("done", [0, 5])


async def test_a_finished_run_is_given_again() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada")) as chief:
        await chief.arun("go")
        again = await chief.retry("r1")
        result = await chief.wait(str(again.result["run_id"]))

    assert (result.output, diary.counts()) == ("ada(go)", {"ada": 2})


@pytest.mark.parametrize(
    ("answer", "output", "status", "said", "attempts"),
    [
        ("retry", None, "done", "ada(go)", 4),
        ("reject", None, "skipped", None, 2),
        ("skip", None, "skipped", None, 2),
        ("use", "mine", "done", "mine", 2),
    ],
)
async def test_the_answers_to_a_failure(answer: str, output: Any, status: str, said: Any, attempts: int) -> None:
    diary = Diary()
    chain = [Retry(1, base_s=0.001, cap_s=0.001), Escalate(), Skip()]

    async with diary.supervisor("chief", diary.fails(3, "ada", takes_s=1, on_failure=chain)) as chief:

        async def act(run_id: str) -> None:
            question = await chief.next_question()
            assert question.options == ["retry", "reject", "skip", "use"]
            await chief.answer(question.id, answer, output)

        result = await during(diary, chief, act)

    assert (result.status, result.output, diary.counts()) == (status, said, {"ada": attempts})


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [("continue", "done", "cyd(bob(ada(go)))"), ("stop", "failed", None), ("fail", "failed", None)],
)
async def test_the_answers_about_a_budget(answer: str, status: str, said: Any) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=1) for name in ("ada", "bob", "cyd")]

    async with diary.supervisor("chief", *workers, limits=Limits(attempts=2, then="ask")) as chief:

        async def act(run_id: str) -> None:
            question = await chief.next_question()
            assert question.options == ["continue", "stop", "fail"]
            async with diary.at(9):
                await chief.answer(question.id, answer)

        result = await during(diary, chief, act)

    assert result.status == status
    assert [one.agent for one in diary.entries] == ["ada", "bob", *(["cyd"] if answer == "continue" else [])]
    assert diary.now_s() == (10 if answer == "continue" else 9)
    if said is not None:
        assert result.output == said


@pytest.mark.parametrize(("answer", "began"), [("wait", [("", 0)]), ("abort", [("", 0), ("new", 9)])])
async def test_a_swap_that_drains_for_too_long_asks(answer: str, began: list[tuple[str, float]]) -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada", takes_s=30)) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                await chief.swap_agent("ada", diary.agent("ada", takes_s=30, team="new"), deadline_s=5)
            question = await chief.next_question()
            assert (diary.now_s(), question.options) == (6, ["wait", "abort"])
            async with diary.at(9):
                await chief.answer(question.id, answer)

        result = await during(diary, chief, act)

    assert [(one.team, one.began_s) for one in diary.entries] == began
    assert (result.status, diary.now_s()) == ("done", began[-1][1] + 30)


async def test_a_paused_run_begins_nothing_and_others_go_on() -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=2) for name in ("ada", "bob")]

    async with diary.supervisor("chief", *workers) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                await chief.pause(run_id)
                other = await chief.submit("other")
            await chief.wait(other)
            async with diary.at(20):
                await chief.resume(run_id)

        await during(diary, chief, act)

    assert [(one.agent, one.text, one.began_s) for one in diary.entries] == [
        ("ada", "go", 0), ("ada", "other", 2), ("bob", "ada(other)", 4), ("bob", "ada(go)", 20),
    ]  # fmt: skip


async def test_a_rollback_gives_the_spec_before_and_a_second_one_takes_that_back() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada")) as chief:
        await chief.swap_agent("ada", diary.agent("ada", team="new"))
        await chief.arun("go")
        await chief.rollback("ada")
        await chief.arun("go")
        await chief.rollback("ada")
        await chief.arun("go")

    assert diary.order() == ["new/ada", "ada", "new/ada"]


async def test_a_swap_goes_back_by_itself_after_so_many_failures() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada", "dig"), **TO_DIG) as chief:
        await chief.swap_agent("ada", diary.fails(9, "ada", "dig", takes_s=1, team="new"), rollback_after=(2, 10))
        with pytest.raises(RunFailed):
            await chief.arun(list(range(5)))

    assert diary.order() == ["new/ada", "new/ada", "ada", "ada", "ada"]


async def test_a_capability_that_an_agent_gets_makes_it_take_part_in_what_waits() -> None:
    diary = Diary()
    workers = [diary.agent("ada", "dig", takes_s=2), diary.agent("bob", "sing", takes_s=2)]

    async with diary.supervisor("chief", *workers, **TO_DIG) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                await chief.change_capabilities("bob", add=["dig"])
            async with diary.at(4):
                await chief.change_capabilities("ada", remove=["dig"], add=["sing"])

        await during(diary, chief, act, list(range(6)))

    assert [(one.agent, one.began_s) for one in diary.entries] == [
        ("ada", 0), ("bob", 1), ("ada", 2), ("bob", 3), ("bob", 5), ("bob", 7),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "output", "ended_s"),
    [("drain", "ada0 ada1 ada2", 3), ("requeue", "ada0 ada1 bob2", 3), ("abort", "ada0 bob1 bob2", 3.5)],
)
async def test_what_becomes_of_the_work_of_an_agent_that_is_removed(mode: Any, output: str, ended_s: float) -> None:
    diary = Diary()
    workers = [diary.in_steps(name, "dig") for name in ("ada", "bob")]

    async with diary.supervisor("chief", *workers, **TO_DIG) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(1.5):
                await chief.remove_agent("ada", mode=mode)

        result = await during(diary, chief, act, ["hole"])

        assert chief.list_active_agents() == ["bob"]
    assert (result.output, diary.now_s()) == ([output], ended_s)


async def test_a_busy_agent_is_not_removed_without_a_mode() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada", takes_s=2), diary.agent("bob")) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                with pytest.raises(CommandRefusedError):
                    await chief.remove_agent("ada")

        result = await during(diary, chief, act)

    assert result.output == "bob(ada(go))"


async def test_an_agent_that_is_moved_at_work_ends_it_and_works_there_afterwards() -> None:
    diary = Diary()
    chief = diary.supervisor("chief", diary.agent("ada", "dig", takes_s=4), **TO_DIG)
    below = diary.supervisor("below", diary.agent("bob", takes_s=1), max_parallel=1)
    await chief.add_sub_supervisor("below", below)

    async with chief:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                await chief.move("ada", "below")
                waits = await below.submit("there")
            await below.wait(waits)

        result = await during(diary, chief, act, ["here"])

    assert result.status == "done"
    assert [(one.agent, one.text, one.began_s) for one in diary.entries] == [
        ("ada", "here", 0), ("bob", "there", 4), ("ada", "bob(there)", 5),
    ]  # fmt: skip


async def test_of_several_swaps_all_are_made_or_none() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada"), diary.agent("bob")) as chief:
        with pytest.raises(CommandRefusedError):
            await chief.swap_agents({"ada": diary.agent("ada", team="new"), "bob": "nobody"})
        await chief.arun("go")
        await chief.swap_agents({name: diary.agent(name, team="new") for name in ("ada", "bob")})
        await chief.arun("go")

    assert diary.order() == ["ada", "bob", "new/ada", "new/bob"]


async def test_a_deadline_that_is_taken_away_ends_nothing() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada", takes_s=50)) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(5):
                await chief.set_deadline(run_id, None)

        result = await during(diary, chief, act, deadline_s=10)

    assert (result.status, diary.now_s()) == ("done", 50)


async def test_an_agent_that_is_resumed_has_its_circuit_closed() -> None:
    diary = Diary()
    ada = diary.fails(1, "ada", takes_s=1, circuit=Circuit(1, cool_s=600))

    async with diary.supervisor("chief", ada) as chief:
        with pytest.raises(RunFailed):
            await chief.arun("go")

        async def act(run_id: str) -> None:
            async with diary.at(5):
                await chief.resume("ada")

        result = await during(diary, chief, act)

    assert (result.status, [one.began_s for one in diary.entries]) == ("done", [0, 5])
