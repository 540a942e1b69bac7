"""Who takes over from an agent that leaves, fails or has spent its budget: one rule."""

from engine.core.commands import Pause, Reassign, RemoveMember, SupervisorSpec
from engine.core.queries.work.placement import stand_ins
from engine.core.records.values import Usage
from engine.core.signals import AgentUnusable
from engine.core.specs.limits import Limits
from engine.core.specs.spec import Failover
from tests.story import applied, attempt, member, only, refused, submitted, task_of, works
from tests.world import World, agent, team_world


def broken(world: World, name: str) -> None:
    """Let an agent have no code."""
    one = member(world, name)
    world.say(AgentUnusable(agent_id=one.id, generation=one.generation, error="no code"))


def who(world: World, name: str) -> list[str]:
    """Return who could take over the task that an agent is at, the best first."""
    return [one.name for one in stand_ins(world.state, task_of(world, name))]


def test_tasks_of_an_agent_that_is_removed_go_to_those_who_can_work_each_to_who_has_least_to_do() -> None:
    members = [agent(name, "sum") for name in ("ada", "bad", "bob", "cyd")]
    world = team_world(*members, mode="parallel", participants=["ada"])
    broken(world, "bad")
    for _ in range(3):
        submitted(world)

    applied(world, RemoveMember(target="ada", mode="requeue"))
    world.stop(attempt(world, "ada"))

    assert sorted(works(world)) == ["bob", "cyd"]
    assert len(member(world, "bob").running) == 1
    assert [world.state.queues[f"agent:{member(world, one).id}"].ready for one in ("bob", "cyd")] in (
        [0, 1],
        [1, 0],
    )


def test_where_nobody_is_able_a_task_of_an_agent_that_leaves_waits_for_who_will_be() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "sum"), participants=["ada"])
    broken(world, "bob")
    submitted(world)

    applied(world, RemoveMember(target="ada", mode="requeue"))
    moved = only(world.stop(attempt(world, "ada")), "task_requeued")

    assert moved.reason == "ada is removed; bob takes over"
    assert works(world) == []


def test_a_stand_in_is_looked_for_near_by_first_and_is_never_one_that_cannot_work() -> None:
    near = SupervisorSpec(name="near", members=[agent("ada", "sum"), agent("bob", "sum"), agent("cyd", "sum")])
    far = SupervisorSpec(name="far", members=[agent("dan", "sum"), agent("eve", "sing")])
    world = team_world(near, far, agent("fay", "sum"), participants=["near"], mode="parallel")
    submitted(world)
    applied(world, Pause(target="bob"))

    assert who(world, "ada") == ["cyd", "bob", "fay", "dan"]
    broken(world, "cyd")
    assert who(world, "ada") == ["bob", "fay", "dan"]


def test_who_asked_for_a_task_never_takes_it_over() -> None:
    world = team_world(*(agent(name, "sum") for name in ("lead", "bob", "cyd")), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "bob", [1])

    assert who(world, "bob") == ["cyd"]


def test_failover_removal_and_a_spent_budget_choose_the_same_agent() -> None:
    def chosen(**fields: object) -> World:
        members = [agent("ada", "sum", **fields), agent("bad", "sum"), agent("bob", "sum")]
        world = team_world(*members, mode="parallel", participants=["ada"])
        broken(world, "bad")
        submitted(world)
        return world

    failing = chosen(on_failure=[Failover()])
    failing.fail(attempt(failing, "ada"))
    leaving = chosen()
    applied(leaving, RemoveMember(target="ada", mode="requeue"))
    leaving.stop(attempt(leaving, "ada"))
    spent = chosen(limits=Limits(attempts=1))
    submitted(spent)
    spent.succeed(attempt(spent, "ada"))

    assert [works(one) for one in (failing, leaving, spent)] == [["bob"], ["bob"], ["bob"]]


def test_a_task_is_not_given_by_hand_to_one_that_could_not_do_it() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "sum", limits=Limits(tokens=5)))
    submitted(world)
    world.succeed(attempt(world, "ada"))
    world.succeed(attempt(world, "bob"), usage=Usage(tokens_in=9))
    submitted(world)

    assert "bob may spend no more" in refused(world, Reassign(task=task_of(world, "ada").id, agent="bob"))
