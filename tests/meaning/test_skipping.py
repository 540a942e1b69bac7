"""What `skip` means: those who wait go on without the task, and a run that nothing came of says so."""

from typing import Any

import pytest

from engine import AgentSpec, Escalate, Limits, RunCancelled, RunSkipped, Skip
from tests.meaning.diary import Diary, told
from tests.meaning.stages import STAGES, staged

pytestmark = pytest.mark.anyio
on_every_stage = pytest.mark.parametrize("stage", STAGES)


def skipper(diary: Diary, name: str, *policies: Any, **fields: Any) -> AgentSpec:
    """Return an agent that fails, and is skipped then."""

    async def fail(task: Any, ctx: Any) -> None:
        raise ValueError("no idea")

    return diary.agent(name, body=fail, on_failure=policies or (Skip(),), **fields)


@on_every_stage
async def test_a_chain_goes_on_without_a_member_that_was_skipped(stage: str) -> None:
    diary = Diary()
    specs = [diary.agent("ada"), skipper(diary, "bob"), diary.agent("cyd")]

    async with staged(stage, diary, *specs, participants=["ada", "bob", "cyd"]) as chief:
        result = await told(chief)

    assert (result.status, result.output) == ("done", "cyd(ada(go))")


@on_every_stage
async def test_a_chain_whose_first_member_was_skipped_begins_with_the_request(stage: str) -> None:
    diary = Diary()
    specs = [skipper(diary, "ada"), diary.agent("bob"), diary.agent("cyd")]

    async with staged(stage, diary, *specs, participants=["ada", "bob", "cyd"]) as chief:
        result = await told(chief)

    assert (result.status, result.output) == ("done", "cyd(bob(go))")


@on_every_stage
async def test_a_chain_whose_last_member_was_skipped_has_the_output_of_the_one_before(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, diary.agent("ada"), skipper(diary, "bob"), participants=["ada", "bob"]) as chief:
        result = await told(chief)

    assert (result.status, result.output) == ("done", "ada(go)")


@on_every_stage
async def test_one_that_has_said_nothing_gives_nothing_on(stage: str) -> None:
    diary = Diary()
    specs = [diary.agent("ada"), diary.agent("bob", says=lambda task: None), diary.agent("cyd")]

    async with staged(stage, diary, *specs, participants=["ada", "bob", "cyd"]) as chief:
        result = await told(chief)

    assert (result.status, result.output) == ("done", "cyd(ada(go))")


@pytest.mark.parametrize("policy", [Skip(), Escalate(after_s=5, default="skip")], ids=["skip", "escalate"])
@pytest.mark.parametrize("mode", ["sequential", "parallel", "parallel_then_synthesis", "delegate", "map"])
@pytest.mark.parametrize("stage", ["alone", "teams", "broken"])
async def test_a_run_whose_every_task_was_skipped_is_skipped_and_says_why(stage: str, mode: str, policy: Any) -> None:
    diary = Diary()
    specs = [skipper(diary, name, policy) for name in ("ada", "bob")]

    async with staged(
        stage, diary, *specs, coordination_mode=mode, default_agent="ada", participants=["ada", "bob"]
    ) as chief:
        with pytest.raises(RunSkipped, match=r"skipped: (ada|bob).*no idea") as raised:
            await chief.arun("go")

    assert (raised.value.result.status, raised.value.result.output) == ("skipped", None)
    assert not isinstance(raised.value, RunCancelled)


async def test_a_synthesis_that_was_skipped_is_not_replaced_by_one_of_its_parts() -> None:
    diary = Diary()
    specs = [diary.agent("ada"), diary.agent("bob"), skipper(diary, "editor")]

    async with diary.supervisor(
        "chief", *specs, coordination_mode="parallel_then_synthesis", aggregator="editor"
    ) as chief:
        result = await told(chief)

    assert (result.status, result.error) == ("skipped", "editor: no idea")


async def test_a_join_goes_on_without_those_that_were_skipped() -> None:
    diary = Diary()
    specs = [diary.agent("ada"), skipper(diary, "bob"), diary.agent("cyd")]

    async with diary.supervisor("chief", *specs, coordination_mode="parallel") as chief:
        result = await told(chief)

    assert (result.status, result.output) == ("done", "## ada\n\nada(go)\n\n## cyd\n\ncyd(go)")


@pytest.mark.parametrize("policy", [Skip(), Escalate(after_s=5, default="skip")], ids=["skip", "escalate"])
@on_every_stage
async def test_a_delegated_task_that_was_skipped_is_none_in_the_lead(stage: str, policy: Any) -> None:
    diary = Diary()
    found: list[Any] = []

    async def lead(task: Any, ctx: Any) -> str:
        found.append(await ctx.delegate("bob", "one"))
        found.append(await ctx.map("bob", ["two"]))
        found.append(await ctx.map("bob", ["three"], return_failures=True))
        return "went on"

    async with staged(
        stage, diary, skipper(diary, "bob", policy), lead=diary.agent("lead", body=lead),
        coordination_mode="delegate", coordination_settings={"lead": "lead"},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert (result.status, result.output) == ("done", "went on")
    assert found == [None, [None], [None]]


async def test_a_team_that_nothing_came_of_is_gone_on_without() -> None:
    diary = Diary()
    below = diary.supervisor("below", skipper(diary, "ada"))
    chief = diary.supervisor("chief", diary.agent("bob"))
    await chief.add_sub_supervisor("below", below)
    await chief.add_agent(diary.agent("cyd"))

    result = await told(chief)

    assert (result.status, result.output) == ("done", "cyd(bob(go))")


async def test_a_run_that_waits_for_one_that_was_skipped_fails_and_says_so() -> None:
    diary = Diary()

    async with diary.supervisor("chief", skipper(diary, "ada", takes_s=1)) as chief:
        first = await chief.submit("one")
        result = await told(chief, "two", after=[first])

    assert (result.status, result.error) == ("failed", "r1 was skipped, which this waits for")


async def test_nobody_cancelled_a_graph_whose_every_way_was_left_out() -> None:
    diary = Diary()
    nodes = [{"name": "one", "agent": "ada", "when": {"contains": "bug"}}]

    async with diary.supervisor(
        "chief", diary.agent("ada"), coordination_mode="graph", coordination_settings={"nodes": nodes}
    ) as chief:
        result = await told(chief)

    assert (result.status, result.error) == ("skipped", "one is left out: its guard does not hold")


@pytest.mark.parametrize("cut_off", ["deadline", "budget"])
async def test_what_the_first_of_two_had_said_when_it_was_cut_off_is_kept(cut_off: str) -> None:
    diary = Diary()

    async def first(task: Any, ctx: Any) -> str:
        ctx.emit("the beginning")
        await ctx.sleep(100)
        return "never"

    specs = [diary.agent("ada", body=first), diary.agent("bob")]
    duties: dict[str, Any] = {"deadline_s": 5}
    if cut_off == "budget":
        duties = {"limits": Limits(time_s=5)}

    async with diary.supervisor("chief", *specs) as chief:
        result = await told(chief, **duties)

    assert (result.status, result.output) == ("failed", "the beginning")
    assert diary.counts() == {"ada": 1}
