"""The diary itself: exact counts, order and times on the virtual clock."""

import pytest

from tests.meaning.diary import Diary, told

pytestmark = pytest.mark.anyio


async def test_sequential_agents_work_one_after_the_other_and_each_gets_the_output_before() -> None:
    diary = Diary()
    specs = [diary.agent(name, takes_s=2) for name in ("ada", "bob")]

    async with diary.supervisor("chief", *specs) as chief:
        result = await told(chief)

    assert result.output == "bob(ada(go))"
    assert [(one.agent, one.began_s, one.ended_s) for one in diary.entries] == [("ada", 0, 2), ("bob", 2, 4)]


async def test_parallel_agents_work_at_once() -> None:
    diary = Diary()
    specs = [diary.agent(name, takes_s=2) for name in ("ada", "bob")]

    async with diary.supervisor("chief", *specs, coordination_mode="parallel") as chief:
        await told(chief)

    assert {(one.began_s, one.ended_s) for one in diary.entries} == {(0, 2)}
    assert diary.counts() == {"ada": 1, "bob": 1}


async def test_every_item_of_a_map_is_done_once_by_whoever_is_free() -> None:
    diary = Diary()

    async def lead(task: object, ctx: object) -> object:
        return await ctx.map("dig", list(range(6)))  # type: ignore[attr-defined]

    specs = [diary.agent("lead", body=lead), *(diary.agent(one, "dig", takes_s=1) for one in ("ada", "bob", "cyd"))]

    async with diary.supervisor("chief", *specs, coordination_mode="delegate", lead="lead") as chief:
        await told(chief)

    assert diary.counts() == {"lead": 1, "ada": 2, "bob": 2, "cyd": 2}
    assert diary.of("lead")[0].ended_s == 2
