"""Work asked for by a name or a capability goes to the nearest who are able (docs/reference/function-agents.md)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from engine import AgentSpec, Circuit, DynamicSupervisor
from tests.meaning.diary import Body, Diary, told

pytestmark = pytest.mark.anyio


def maps(target: str, items: Sequence[Any]) -> Body:
    """Return an agent that asks for one task for each item."""

    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.map(target, list(items))

    return lead


def led(diary: Diary, name: str, body: Body, *specs: AgentSpec, **options: Any) -> DynamicSupervisor:
    """Return a team whose lead asks the others."""
    lead = diary.agent("lead", body=body, team=name)
    return diary.supervisor(name, lead, *specs, coordination_mode="delegate", lead="lead", **options)


async def over(
    diary: Diary, *teams: DynamicSupervisor, agents: Sequence[AgentSpec] = (), **options: Any
) -> DynamicSupervisor:
    """Return a supervisor with these teams, and agents, under it."""
    root = diary.supervisor("root", *agents, **options)
    for team in teams:
        await root.add_sub_supervisor(team.name, team)
    return root


async def test_forty_teams_of_twenty_five_do_their_own_work() -> None:
    diary = Diary()
    teams = []
    for name in (f"t{n}" for n in range(40)):
        workers = (diary.agent(f"w{n}", "work", takes_s=1, team=name) for n in range(24))
        teams.append(led(diary, name, maps("work", range(48)), *workers, max_parallel=25))
    root = await over(diary, *teams, coordination_mode="parallel")

    async with root:
        assert (await told(root)).status == "done"

    done = Counter(one.team for one in diary.entries if one.agent != "lead")
    assert set(done.values()) == {48}
    assert len(done) == 40
    assert {one.ended_s for one in diary.of("lead")} == {2}


async def test_the_capability_of_an_own_agent_goes_before_a_name_elsewhere() -> None:
    diary = Diary()
    own = led(diary, "own", maps("review", range(3)), diary.agent("ada", "review", team="own"))
    other = diary.supervisor("other", diary.agent("review", team="other"))
    root = await over(diary, own, other)

    async with root:
        await told(own)

    assert diary.counts() == {"own/lead": 1, "own/ada": 3}


async def test_two_teams_with_the_same_names_ask_their_own_members() -> None:
    diary = Diary()
    teams = [
        led(diary, name, maps("ada", range(4)), diary.agent("ada", takes_s=1, team=name)) for name in ("left", "right")
    ]
    root = await over(diary, *teams, coordination_mode="parallel")

    async with root:
        await told(root)

    assert diary.counts() == {"left/lead": 1, "right/lead": 1, "left/ada": 4, "right/ada": 4}
    assert {one.ended_s for one in diary.of("lead")} == {4}


async def test_a_map_to_a_capability_that_only_a_team_below_has_is_done_there() -> None:
    diary = Diary()
    below = diary.supervisor("below", diary.agent("ada", "dig", team="below"))
    root = await over(diary, below, coordination_mode="map", coordination_settings={"to": "dig"})

    async with root:
        result = await told(root, ["x", "y"])

    assert (result.output, diary.counts()) == (["ada(x)", "ada(y)"], {"below/ada": 2})


@pytest.mark.parametrize("options", [{"coordination_mode": "delegate"}, {"auto_discover": True}])
async def test_a_team_is_chosen_for_what_its_members_are_able_to_do(options: dict[str, Any]) -> None:
    diary = Diary()
    teams = [
        diary.supervisor(name, diary.agent("ada", skill, team=name))
        for name, skill in (("kitchen", "cooking"), ("garden", "gardening"))
    ]
    root = await over(diary, *teams, **options)

    async with root:
        await told(root, "some gardening, please")

    assert diary.counts() == {"garden/ada": 1}


async def test_equally_near_teams_share_a_map_and_whoever_is_free_takes_the_next_item() -> None:
    diary = Diary()
    teams = [
        diary.supervisor(name, diary.agent("ada", "dig", takes_s=takes_s, team=name))
        for name, takes_s in (("slow", 4), ("fast", 1), ("quick", 1))
    ]
    root = await over(
        diary, *teams, agents=[diary.agent("lead", body=maps("dig", range(9)))], coordination_mode="delegate",
        lead="lead",
    )  # fmt: skip

    async with root:
        await told(root)

    assert diary.counts() == {"lead": 1, "slow/ada": 1, "fast/ada": 4, "quick/ada": 4}
    assert diary.of("lead")[0].ended_s == 4


async def test_a_paused_team_keeps_nothing_of_what_several_teams_share() -> None:
    diary = Diary()
    teams = {name: diary.supervisor(name, diary.agent("ada", "dig", takes_s=1, team=name)) for name in ("on", "off")}
    lead = diary.agent("lead", body=maps("dig", range(4)))
    root = await over(diary, *teams.values(), agents=[lead], coordination_mode="delegate", lead="lead")

    async with root:
        await root.pause("off")
        await told(root)

    assert diary.counts() == {"lead": 1, "on/ada": 4}


async def test_teams_that_share_work_keep_their_own_limits() -> None:
    diary = Diary()
    teams = [
        diary.supervisor(name, *(diary.agent(one, "dig", takes_s=1, team=name) for one in "abcd"), max_parallel=limit)
        for name, limit in (("one", 1), ("three", 3))
    ]
    lead = diary.agent("lead", body=maps("dig", range(8)))
    root = await over(diary, *teams, agents=[lead], coordination_mode="delegate", lead="lead")

    async with root:
        await told(root)

    assert Counter(one.team for one in diary.entries) == {"": 1, "one": 2, "three": 6}
    assert diary.of("lead")[0].ended_s == 2


async def test_an_agent_whose_team_was_full_keeps_its_turn_among_the_agents_of_several_teams() -> None:
    diary = Diary()

    async def lead(task: Any, ctx: Any) -> Any:
        return [await ctx.delegate("dig", number) for number in range(9)]

    one = diary.supervisor("one", *(diary.agent(name, "dig", takes_s=1) for name in "ab"), max_parallel=1)
    two = diary.supervisor("two", diary.agent("c", "dig", takes_s=1))
    root = await over(
        diary, one, two, agents=[diary.agent("lead", body=lead)], coordination_mode="delegate", lead="lead"
    )

    async with root:
        await told(root)

    assert diary.counts() == {"lead": 1, "a": 3, "b": 3, "c": 3}


async def test_the_items_of_a_map_go_to_whichever_team_or_agent_is_free() -> None:
    diary = Diary()
    teams = [
        diary.supervisor(name, diary.agent("ada", takes_s=takes_s, team=name))
        for name, takes_s in (("slow", 6), ("fast", 1))
    ]
    members = [diary.agent("split", says=list(range(9))), diary.agent("bob", takes_s=2)]
    settings = {"over": "split"}
    root = await over(diary, *teams, agents=members, coordination_mode="map", coordination_settings=settings)

    async with root:
        await told(root)

    assert diary.counts() == {"split": 1, "slow/ada": 1, "fast/ada": 5, "bob": 3}
    assert sorted(one.text for one in diary.entries if one.agent != "split") == [str(number) for number in range(9)]
    assert diary.now_s() == 6


async def test_a_paused_team_takes_no_item_of_a_map() -> None:
    diary = Diary()
    teams = [diary.supervisor(name, diary.agent("ada", takes_s=1, team=name)) for name in ("on", "off")]
    root = await over(
        diary, *teams, agents=[diary.agent("split", says=list(range(4)))], coordination_mode="map",
        coordination_settings={"over": "split"},
    )  # fmt: skip

    async with root:
        await root.pause("off")
        await told(root)

    assert diary.counts() == {"split": 1, "on/ada": 4}
    assert diary.now_s() == 4


async def test_a_team_does_the_items_that_it_takes_by_its_own_strategy() -> None:
    diary = Diary()
    teams = [
        diary.supervisor(name, *(diary.agent(one, takes_s=1, team=name) for one in ("ada", "bob")))
        for name in ("left", "right")
    ]
    root = await over(
        diary, *teams, agents=[diary.agent("split", says=list(range(4)))], coordination_mode="map",
        coordination_settings={"over": "split"},
    )  # fmt: skip

    async with root:
        result = await told(root)

    assert result.output == [f"bob(ada({number}))" for number in range(4)]
    assert Counter(one.team for one in diary.entries) == {"": 1, "left": 4, "right": 4}
    assert diary.now_s() == 3


async def test_equally_near_agents_of_one_name_share_what_is_asked_of_that_name() -> None:
    diary = Diary()
    teams = [diary.supervisor(name, diary.agent("ada", takes_s=1, team=name)) for name in ("left", "right")]
    lead = diary.agent("lead", body=maps("ada", range(4)))
    root = await over(diary, *teams, agents=[lead], coordination_mode="delegate", lead="lead")

    async with root:
        await told(root)

    assert diary.counts() == {"lead": 1, "left/ada": 2, "right/ada": 2}
    assert diary.of("lead")[0].ended_s == 2


async def test_an_agent_and_a_team_of_one_name_share_what_is_asked_of_that_name() -> None:
    diary = Diary()
    ada = diary.supervisor("ada", *(diary.agent(one, takes_s=1, team="team") for one in ("bob", "cyd")))
    right = diary.supervisor("right")
    await right.add_sub_supervisor("ada", ada)
    left = diary.supervisor("left", diary.agent("ada", takes_s=1, team="left"))
    lead = diary.agent("lead", body=maps("ada", range(6)))
    root = await over(diary, left, right, agents=[lead], coordination_mode="delegate", lead="lead")

    async with root:
        await told(root)

    assert diary.counts() == {"lead": 1, "left/ada": 3, "team/bob": 3, "team/cyd": 3}


async def test_what_waits_for_agents_of_one_name_goes_farther_when_none_of_them_is_able_any_more() -> None:
    diary = Diary()

    async def fails(task: Any, ctx: Any) -> Any:
        raise RuntimeError("no")

    teams = [
        diary.supervisor(name, diary.agent("ada", takes_s=1, body=fails, team=name, circuit=Circuit(1, cool_s=60)))
        for name in ("left", "right")
    ]
    lead = diary.agent("lead", body=maps("ada", range(4)))
    near = diary.supervisor("near", lead, coordination_mode="delegate", lead="lead")
    for team in teams:
        await near.add_sub_supervisor(team.name, team)
    root = diary.supervisor("root", diary.agent("ada", takes_s=1))
    await root.add_sub_supervisor("near", near)

    async with root:
        result = await told(near)

    assert result.status == "failed"
    assert diary.counts() == {"lead": 1, "left/ada": 1, "right/ada": 1, "ada": 2}
