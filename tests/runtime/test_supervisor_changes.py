"""Changing a team: before it works, between two requests, and while it works."""

from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from engine import (
    AgentSpec,
    AlreadyStarted,
    CommandRefusedError,
    Context,
    DynamicSupervisor,
    NotInThisVersion,
    Task,
    UnknownOption,
    UnknownRuntime,
    Unusable,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


def says(name: str, **settings: Any) -> AgentSpec:
    async def say(text: str) -> str:
        return f"{text} {name}"

    return AgentSpec(name=name, run=say, **settings)


async def test_an_appended_agent_takes_part_in_the_next_request() -> None:
    async with DynamicSupervisor("team", agent_specs=[says("a")]) as team:
        assert str(await team.arun("x")) == "x a"
        team.agent_specs.append(says("b"))

        assert [spec.name for spec in team.agent_specs] == ["a", "b"]
        assert str(await team.arun("x")) == "x a b"


async def test_an_agent_appended_by_an_agent_at_work_is_found_by_its_next_delegation() -> None:
    async def chief(task: Task, ctx: Context) -> str:
        team.agent_specs.append(says("helper", specialties=["help"]))
        await ctx.step("look around", lambda: None)
        return str(await ctx.delegate("help", "y"))

    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="chief", run=chief)], participants=["chief"])

    assert str(await team.arun("x")) == "y helper"


@pytest.mark.parametrize("running", [True, False])
async def test_the_list_of_specs_is_changed_like_a_list(running: bool) -> None:
    a, b, c = says("a"), says("b"), says("c")
    team = DynamicSupervisor("team", agent_specs=[a])

    async def change() -> None:
        team.agent_specs.extend([b, c])
        team.agent_specs.remove(a)
        team.agent_specs[0] = says("b", description="better")
        assert (len(team.agent_specs), b in team.agent_specs, c in team.agent_specs) == (2, False, True)
        assert str(await team.arun("x")) == "x b c"
        assert team.agent_specs[0].description == "better"
        assert [spec.name for spec in team.agent_specs[:]] == ["b", "c"]

    if running:
        async with team:
            await change()
    else:
        await change()


@pytest.mark.parametrize("running", [True, False])
async def test_a_name_that_is_taken_cannot_be_appended(running: bool) -> None:
    team = DynamicSupervisor("team", agent_specs=[says("a")])
    if not running:
        with pytest.raises(CommandRefusedError, match="already has a member 'a'"):
            team.agent_specs.append(says("a"))
        return
    async with team:
        team.agent_specs.append(says("b"))
        with pytest.raises(CommandRefusedError, match="already has a member 'b'"):
            team.agent_specs.append(says("b"))


async def test_an_agent_that_could_not_work_cannot_be_appended() -> None:
    async with DynamicSupervisor("team", agent_specs=[says("a")]) as team:
        with pytest.raises(
            Unusable, match="tools does nothing for an agent of type SimpleAgent; leave it out, or make it a"
        ):
            team.agent_specs.append(AgentSpec(name="model", agent_type="SimpleAgent", tools=["crew:search"]))


async def test_a_new_agent_goes_to_the_end() -> None:
    team = DynamicSupervisor("team", agent_specs=[says("a")])

    with pytest.raises(IndexError, match="append"):
        team.agent_specs.insert(0, says("b"))


async def test_what_was_posted_and_refused_is_raised_by_the_next_call() -> None:
    async with DynamicSupervisor("team", agent_specs=[says("a")], max_agents=1) as team:
        team.agent_specs.append(says("b"))

        with pytest.raises(CommandRefusedError, match="at most 1"):
            await team.arun("x")
        assert str(await team.arun("x")) == "x a"


async def test_requests_that_are_made_at_once_after_a_change_all_see_it_and_come_back() -> None:
    results: list[str] = []
    async with DynamicSupervisor("team", agent_specs=[says("a")]) as team:

        async def ask(text: str) -> None:
            results.append(str(await team.arun(text)))

        team.agent_specs.append(says("b"))
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                for text in ("x", "y", "z"):
                    group.start_soon(ask, text)

    assert sorted(results) == ["x a b", "y a b", "z a b"]


async def test_a_change_is_carried_out_before_the_team_comes_to_rest() -> None:
    async with DynamicSupervisor("team", agent_specs=[says("a")]) as team:
        team.agent_specs.append(says("b"))

    assert team.list_active_agents() == ["a", "b"]


async def test_a_change_that_is_refused_and_followed_by_no_call_is_raised_at_the_end_of_the_block() -> None:
    with pytest.raises(CommandRefusedError, match="at most 1"):
        async with DynamicSupervisor("team", agent_specs=[says("a")], max_agents=1) as team:
            team.agent_specs.append(says("b"))


async def test_agents_are_added_removed_and_their_names_used_again() -> None:
    team = DynamicSupervisor("team", agent_specs=[says("a")])
    first = await team.add_agent(says("b"))
    await team.remove_agent("b")
    again = await team.add_agent(says("b"))

    assert first.result["agent_id"] != again.result["agent_id"]
    assert team.list_active_agents() == ["a", "b"]


