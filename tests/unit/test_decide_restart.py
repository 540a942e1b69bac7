"""A crashed agent is started anew the way OTP does it; whose agents crash too often fails upwards."""

from typing import Any

from engine.core.commands import Cancel, Resume, Submit, SupervisorSpec, SwapAgent
from engine.core.effects import CheckAgent, RestartAgents, StopAttempt
from engine.core.signals import AgentUnusable
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Restart, Retry
from engine.core.state import RunStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, ended, kinds, member, only, refused, submitted, works
from tests.world import World, agent, team_world


def crew(strategy: Any = "one_for_one", intensity: int = 3, **fields: Any) -> World:
    """Return a world whose ada, bob and cyd are at work side by side."""
    options = SupervisorOptions(restart=Restart(strategy, intensity, 60.0))
    specs = [agent(name, on_failure=[Retry(9, 0.001, 0.001)]) for name in ("ada", "bob", "cyd")]
    world = team_world(*specs, mode="parallel", options=options, **fields)
    submitted(world)
    return world


def crash(world: World, name: str) -> list[Any]:
    """Let the agent break down at its first attempt."""
    events = world.fail(attempts(world, name)[0], "segmentation fault", crashed=True)
    return list(events)


def restarted(world: World, events: list[Any]) -> list[str]:
    """Return the names of those that were started anew."""
    return [world.state.agents[agent_id].name for agent_id in only(events, "agents_restarted").agent_ids]


def test_one_for_one_starts_anew_who_crashed_and_the_task_goes_through_its_policies() -> None:
    world = crew()

    events = crash(world, "bob")

    assert restarted(world, events) == ["bob"]
    assert only(events, "agents_restarted").because == "bob crashed: segmentation fault"
    assert "retry_scheduled" in kinds(events)
    assert world.stopping == set()


def test_agents_of_a_team_are_started_anew_in_the_order_in_which_members_stand() -> None:
    deep = SupervisorSpec(name="deep", members=[agent("bob")])
    outer = SupervisorSpec(name="outer", members=[deep, agent("cyd")])
    options = SupervisorOptions(restart=Restart("one_for_all", 3, 60.0))
    world = team_world(outer, agent("ada"), mode="parallel", options=options)
    submitted(world)

    assert restarted(world, crash(world, "ada")) == ["bob", "cyd", "ada"]


def test_one_for_all_and_rest_for_one_stop_the_others_at_once_and_give_them_their_tasks_back() -> None:
    world = crew("one_for_all")
    world.record(attempt(world, "ada"), "read", "page")
    assert restarted(world, crash(world, "bob")) == ["ada", "bob", "cyd"]
    assert {effect.now for effect in world.effects if isinstance(effect, StopAttempt)} == {True}
    (again,) = [effect for effect in world.effects if isinstance(effect, RestartAgents)]
    assert len(again.agent_ids) == 3
    assert sum(isinstance(effect, CheckAgent) for effect in world.effects) == 3

    for key in sorted(world.stopping):
        world.stop(key)
    assert sorted(works(world)) == ["ada", "cyd"]
    assert world.started[attempt(world, "ada")].steps == {"read": "page"}

    world = crew("rest_for_one")
    assert restarted(world, crash(world, "bob")) == ["bob", "cyd"]


def test_a_runtime_is_dropped_only_where_nobody_else_uses_its_spec() -> None:
    world = crew()

    crash(world, "bob")

    (again,) = [effect for effect in world.effects if isinstance(effect, RestartAgents)]
    assert again.specs == [member(world, "bob").spec]


def test_a_supervisor_whose_agents_crash_too_often_fails_with_its_requests() -> None:
    world = crew(intensity=2)
    for _ in range(2):
        crash(world, "bob")
        world.due(next(iter(world.timers)))

    failed = only(crash(world, "bob"), "supervisor_failed")
    for key in sorted(world.stopping):
        world.stop(key)

    assert failed.error == "supervisor chief failed: 3 restarts in 60 s"
    assert (ended(world).status, ended(world).error) == (RunStatus.FAILED, failed.error)


def test_crashes_that_lie_further_apart_than_the_period_are_not_too_many() -> None:
    world = crew(intensity=1)
    for _ in range(5):
        crash(world, "bob")
        world.now_ms += 60_000
        world.due(next(iter(world.timers)))

    assert "supervisor_failed" not in kinds(world.journal)
    assert len(world.state.supervisors["s1"].restarts_ms) == 1


