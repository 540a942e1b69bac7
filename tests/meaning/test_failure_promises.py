"""What docs/reference/team-file.md promises of failures, by counts, order and times: policies, crashes, list items."""

from typing import Any

import pytest

from engine import (
    AgentCrashed,
    AgentSpec,
    Fail,
    Failover,
    PermanentFailure,
    Restart,
    Retry,
    RetryLater,
    SupervisorOptions,
)
from tests.meaning.diary import Diary, during, told
from tests.meaning.stages import IN_TEAMS, STAGES, staged

pytestmark = pytest.mark.anyio
on_every_stage = pytest.mark.parametrize("stage", STAGES)


def raises(diary: Diary, name: str, *errors: Any, **spec: Any) -> AgentSpec:
    """An agent that takes a second, and raises one error after the other."""
    left = list(errors)
    return diary.agent(name, "dig", takes_s=1, says=lambda task: left.pop(0) if left else "done", **spec)


class Gone(ConnectionError):
    """An error of a class of its own."""


@pytest.mark.parametrize(
    ("errors", "began"),
    [
        ([Gone("x"), KeyError("y"), RuntimeError("z")], [0, 1, 2]),
        ([RuntimeError("z")], [0]),
        ([Gone("x"), FileNotFoundError("y")], [0, 1]),
        ([RetryLater(7), ConnectionError("x"), PermanentFailure("final")], [0, 8, 9]),
    ],
)
async def test_a_retry_is_for_the_errors_that_it_names_and_keeps_to_the_wait_that_one_asks_for(
    errors: list[Exception], began: list[float]
) -> None:
    diary = Diary()
    policy = Retry(5, 0.001, 0.001, on=["OSError", "KeyError", "RetryLater"], never_on=["FileNotFoundError"])

    async with diary.supervisor("chief", raises(diary, "ada", *errors, on_failure=[policy])) as chief:
        result = await told(chief)

    assert (result.status, [round(one.began_s) for one in diary.entries]) == ("failed", began)


@on_every_stage
async def test_failover_tries_so_many_others_with_the_retries_before_it_anew(stage: str) -> None:
    diary = Diary()
    errors = [RuntimeError("no")] * 9
    first = raises(diary, "ada", *errors, on_failure=[Retry(1, 0.001, 0.001), Failover(2)])
    others = [raises(diary, name, *errors) for name in ("bob", "cyd", "dan")]

    async with staged(stage, diary, first, *others, participants=["ada"]) as chief:
        result = await told(chief)

    assert (result.status, diary.order()) == ("failed", ["ada", "ada", "bob", "bob", "cyd", "cyd"])


@pytest.mark.parametrize("stage", [one for one in STAGES if one not in (*IN_TEAMS, "attached")])
async def test_fail_stops_at_once_what_is_open_of_the_same_graph(stage: str) -> None:
    diary = Diary()
    first = raises(diary, "ada", RuntimeError("no"), on_failure=[Fail()])

    async with staged(
        stage, diary, first, diary.agent("bob", takes_s=9), coordination_mode="parallel", participants=["ada", "bob"]
    ) as chief:
        result = await told(chief)
        assert (result.status, diary.now_s()) == ("failed", 1)

    assert [one.ended_s for one in diary.entries] == [1, None]


@pytest.mark.parametrize("stage", IN_TEAMS)
async def test_a_team_beside_one_whose_task_fails_the_graph_goes_on(stage: str) -> None:
    diary = Diary()
    first = raises(diary, "ada", RuntimeError("no"), on_failure=[Fail()])

    async with staged(
        stage, diary, first, diary.agent("bob", takes_s=9), coordination_mode="parallel", participants=["ada", "bob"]
    ) as chief:
        result = await told(chief)

    assert (result.status, [one.ended_s for one in diary.entries]) == ("failed", [1, 9])


@pytest.mark.parametrize(
    ("strategy", "order", "took_s"),
    [
        ("one_for_one", ["ada", "bob", "cyd", "bob"], 3),
        ("rest_for_one", ["ada", "bob", "cyd", "bob", "cyd"], 3.5),
        ("one_for_all", ["ada", "bob", "cyd", "ada", "bob", "cyd"], 3.5),
    ],
)
async def test_a_crash_starts_others_anew_and_their_finished_steps_stay(
    strategy: Any, order: list[str], took_s: float
) -> None:
    diary = Diary()
    left = [1]

    async def crash(task: Any, ctx: Any) -> str:
        await ctx.sleep(1.5)
        left[0] -= 1
        if left[0] >= 0:
            raise AgentCrashed("boom")
        return "bob"

    bob = diary.agent("bob", body=crash, on_failure=[Retry(1, 0.001, 0.001)])
    options = SupervisorOptions(restart=Restart(strategy))
    async with diary.supervisor(
        "chief", diary.in_steps("ada"), bob, diary.in_steps("cyd"), coordination_mode="parallel", options=options
    ) as chief:
        result = await told(chief)

    assert (result.status, sorted(diary.order()), round(diary.now_s(), 1)) == ("done", sorted(order), took_s)
    assert len(diary.steps) == 6