async def test_removing_nobody_says_who_is_near() -> None:
    with pytest.raises(CommandRefusedError, match="did you mean writer"):
        await DynamicSupervisor("team", agent_specs=[says("writer")]).remove_agent("writter")


async def test_a_busy_agent_is_removed_only_when_told_what_becomes_of_its_work() -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def work(text: str) -> str:
        begun.set()
        await go_on.wait()
        return "done"

    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=work)]) as team:
        run_id = await team.submit("x")
        await begun.wait()
        with pytest.raises(CommandRefusedError, match="drain, requeue or abort"):
            await team.remove_agent("a")
        await team.remove_agent("a", mode="drain")
        assert team.active_agents["a"].status == "draining"

        go_on.set()
        assert str(await team.wait(run_id)) == "done"
        assert team.list_active_agents() == []


async def test_a_swap_keeps_the_id_and_ends_running_work_on_the_old_code() -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def slow(text: str) -> str:
        begun.set()
        await go_on.wait()
        return "old"

    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=slow, max_concurrency=2)]) as team:
        before = team.active_agents["a"]
        run_id = await team.submit("x")
        await begun.wait()
        await team.swap_agent("a", says("a", max_concurrency=2))
        assert str(await team.arun("x")) == "x a"
        go_on.set()

        assert str(await team.wait(run_id)) == "old"
        after = team.active_agents["a"]

    assert (after.id, before.generation, after.generation) == (before.id, 1, 2)


async def test_replacing_some_fields_keeps_the_others_and_their_code() -> None:
    team = DynamicSupervisor("team", agent_specs=[says("a", specialties=["talk"])])
    await team.replace_agent("a", {"description": "talks", "performance_boost": True})
    spec = team.active_agents["a"].spec

    assert (spec.description, spec.specialties, dict(spec.options)) == ("talks", ("talk",), {"performance_boost": True})
    assert str(await team.arun("x")) == "x a"


async def test_replacing_by_an_unknown_runtime_is_refused_and_nothing_changes() -> None:
    team = DynamicSupervisor("team", agent_specs=[says("a")])

    with pytest.raises(UnknownRuntime, match="enhanced_function"):
        await team.replace_agent("a", {"agent_type": "enhanced_function", "performance_boost": True})
    assert team.active_agents["a"].generation == 1


@pytest.mark.parametrize("slip", ["specialtys", "name", "max_concurency"])
async def test_a_slip_in_a_field_is_not_taken_for_an_option(slip: str) -> None:
    with pytest.raises(UnknownOption):
        await DynamicSupervisor("team", agent_specs=[says("a")]).replace_agent("a", {slip: "x"})


async def test_a_specialized_agent_is_made_from_fields() -> None:
    async def fly(text: str) -> str:
        return "flown"

    team = DynamicSupervisor("team", agent_specs=[says("a")], auto_discover=True)
    await team.add_specialized_agent("pilot", {"specialties": ["flying"], "run": fly})

    assert str(await team.arun("go flying")) == "flown"
    with pytest.raises(UnknownOption, match="specialties"):
        await team.add_specialized_agent("other", {"specialities": ["x"]})


async def test_the_coordination_mode_is_switched_by_assignment() -> None:
    async with DynamicSupervisor("team", agent_specs=[says("a"), says("b")]) as team:
        team.coordination_mode = "parallel"
        assert team.coordination_mode == "parallel"

        assert str(await team.arun("x")) == "## a\n\nx a\n\n## b\n\nx b"


async def test_an_unknown_mode_is_refused_by_assignment_as_by_a_call() -> None:
    team = DynamicSupervisor("team", agent_specs=[says("a")])

    with pytest.raises(CommandRefusedError, match="no coordination strategy 'paralel'"):
        team.coordination_mode = "paralel"


async def test_a_team_that_is_kept_running_says_so_when_it_is_entered_again() -> None:
    async with DynamicSupervisor("team", agent_specs=[says("a")]) as team:
        with pytest.raises(AlreadyStarted, match="kept running by another 'async with'"):
            await team.__aenter__()

        assert str(await team.arun("x")) == "x a"


async def test_coordination_is_reconfigured_with_a_named_aggregator() -> None:
    async def join(task: Task, ctx: Context) -> str:
        return " + ".join(str(one.output) for one in task.inputs)

    team = DynamicSupervisor("team", agent_specs=[says("a"), says("b"), AgentSpec(name="j", run=join)])
    await team.reconfigure_coordination({"mode": "parallel", "aggregation": "synthesis", "aggregator": "j"})

    assert str(await team.arun("x")) == "x a + x b"


async def test_a_synthesis_is_made_by_the_one_who_writes_where_nobody_is_named() -> None:
    team = DynamicSupervisor("team", agent_specs=[says("a"), says("w", specialties=["writing"]), says("b")])
    await team.reconfigure_coordination({"mode": "parallel", "aggregation": "synthesis"})

    assert team._supervisor.aggregator == "w"