def test_a_root_that_failed_takes_nothing_until_an_operator_mends_it() -> None:
    world = crew(intensity=0)
    crash(world, "bob")
    for key in sorted(world.stopping):
        world.stop(key)

    assert "supervisor chief failed: 1 restart in 60 s" in refused(world, Submit(request="go"))
    applied(world, Resume(target="chief"))
    submitted(world)
    assert len(works(world)) == 3


def tree(above: Restart | None, below: Restart) -> World:
    """Return a world with a supervisor under another, everybody at work."""
    team = SupervisorSpec(
        name="below", mode="parallel", members=[agent("cyd"), agent("dan")], options=SupervisorOptions(restart=below)
    )
    world = team_world(agent("ada"), team, agent("eve"), mode="parallel", options=SupervisorOptions(restart=above))
    submitted(world)
    return world


def test_a_supervisor_that_fails_is_a_crash_of_the_one_above_which_restarts_all_of_it() -> None:
    world = tree(Restart("rest_for_one", 3, 60.0), Restart("one_for_one", 0, 60.0))

    events = crash(world, "dan")

    assert kinds(events).index("supervisor_failed") < kinds(events).index("agents_restarted")
    assert restarted(world, events) == ["cyd", "dan", "eve"]
    for key in sorted(world.stopping):
        world.stop(key)
    assert sorted(works(world)) == ["ada", "eve"]
    world.settle()
    assert ended(world).error == "below: supervisor below failed: 1 restart in 60 s"
    assert world.state.supervisors["s2"].error is None
    submitted(world)
    assert sorted(works(world)) == ["ada", "cyd", "dan", "eve"]


def test_failures_go_up_to_the_root_where_every_one_is_one_too_many() -> None:
    world = tree(Restart("one_for_one", 0, 60.0), Restart("one_for_one", 0, 60.0))

    events = crash(world, "dan")

    assert kinds(events).count("supervisor_failed") == 2
    for key in sorted(world.stopping):
        world.stop(key)
    assert ended(world).error == "supervisor chief failed: 1 restart in 60 s"


def test_without_a_policy_who_crashed_is_started_anew_and_nobody_counts() -> None:
    world = team_world(agent("ada"))
    for _ in range(50):
        submitted(world)
        events = crash(world, "ada")

    assert restarted(world, events) == ["ada"]
    assert world.state.supervisors["s1"].restarts_ms == []


def test_an_agent_in_error_is_looked_at_again_when_an_operator_says_so() -> None:
    world = team_world(agent("ada"))
    ada = member(world, "ada")
    world.say(AgentUnusable(agent_id=ada.id, generation=1, error="no code"))

    applied(world, Resume(target="ada"))

    assert [effect.agent_id for effect in world.effects if isinstance(effect, CheckAgent)] == [ada.id]


def test_a_crash_that_is_the_end_of_a_stop_is_no_crash() -> None:
    world = crew()
    applied(world, Cancel(target="r1"))

    assert "agents_restarted" not in kinds(crash(world, "ada"))


def test_a_crash_ends_attempts_that_were_to_migrate_while_they_waited_for_others() -> None:
    world = team_world(
        agent("lead", on_failure=[Retry(9, 0.001, 0.001)], max_concurrency=2),
        agent("hand", "dig"),
        mode="delegate",
        options=SupervisorOptions(lead="lead"),
    )
    submitted(world)
    parked = attempt(world, "lead")
    world.ask(parked, "dig", ["here"])
    submitted(world)
    other = next(key for key in attempts(world, "lead") if key != parked)
    applied(world, SwapAgent(agent="lead", spec=agent("lead", "other", max_concurrency=2), mode="migrate"))

    world.fail(other, "segmentation fault", crashed=True)
    assert parked in world.stopping
    world.stop(parked)

    assert_legal(world.state)
    assert world.state.tasks[parked[0]].attempt is None or world.state.tasks[parked[0]].attempts > parked[1]
    world.settle()
    assert not world.state.runs


def test_a_crash_does_not_give_back_the_steps_that_a_swap_has_thrown_away() -> None:
    world = crew("one_for_all")
    ada = attempt(world, "ada")
    world.record(ada, "read", "page")
    applied(world, SwapAgent(agent="ada", spec=agent("ada", "other"), mode="abort"))

    crash(world, "bob")
    world.stop(ada)

    assert world.started[attempt(world, "ada")].steps == {}
