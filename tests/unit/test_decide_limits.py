"""Limits that change while there is work: a lower one ends what has spent it, a higher one lets go on."""

from engine.core.commands import ChangeSupervisor, Move, SupervisorSpec
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from tests.story import applied, attempt, member, only, submitted, works
from tests.world import agent, team_world

FEW = Limits(tokens=10)


def test_a_limit_that_is_lowered_ends_what_has_spent_more_by_then_and_is_not_done() -> None:
    for options in (SupervisorOptions(agent_limits=FEW), SupervisorOptions(task_limits=FEW)):
        world = team_world(agent("ada"))
        submitted(world)
        world.record(attempt(world, "ada"), "s", usage=Usage(tokens_in=10))

        world.order(ChangeSupervisor(supervisor="chief", options=options))

        assert attempt(world, "ada") in world.stopping
        world.stop(attempt(world, "ada"))
        assert only(world.journal, "budget_exhausted").limit == 10


def test_a_run_ends_by_a_limit_that_is_set_while_it_is_at_work() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world)
    world.record(attempt(world, "ada"), "s", usage=Usage(tokens_in=10))

    world.order(ChangeSupervisor(supervisor="chief", options=SupervisorOptions(run_limits=FEW)))
    world.stop(attempt(world, "ada"))

    assert only(world.journal, "budget_exhausted").subject == run_id


def test_time_that_is_limited_while_an_attempt_is_at_work_ends_it_when_it_is_over() -> None:
    world = team_world(agent("ada"))
    submitted(world)

    world.order(ChangeSupervisor(supervisor="chief", options=SupervisorOptions(task_limits=Limits(time_s=5))))

    assert any(timer.startswith("time:") for timer in world.timers)


def test_an_agent_that_moves_to_a_team_with_higher_limits_works_again() -> None:
    world = team_world(
        SupervisorSpec(name="poor", members=[agent("ada"), agent("bob")], options=SupervisorOptions(agent_limits=FEW)),
        SupervisorSpec(name="rich", members=[agent("cyd")]),
    )
    submitted(world, supervisor="poor")
    world.succeed(attempt(world, "ada"), usage=Usage(tokens_in=10))
    assert member(world, "ada").exhausted is not None

    applied(world, Move(target="ada", parent="rich"))

    assert member(world, "ada").exhausted is None
    assert works(world) == ["bob"]
