"""`move` and `retry` by hand where teams stand in place of agents, and where other teams have the same names."""

from typing import Any

import pytest

from engine import CommandRefusedError, DynamicSupervisor
from tests.meaning.diary import Diary, during, told
from tests.meaning.stages import IN_TEAMS, STAGES, staged

pytestmark = pytest.mark.anyio
TO_DIG: dict[str, Any] = {"coordination_mode": "map", "coordination_settings": {"to": "dig"}}
SIDES = ("north", "south")


async def two_sides(diary: Diary) -> tuple[DynamicSupervisor, dict[str, DynamicSupervisor]]:
    """Return a team with two teams under it whose members have the same names: ada, and a team `below` with bob."""
    top, sides = diary.supervisor("top"), {}
    for name in SIDES:
        sides[name] = diary.supervisor(name, diary.agent("ada", "dig", takes_s=4, team=name), **TO_DIG)
        below = diary.supervisor("below", diary.agent("bob", takes_s=1, team=name), max_parallel=1)
        await sides[name].add_sub_supervisor("below", below)
        sides[f"{name}/below"] = below
        await top.add_sub_supervisor(name, sides[name])
    return top, sides


def members(sides: dict[str, DynamicSupervisor]) -> dict[str, list[str]]:
    return {name: side.list_active_agents() for name, side in sides.items()}


async def test_of_several_with_the_same_names_a_team_moves_its_own_and_its_work_goes_on() -> None:
    diary = Diary()
    top, sides = await two_sides(diary)
    north, below = sides["north"], sides["north/below"]

    async with top:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                await north.move("ada", "below")
                there = await below.submit("there")
            await below.wait(there)

        result = await during(diary, north, act, ["here"])

        assert (result.status, result.output) == ("done", ["ada(here)"])
        assert members(sides) == {"north": [], "north/below": ["bob", "ada"], "south": ["ada"], "south/below": ["bob"]}
        assert (await told(sides["south"], ["far"])).output == ["ada(far)"]
    assert [(one.team, one.agent, one.text, one.began_s) for one in diary.entries] == [
        ("north", "ada", "here", 0), ("north", "bob", "there", 4), ("north", "ada", "bob(there)", 5),
        ("south", "ada", "far", 9),
    ]  # fmt: skip


async def test_a_team_pauses_and_moves_its_own_team_and_no_other_of_that_name() -> None:
    diary = Diary()
    top, sides = await two_sides(diary)

    async with top:
        await sides["south"].pause("below")
        assert [one.paused for one in top._state.supervisors.values() if one.name == "below"] == [False, True]
        await sides["south"].resume("below")
        with pytest.raises(CommandRefusedError, match="not unique"):
            await top.move("below", "top")
        await sides["south"].move("below", "top")
        assert [one.name for one in top._state.supervisors.values() if one.parent_id == top._supervisor.id] == [
            "north", "south", "below",
        ]  # fmt: skip
        assert (await told(sides["south/below"])).output == "bob(go)"

    assert diary.order() == ["south/bob"]


async def test_a_team_that_is_moved_at_work_ends_what_it_has_and_counts_where_it_is() -> None:
    diary = Diary()
    top, sides = await two_sides(diary)
    north, south = sides["north"], sides["south"]

    async with top:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                await top.move("north", "south")
                assert [team.get_supervision_metrics().busy for team in (top, north, south)] == [1, 1, 1]

        result = await during(diary, north, act, ["a", "b"])

        assert (result.output, diary.now_s()) == (["ada(a)", "ada(b)"], 8)
        assert [team.get_supervision_metrics().agents for team in (top, north, south)] == [4, 2, 4]
        with pytest.raises(CommandRefusedError):
            await top.move("south", "north")


@pytest.mark.parametrize("stage", STAGES)
async def test_a_finished_run_is_given_again_to_the_team_that_had_it(stage: str) -> None:
    diary = Diary()
    workers = [diary.fails(1, "ada", "dig", takes_s=1), diary.agent("bob", takes_s=1)]

    async with staged(stage, diary, *workers, participants=["ada", "bob"]) as chief:
        first = await told(chief)
        again = await chief.retry(first.run_id)
        result = await chief.wait(str(again.result["run_id"]))

    assert (first.status, result.status, result.output) == ("failed", "done", "bob(ada(go))")
    assert diary.order() == ["ada", "ada", "bob"]


@pytest.mark.parametrize("stage", ["alone", "teams", "twins", "above", "lame"])
async def test_a_failed_task_is_tried_again_unless_its_team_has_failed_with_it(stage: str) -> None:
    diary = Diary()
    workers = [diary.fails(1, "ada", takes_s=1), diary.agent("bob", takes_s=9)]
    settings: dict[str, Any] = {"coordination_mode": "parallel", "participants": ["ada", "bob"]}

    async with staged(stage, diary, *workers, **settings) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(5):
                failed = [task.id for task in chief._state.tasks.values() if task.status == "failed"]
                assert len(failed) == (2 if stage in IN_TEAMS else 1)
                for task_id in failed:
                    if stage not in IN_TEAMS:
                        await chief.retry(task_id)
                        continue
                    with pytest.raises(CommandRefusedError, match=f"the team's task {failed[0]} has failed as a whole"):
                        await chief.retry(task_id)

        result = await during(diary, chief, act)

    assert str(result.output) == ("bob(go)" if stage in IN_TEAMS else "## ada\n\nada(go)\n\n## bob\n\nbob(go)")
    assert diary.counts() == {"ada": 1 if stage in IN_TEAMS else 2, "bob": 1}


async def test_a_task_in_a_team_below_is_tried_again_while_others_of_that_team_work() -> None:
    diary = Diary()
    chief = diary.supervisor("chief", diary.agent("last"))
    below = diary.supervisor(
        "below", diary.fails(1, "ada", takes_s=1), diary.agent("bob", takes_s=9), coordination_mode="parallel"
    )
    await chief.add_sub_supervisor("below", below)

    async with chief:

        async def act(run_id: str) -> None:
            async with diary.at(5):
                (failed,) = (task.id for task in chief._state.tasks.values() if task.status == "failed")
                await chief.retry(failed)

        result = await during(diary, chief, act)

    assert result.status == "done"
    assert [(one.agent, one.began_s) for one in diary.entries] == [("last", 0), ("ada", 0), ("bob", 0), ("ada", 5)]
