"""Who takes part in a request, and in what order."""

import pytest

from engine.core.commands import Submit, SupervisorSpec
from engine.core.specs.spec import Aggregation, Skip
from engine.core.state import RunStatus
from tests.story import attempt, ended, only, refused, start_of, submitted, works
from tests.world import agent, team_world


def test_without_more_said_all_members_take_part_in_declared_order() -> None:
    world = team_world(agent("ada"), agent("bob"), SupervisorSpec(name="below", members=[agent("cyd")]))
    submitted(world)

    world.settle()

    assert [start.agent for start in world.starts] == ["ada", "bob", "cyd"]


def test_participants_narrow_and_order_who_takes_part() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), participants=["cyd", "ada"])
    submitted(world)

    world.settle()

    assert [start.agent for start in world.starts] == ["cyd", "ada"]


def test_with_discovery_those_take_part_that_match_in_the_order_of_the_request() -> None:
    world = team_world(
        agent("writer", "writing"), agent("cook", "cooking"), agent("researcher", "research"), auto_discover=True
    )
    events = world.order(Submit(request="Research the history of salt and then do some writing about it"))

    world.settle()

    assert [start.agent for start in world.starts] == ["researcher", "writer"]
    assert "researcher" in only(events, "group_planned").explanation


def test_with_discovery_the_default_agent_takes_what_nobody_matches() -> None:
    world = team_world(agent("ada", "cooking"), agent("bob", "sewing"), auto_discover=True, default_agent="bob")

    submitted(world, "prove the theorem")

    assert works(world) == ["bob"]


def test_the_default_agent_need_not_be_one_of_the_participants() -> None:
    ada, bob = agent("ada", "cooking"), agent("bob", "sewing")
    world = team_world(ada, bob, participants=["ada"], auto_discover=True, default_agent="bob")

    submitted(world, "prove the theorem")

    assert works(world) == ["bob"]


def test_a_request_that_nobody_matches_is_refused_with_the_nearest() -> None:
    world = team_world(agent("ada", "cooking"), auto_discover=True)

    reason = refused(world, Submit(request="cookery"))

    assert "cookery" in reason


def test_a_team_without_agents_refuses_requests() -> None:
    assert "no agents" in refused(team_world(), Submit(request="go"))


def test_an_empty_request_is_refused() -> None:
    assert "empty" in refused(team_world(agent("ada")), Submit(request="  \n"))


def test_in_sequential_each_gets_what_the_one_before_put_out_and_the_first_the_request() -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world, "go")
    first = start_of(world, "ada")
    world.succeed(attempt(world, "ada"), "from ada")

    second = start_of(world, "bob")

    assert (first.takes, first.input, first.inputs) == ("request", "go", [])
    assert (second.takes, [one.output for one in second.inputs]) == ("previous", ["from ada"])


def test_the_output_of_the_last_is_the_output_of_a_sequential_run() -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")
    world.succeed(attempt(world, "bob"), "from bob")

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from bob")


def test_in_parallel_all_get_the_request_at_once() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="parallel")

    submitted(world)

    assert works(world) == ["ada", "bob", "cyd"]
    assert {start_of(world, name).takes for name in works(world)} == {"request"}


def test_no_more_attempts_run_at_once_than_the_supervisor_allows() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="parallel", max_parallel=2)
    submitted(world)
    before = works(world)

    world.succeed(attempt(world, "ada"))

    assert (before, works(world)) == (["ada", "bob"], ["bob", "cyd"])


@pytest.mark.parametrize("aggregation", ["concat", "vote", "best"])
def test_a_parallel_run_is_joined_when_all_have_ended(aggregation: Aggregation) -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel", aggregation=aggregation)
    submitted(world)
    world.succeed(attempt(world, "bob"), "b")
    assert not world.joins
    world.succeed(attempt(world, "ada"), "a")

    ((key, join),) = world.joins.items()

    assert (join.join, [one.output for one in join.inputs]) == (aggregation, ["a", "b"])
    world.join(key)
    assert ended(world).output == "joined"


def test_with_first_the_others_are_stopped_once_one_has_answered() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="parallel", aggregation="first", max_parallel=2)
    submitted(world)

    world.succeed(attempt(world, "bob"), "b")

    assert world.stopping == {attempt(world, "ada")}
    assert works(world) == ["ada"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_synthesis_is_made_by_the_aggregator_from_what_all_others_put_out() -> None:
    world = team_world(
        agent("ada"), agent("bob"), agent("sum"), mode="parallel", aggregation="synthesis", aggregator="sum"
    )
    submitted(world)
    assert works(world) == ["ada", "bob"]
    world.succeed(attempt(world, "ada"), "a")
    world.succeed(attempt(world, "bob"), "b")

    start = start_of(world, "sum")

    assert (start.takes, [one.output for one in start.inputs]) == ("context", ["a", "b"])


def test_one_that_fails_fails_the_run_and_those_after_it_are_skipped() -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world)

    events = world.fail(attempt(world, "ada"), "broken")

    assert only(events, "task_skipped").reason == "ada failed"
    assert (ended(world).status, ended(world).error) == (RunStatus.FAILED, "ada: broken")


def test_one_that_may_be_skipped_fails_without_failing_the_run() -> None:
    world = team_world(agent("ada"), agent("bob", on_failure=[Skip()]), agent("cyd"))
    submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")
    world.fail(attempt(world, "bob"))

    start = start_of(world, "cyd")

    assert [one.output for one in start.inputs] == ["from ada"]
    world.succeed(attempt(world, "cyd"))
    assert ended(world).status is RunStatus.DONE


def test_a_sub_supervisor_works_on_what_came_before_it_and_hands_on_what_it_comes_to() -> None:
    below = SupervisorSpec(name="below", members=[agent("cyd"), agent("dan")])
    world = team_world(agent("ada"), below, agent("eve"))
    submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")
    cyd = start_of(world, "cyd")
    world.succeed(attempt(world, "cyd"), "from cyd")
    world.succeed(attempt(world, "dan"), "from dan")

    eve = start_of(world, "eve")

    assert cyd.input == "from ada"
    assert [one.output for one in eve.inputs] == ["from ada", "from dan"]


def test_sub_supervisors_that_may_begin_at_the_same_moment_have_tasks_of_their_own() -> None:
    one, two = (SupervisorSpec(name=f"{name}s", members=[agent(name)]) for name in ("bob", "cyd"))
    world = team_world(agent("ada"), one, two, mode="iterative_refinement")
    submitted(world)

    world.succeed(attempt(world, "ada"))

    assert works(world) == ["bob", "cyd"]
