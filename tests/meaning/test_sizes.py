"""The same promises at forty and a thousand agents: everybody who is able takes part, and nothing waits for nothing."""

import anyio
import pytest

from engine import DynamicSupervisor, SupervisorOptions
from tests.meaning.diary import Diary, told

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("size", [40, 1_000])]
EACH = 3
"""Items for each agent."""


async def test_every_agent_gets_its_share_of_a_map(size: int) -> None:
    diary = Diary()
    workers = [diary.agent(f"w{number}", "dig", takes_s=1) for number in range(size)]

    async with diary.supervisor(
        "chief", *workers, coordination_mode="map", coordination_settings={"to": "dig"}, max_agents=size,
        max_parallel=size,
    ) as chief:  # fmt: skip
        await told(chief, list(range(EACH * size)))

    assert set(diary.counts().values()) == {EACH}
    assert diary.now_s() == EACH


async def test_parallel_takes_as_long_as_the_slowest(size: int) -> None:
    diary = Diary()
    workers = [diary.agent(f"w{number}", takes_s=1 + number % 3) for number in range(size)]

    async with diary.supervisor(
        "chief", *workers, coordination_mode="parallel", max_agents=size, max_parallel=size
    ) as chief:
        result = await told(chief)

    assert result.status == "done"
    assert len(diary.entries) == size
    assert diary.now_s() == 3


async def test_a_limit_over_many_teams_is_used_whole_and_by_priority(size: int) -> None:
    diary = Diary()
    chief = diary.supervisor("chief", options=SupervisorOptions(max_total=10))
    teams = []
    for number in range(size // 10):
        team = DynamicSupervisor(f"team{number}", agent_specs=[diary.agent(f"w{number}", takes_s=1)])
        await chief.add_sub_supervisor(f"team{number}", team)
        teams.append(team)

    async with chief, anyio.create_task_group() as group, diary.at(0):
        for number, team in enumerate(teams):
            priority = 1 if number >= len(teams) // 2 else 9
            group.start_soon(team.wait, await team.submit(str(priority), priority=priority))

    begun = [one.text for one in sorted(diary.entries, key=lambda one: one.began_s)]
    first = min(10, len(teams))
    assert begun[first:] == sorted(begun[first:])
    assert diary.now_s() == -(-len(teams) // 10)


async def test_who_is_equal_goes_in_the_order_of_the_declaration(size: int) -> None:
    diary = Diary()
    names = [f"w{number}" for number in range(size)]
    workers = [diary.agent(name, "dig", takes_s=1) for name in names]

    async with diary.supervisor(
        "chief", *workers, coordination_mode="parallel", max_agents=size, max_parallel=1
    ) as chief:
        await told(chief)
        await chief.reconfigure_coordination({"mode": "map", "settings": {"to": "dig"}})
        await told(chief, list(names))

    assert diary.order() == [*names, *names]
