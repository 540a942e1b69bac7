"""`need` and `first` make a team faster: it goes on with the first answers, and nothing waits for the rest."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import JsonValue

from engine import AgentSpec, DynamicSupervisor, RunResult
from engine.core.state import RunStatus
from tests.meaning.diary import Diary, during, told
from tests.meaning.stages import STAGES, staged
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
in_time = pytest.mark.parametrize("stage", [one for one in STAGES if one != "attached"])

FIVE = {"ada": 0.5, "bob": 0.4, "cyd": 0.3, "dan": 0.2, "eve": 0.1}
"""How long each takes; who is declared first takes longest."""


def racing(diary: Diary, *others: AgentSpec, mode: str = "parallel", **fields: Any) -> DynamicSupervisor:
    """Return a team whose members take as long as `FIVE` says."""
    specs = [diary.agent(name, takes_s=takes_s) for name, takes_s in FIVE.items() if name not in fields]
    settings = {"need": fields.pop("need")} if "need" in fields else {}
    return diary.supervisor("chief", *specs, *others, coordination_mode=mode, coordination_settings=settings, **fields)


def five(diary: Diary) -> list[AgentSpec]:
    return [diary.agent(name, takes_s=takes_s) for name, takes_s in FIVE.items()]


async def first(chief: DynamicSupervisor, request: JsonValue = "go") -> RunResult:
    await chief.reconfigure_coordination({"aggregation": "first"})
    return await told(chief, request)


@in_time
async def test_two_of_five_take_as_long_as_the_second_and_are_joined_in_declared_order(stage: str) -> None:
    diary = Diary()

    async with staged(
        stage, diary, *five(diary), coordination_mode="parallel", coordination_settings={"need": 2},
        participants=list(FIVE),
    ) as chief:  # fmt: skip
        result = await told(chief)
        took_s = diary.now_s()

    assert (took_s, result.status) == (0.2, RunStatus.DONE)
    assert result.output == "## dan\n\ndan(go)\n\n## eve\n\neve(go)"
    assert {one.agent for one in diary.entries if one.ended_s is not None} == {"dan", "eve"}


async def test_one_that_does_not_let_itself_be_stopped_is_not_waited_for_and_its_slot_is_taken_until_it_ends() -> None:
    diary = Diary()
    release = anyio.Event()

    async def stubborn(task: Any, ctx: Any) -> str:
        try:
            await ctx.sleep(100)
        finally:
            with anyio.CancelScope(shield=True):
                await release.wait()
            ctx.spent(tokens_in=7)
        return "late"

    async with racing(diary, diary.agent("fox", body=stubborn), need=2) as chief:
        result = await told(chief)
        took_s = diary.now_s()
        stuck = chief._state.agents["a6"].stuck
        release.set()
        with anyio.fail_after(PATIENCE_S):
            while chief._state.agents["a6"].stuck:
                await anyio.lowlevel.checkpoint()
        usage = chief._state.agents["a6"].usage.tokens_in

    assert (took_s, stuck, usage) == (0.2, 1, 7)
    assert result.output == "## dan\n\ndan(go)\n\n## eve\n\neve(go)"


@in_time
async def test_the_first_answer_is_the_output_as_soon_as_it_is_there(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, *five(diary), coordination_mode="parallel", participants=list(FIVE)) as chief:
        result = await first(chief)
        assert (diary.now_s(), result.output) == (0.1, "eve(go)")

    assert [one.agent for one in diary.entries if one.ended_s is not None] == ["eve"]


async def test_one_that_fails_before_the_first_answer_does_not_matter() -> None:
    diary = Diary()

    async def fail(task: Any, ctx: Any) -> None:
        raise ValueError("broken")

    async with racing(diary, diary.agent("fox", body=fail)) as chief:
        result = await first(chief)

    assert (diary.now_s(), result.status, result.output) == (0.1, RunStatus.DONE, "eve(go)")


@in_time
async def test_three_of_four_fail_as_soon_as_two_have_failed(stage: str) -> None:
    diary = Diary()

    async def fail(task: Any, ctx: Any) -> None:
        raise ValueError("broken")

    specs = [diary.agent("ada", takes_s=0.1, body=fail), diary.agent("bob", takes_s=0.2, body=fail)]
    specs += [diary.agent("cyd", takes_s=0.3), diary.agent("dan", takes_s=5)]

    async with staged(
        stage, diary, *specs, coordination_mode="parallel", coordination_settings={"need": 3},
        participants=["ada", "bob", "cyd", "dan"],
    ) as chief:  # fmt: skip
        result = await told(chief)
        assert (diary.now_s(), result.status) == (0.2, RunStatus.FAILED)

    assert "3 of 4 answers are needed and 2 will not come (bob: " in str(result.error)


@in_time
async def test_a_synthesis_begins_with_the_first_answers(stage: str) -> None:
    diary = Diary()

    async with staged(
        stage, diary, *five(diary), diary.agent("fox", takes_s=1), coordination_mode="parallel_then_synthesis",
        coordination_settings={"need": 2}, aggregator="fox", participants=[*FIVE, "fox"],
    ) as chief:  # fmt: skip
        await told(chief)
        assert (diary.of("fox")[0].began_s, diary.now_s()) == (0.2, 1.2)

    assert [one in diary.of("fox")[0].text for one in ("ada", "bob", "cyd", "dan(go)", "eve(go)")] == [
        False, False, False, True, True,
    ]  # fmt: skip


async def test_everything_below_a_team_that_is_not_needed_is_stopped_too() -> None:
    diary = Diary()

    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.delegate("digger", "dig")

    below = diary.supervisor(
        "below",
        diary.agent("lead", body=lead),
        diary.agent("digger", takes_s=9),
        lead="lead",
        coordination_mode="delegate",
    )
    chief = racing(diary, need=2)
    await chief.add_sub_supervisor("below", below)

    async with chief:
        result = await told(chief)

    assert (diary.now_s(), result.status) == (0.2, RunStatus.DONE)
    assert [one.ended_s for one in diary.of("digger")] == [None]


async def test_of_the_items_of_a_list_the_first_that_is_done_is_the_output() -> None:
    diary = Diary()

    async def dig(task: Any, ctx: Any) -> str:
        await ctx.sleep(float(task.text))
        return f"dug {task.text}"

    spec = diary.agent("digger", body=dig, max_concurrency=9)
    async with diary.supervisor(
        "chief", spec, coordination_mode="map", coordination_settings={"join": "first"}
    ) as chief:
        result = await told(chief, ["3", "1", "2"])

    assert (diary.now_s(), result.output) == (1, "dug 1")


@pytest.mark.parametrize("settings", [{"to": "dig"}, {"over": "splitter"}], ids=["to", "over"])
@in_time
async def test_items_that_are_not_needed_are_not_begun(stage: str, settings: dict[str, JsonValue]) -> None:
    diary = Diary()
    workers = [diary.agent("ada", "dig", takes_s=1), diary.agent("bob", "dig", takes_s=2)]

    async with staged(
        stage, diary, *workers, lead=diary.agent("splitter", says=list(range(6))), coordination_mode="map",
        coordination_settings={"join": "first", **settings},
    ) as chief:  # fmt: skip
        await told(chief, list(range(6)))
        assert diary.now_s() == 1

    assert [(one.agent, one.ended_s) for one in diary.entries if one.agent != "splitter"] == [("ada", 1), ("bob", None)]


LATER = {"ada": 0.7, "bob": 0.2, "cyd": 0.1, "dan": 0.3, "eve": 9.0}
"""How long each takes: who is declared first comes after others."""


@in_time
@pytest.mark.parametrize(
    ("at_s", "need", "joined", "took_s"),
    [
        (0.5, 1, ["bob"], 0.5),
        (0.5, 2, ["bob", "cyd"], 0.5),
        (0.5, 3, ["bob", "cyd", "dan"], 0.5),
        (0.15, 2, ["bob", "cyd"], 0.2),
        (0.5, 4, ["ada", "bob", "cyd", "dan"], 0.7),
        (0.8, 3, ["ada", "bob", "cyd"], 0.8),
    ],
)
async def test_after_a_switch_the_first_done_in_the_order_of_the_plan_are_joined_whoever_came_first(
    stage: str, at_s: float, need: int, joined: list[str], took_s: float
) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=takes_s) for name, takes_s in LATER.items()]

    async with staged(stage, diary, *workers, coordination_mode="parallel", participants=list(LATER)) as chief:

        async def switch(run_id: str) -> None:
            async with diary.at(at_s):
                await chief.reconfigure_coordination({"mode": "parallel", "settings": {"need": need}})

        result = await during(diary, chief, switch)
        assert (result.status, diary.now_s()) == (RunStatus.DONE, took_s)

    sections = [f"## {name}\n\n{name}(go)" for name in joined]
    assert result.output == ("\n\n".join(sections) if need > 1 else f"{joined[0]}(go)")