@on_every_stage
async def test_an_optional_item_that_fails_is_left_out_and_one_that_says_nothing_keeps_its_place(stage: str) -> None:
    diary = Diary()
    outputs = {"bad": RuntimeError("no"), "nothing": None}
    ada = diary.agent("ada", "dig", takes_s=1, says=lambda task: outputs.get(task.text, task.text.upper()))

    requests: list[Any] = [{"items": ["a", "bad", "nothing", "b"]}, '["x", "y"]', [], ["bad"]]

    async with staged(
        stage, diary, ada, coordination_mode="map", coordination_settings={"to": "dig", "optional": True}
    ) as chief:
        results = [(await told(chief, request)).output for request in requests]

    assert results == [["A", None, "B"], ["X", "Y"], [], []]
    assert diary.counts() == {"ada": 7}


@pytest.mark.parametrize(
    ("mode", "order", "took_s"),
    [
        ("drain", ["ada", "ada", "ada"], 6),
        ("requeue", ["ada", "bob", "bob", "bob"], 7),
        ("abort", ["ada", "bob", "bob", "bob"], 7),
    ],
)
async def test_items_for_one_that_is_removed_go_to_who_shares_a_specialty(
    mode: Any, order: list[str], took_s: float
) -> None:
    diary = Diary()
    workers = [diary.agent("ada", "dig", takes_s=2), diary.agent("bob", "dig", "sing", takes_s=2)]

    async with diary.supervisor(
        "chief", *workers, coordination_mode="map", coordination_settings={"to": "ada"}
    ) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                await chief.remove_agent("ada", mode=mode)

        result = await during(diary, chief, act, [1, 2, 3])

    assert (result.status, diary.order(), diary.now_s()) == ("done", order, took_s)


@pytest.mark.parametrize(("mode", "output", "took_s"), [("sequential", "cyd(ada(go))", 3), ("parallel", None, 2)])
async def test_those_who_wait_for_a_cancelled_task_go_on_without_it(mode: str, output: Any, took_s: float) -> None:
    diary = Diary()
    workers = [diary.agent("ada", takes_s=1), diary.agent("bob", takes_s=9), diary.agent("cyd", takes_s=1)]

    async with diary.supervisor("chief", *workers, coordination_mode=mode) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(2):
                await chief.cancel(str(chief.active_agents["bob"].current_task))

        result = await during(diary, chief, act)

    assert (result.status, diary.now_s(), diary.counts()) == ("done", took_s, {"ada": 1, "bob": 1, "cyd": 1})
    assert result.output == (output or "## ada\n\nada(go)\n\n## cyd\n\ncyd(go)")


async def test_a_failed_task_is_tried_again_while_nothing_went_on_without_it() -> None:
    diary = Diary()
    workers = [raises(diary, "ada", RuntimeError("no")), diary.agent("bob", takes_s=5)]

    async with diary.supervisor("chief", *workers, coordination_mode="parallel") as chief:

        async def act(run_id: str) -> None:
            async with diary.at(2):
                await chief.retry("t2")

        result = await during(diary, chief, act)

    assert (result.status, diary.now_s(), diary.counts()) == ("done", 5, {"ada": 2, "bob": 1})


async def test_steps_are_answered_from_the_journal_by_name_input_and_occurrence() -> None:
    diary = Diary()

    async def body(task: Any, ctx: Any) -> Any:
        async def step(value: int) -> int:
            diary.steps.append(("step", str(task.attempt), value))
            return value

        found = [await ctx.step("step", step, value) for value in (1, 1, 2)]
        if task.attempt == 1:
            raise RuntimeError("no")
        return [*found, await ctx.step("step", step, 1)]

    ada = diary.agent("ada", body=body, on_failure=[Retry(1, 0.001, 0.001)])
    async with diary.supervisor("chief", ada) as chief:
        result = await told(chief)

    assert result.output == [1, 1, 2, 1]
    assert [(attempt, value) for _, attempt, value in diary.steps] == [("1", 1), ("1", 1), ("1", 2), ("2", 1)]


async def test_what_is_returned_once_cancelled_is_kept_as_the_partial_result() -> None:
    diary = Diary()

    async def body(task: Any, ctx: Any) -> str:
        done = 0
        while not ctx.cancelled:
            await diary.works(1)
            done += 1
        return f"{done} done"

    async with diary.supervisor("chief", diary.agent("ada", body=body)) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(2.5):
                await chief.cancel(run_id)

        result = await during(diary, chief, act)

    assert (result.status, result.output, diary.now_s()) == ("cancelled", "3 done", 3)