async def test_a_synthesis_that_nobody_could_make_is_refused() -> None:
    team = DynamicSupervisor("team", agent_specs=[says("a"), says("b")])

    with pytest.raises(CommandRefusedError, match="name one of its agents as aggregator"):
        await team.reconfigure_coordination({"mode": "parallel", "aggregation": "synthesis"})
    assert team.coordination_mode == "sequential"


async def test_reconfiguring_something_else_is_an_error() -> None:
    with pytest.raises(UnknownOption, match="did you mean aggregation"):
        await DynamicSupervisor("team", agent_specs=[says("a")]).reconfigure_coordination({"agregation": "vote"})


async def test_supervisors_join_in_any_order_and_become_views_on_one_team() -> None:
    top, middle, low = (DynamicSupervisor(name, agent_specs=[says(name)]) for name in ("top", "middle", "low"))
    await middle.add_sub_supervisor("low", low)
    await top.add_sub_supervisor("centre", middle)

    assert str(await top.arun("x")) == "x top middle low"
    assert str(await low.arun("x")) == "x low"
    assert (middle.name, top.get_supervision_metrics().agents) == ("centre", 3)
    assert [view.tasks for view in low.active_agents.values()] == [2]


async def test_a_supervisor_that_joined_may_be_changed_by_itself() -> None:
    top, low = DynamicSupervisor("top"), DynamicSupervisor("low", agent_specs=[says("a")])
    await top.add_sub_supervisor("low", low)
    low.agent_specs.append(says("b"))
    low.coordination_mode = "parallel"

    assert low.list_active_agents() == ["a", "b"]
    assert str(await top.arun("x")) == "## a\n\nx a\n\n## b\n\nx b"


async def test_supervisors_among_the_agents_of_another_take_part_in_their_order() -> None:
    low = DynamicSupervisor("low", agent_specs=[says("low")])
    middle = DynamicSupervisor("middle", agent_specs=[low, says("middle")])
    top = DynamicSupervisor("top", agent_specs=[says("top"), middle, says("last")])

    assert str(await top.arun("x")) == "x top low middle last"
    assert str(await low.arun("x")) == "x low"
    low.agent_specs.append(says("more"))
    assert str(await middle.arun("x")) == "x low more middle"
    with pytest.raises(AlreadyStarted, match="part of another"):
        DynamicSupervisor("other", agent_specs=[low])


async def test_a_supervisor_joins_a_team_at_work() -> None:
    async with DynamicSupervisor("top", agent_specs=[says("top")]) as top:
        low = DynamicSupervisor("low", agent_specs=[says("low")])
        await top.add_sub_supervisor("low", low)

        assert str(await top.arun("x")) == "x top low"


async def test_a_supervisor_that_has_worked_cannot_join_another_nor_itself() -> None:
    top, low = DynamicSupervisor("top"), DynamicSupervisor("low", agent_specs=[says("a")])
    with pytest.raises(AlreadyStarted):
        await low.add_sub_supervisor("again", low)
    await low.arun("x")

    with pytest.raises(AlreadyStarted, match="before its first request"):
        await top.add_sub_supervisor("low", low)


async def test_a_joined_supervisor_gives_out_no_state_of_its_own() -> None:
    top, low = DynamicSupervisor("top"), DynamicSupervisor("low")
    await top.add_sub_supervisor("low", low)

    with pytest.raises(NotInThisVersion, match="at the top"):
        await low.serialize_complete_state()


@pytest.mark.parametrize("running", [False, True])
async def test_code_that_is_not_there_is_refused_also_while_no_engine_is_at_work(*, running: bool) -> None:
    team = DynamicSupervisor("team", agent_specs=[says("ada")])
    gone = AgentSpec(name="gone", run="nowhere:work")
    async with AsyncExitStack() as stack:
        if running:
            await stack.enter_async_context(team)
        with pytest.raises(Unusable, match="nowhere"):
            await team.swap_agent("ada", AgentSpec(name="ada", run="nowhere:work"))
        with pytest.raises(Unusable, match="no 'nothing'"):
            await team.swap_agents({"ada": AgentSpec(name="ada", run="json:nothing")})
        with pytest.raises(Unusable, match="nowhere"):
            await team.add_agent(gone)
        with pytest.raises(Unusable, match="nowhere"):
            await team.add_sub_supervisor("low", DynamicSupervisor("low", agent_specs=[gone]))

    assert team.list_active_agents() == ["ada"]
    await team.arun("x")


async def test_code_that_is_not_there_is_refused_by_the_list_of_specs_while_no_engine_is_at_work() -> None:
    team = DynamicSupervisor("team", agent_specs=[says("ada")])

    with pytest.raises(Unusable, match="no module 'nowhere'"):
        team.agent_specs.append(AgentSpec(name="gone", run="nowhere:work"))

    assert team.list_active_agents() == ["ada"]
