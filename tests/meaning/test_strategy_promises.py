"""What docs/semantics/strategies.md promises of each strategy: who works, how often, in what order, and on what."""

from typing import Any

import pytest

from engine import SupervisorOptions
from tests.meaning.diary import Diary, told
from tests.meaning.stages import STAGES, staged

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("stage", STAGES)]


async def test_sequential_gives_each_member_the_output_before(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=1) for name in ("ada", "bob", "cyd")]

    async with staged(stage, diary, *workers, participants=["ada", "bob", "cyd"]) as chief:
        result = await told(chief)

    assert result.output == "cyd(bob(ada(go)))"
    assert [(one.agent, one.began_s) for one in diary.entries] == [("ada", 0), ("bob", 1), ("cyd", 2)]


async def test_parallel_gives_all_of_them_the_request_at_once(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=second) for second, name in enumerate(("ada", "bob", "cyd"), 1)]

    async with staged(
        stage, diary, *workers, coordination_mode="parallel", participants=["ada", "bob", "cyd"]
    ) as chief:
        await told(chief)

    assert [(one.text, one.began_s) for one in diary.entries] == [("go", 0)] * 3
    assert diary.now_s() == 3


@pytest.mark.parametrize("names", [["ada", "bob", "cyd", "dan", "eve"], ["eve", "ada", "dan", "cyd", "bob"]])
async def test_with_one_slot_the_participants_begin_in_the_order_in_which_they_are_named(
    stage: str, names: list[str]
) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=1) for name in sorted(names)]

    async with staged(
        stage, diary, *workers, coordination_mode="parallel", participants=names,
        options=SupervisorOptions(max_total=1),
    ) as chief:  # fmt: skip
        await told(chief)

    assert [(one.agent, one.began_s) for one in diary.entries] == [(name, place) for place, name in enumerate(names)]


async def test_parallel_with_a_need_takes_as_long_as_the_nth_fastest(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=second) for second, name in enumerate(("ada", "bob", "cyd"), 1)]
    settings: dict[str, Any] = {"need": 2}

    async with staged(
        stage, diary, *workers, coordination_mode="parallel", coordination_settings=settings,
        participants=["ada", "bob", "cyd"],
    ) as chief:  # fmt: skip
        result = await told(chief)
        assert diary.now_s() == 2

    assert "cyd(" not in str(result.output)


async def test_map_gives_every_item_to_whoever_is_free_once(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent(name, "dig", takes_s=1) for name in ("ada", "bob", "cyd")]

    async with staged(stage, diary, *workers, coordination_mode="map", coordination_settings={"to": "dig"}) as chief:
        result = await told(chief, list(range(9)))

    assert result.status == "done"
    assert sorted(one.text for one in diary.entries) == [str(number) for number in range(9)]
    assert diary.counts() == {"ada": 3, "bob": 3, "cyd": 3}
    assert diary.now_s() == 3


async def test_map_without_to_gives_the_items_to_every_member_but_the_splitter(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada", says=list(range(6)), takes_s=1), diary.agent("bob", "dig", takes_s=1)]
    workers.append(diary.agent("cyd", "dig", takes_s=2))

    async with staged(stage, diary, *workers, coordination_mode="map", coordination_settings={"over": "ada"}) as chief:
        result = await told(chief)

    assert result.status == "done"
    assert diary.counts() == {"ada": 1, "bob": 4, "cyd": 2}
    assert diary.now_s() == 5


async def test_a_lead_that_maps_gets_the_outputs_in_the_order_of_the_items(stage: str) -> None:
    diary = Diary()

    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.map("dig", [f"hole {number}" for number in range(6)])

    workers = [diary.agent(name, "dig", takes_s=seconds) for name, seconds in (("ada", 1), ("bob", 2), ("cyd", 3))]

    async with staged(
        stage, diary, *workers, lead=diary.agent("lead", body=lead), coordination_mode="delegate",
        coordination_settings={"lead": "lead"},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert isinstance(result.output, list)
    assert [str(text).partition("(")[2] for text in result.output] == [f"hole {number})" for number in range(6)]
    assert len(diary.entries) == 7
    assert diary.now_s() == 4
