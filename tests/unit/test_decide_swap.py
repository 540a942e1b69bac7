"""Swap by drain: new attempts use the new generation at once, running ones end on the old."""

import pytest

from engine.core.commands import RegisterSpec, SwapAgent, SwapAgents
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentSpec, Retry
from engine.core.state import AgentStatus
from tests.story import applied, attempt, attempts, kinds, member, refused, submitted
from tests.world import World, agent, team_world

ANEW = agent("ada", "sum", timeout_s=9)


def pool(**fields: int) -> World:
    """A lead that has asked ada for two things."""
    world = team_world(agent("lead"), agent("ada", "sum", **fields), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y"])
    return world


def swap(world: World, spec: AgentSpec = ANEW) -> dict[str, object]:
    return applied(world, SwapAgent(agent="ada", spec=spec))


def test_an_idle_agent_is_swapped_at_once() -> None:
    world = team_world(agent("ada"))

    events = world.order(SwapAgent(agent="ada", spec=ANEW))

    assert kinds(events)[:2] == ["agent_swapped", "command_applied"]
    assert (member(world, "ada").generation, member(world, "ada").status) == (2, AgentStatus.IDLE)


def test_what_is_at_work_ends_on_the_old_generation_and_the_next_attempt_is_of_the_new_one() -> None:
    world = pool()
    before = world.started[attempt(world, "ada")]

    assert swap(world)["still_running"] == 1

    assert member(world, "ada").status is AgentStatus.DRAINING
    world.succeed(attempt(world, "ada"))
    after = world.started[attempt(world, "ada")]
    assert (before.generation, after.generation) == (1, 2)
    assert before.spec != after.spec == member(world, "ada").spec


def test_a_swap_is_drained_when_the_last_attempt_of_the_old_generation_has_ended() -> None:
    world = pool(max_concurrency=2)
    swap(world, agent("ada", "sum", max_concurrency=2, timeout_s=9))
    first, second = attempts(world, "ada")

    assert "swap_drained" not in kinds(world.succeed(first))
    assert "swap_drained" in kinds(world.succeed(second))
    assert not member(world, "ada").draining


def test_an_attempt_that_waits_for_others_goes_on_with_the_generation_it_began_with() -> None:
    world = team_world(agent("ada"), agent("bob", "sum"), participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    world.ask(key, "sum", ["x"])
    applied(world, SwapAgent(agent="ada", spec=agent("ada", timeout_s=9)))

    world.succeed(attempt(world, "bob"))

    assert member(world, "ada").running == {key[0]: 1}
    assert member(world, "ada").status is AgentStatus.DRAINING


def test_an_agent_is_not_swapped_again_before_the_last_swap_is_drained() -> None:
    world = pool()
    swap(world)

    assert "swapping already" in refused(world, SwapAgent(agent="ada", spec=agent("ada", "sum", timeout_s=1)))


@pytest.mark.parametrize(("mode", "stopping"), [("migrate", "migrate"), ("abort", "restart")])
@pytest.mark.parametrize("again", ["another spec", "the same spec"])
def test_a_swap_that_drains_nothing_also_stops_what_an_earlier_swap_left_to_drain(
    mode: str, stopping: str, again: str
) -> None:
    world = pool()
    key = attempt(world, "ada")
    swap(world)

    spec = ANEW if again == "the same spec" else agent("ada", "sum", timeout_s=77)
    applied(world, SwapAgent(agent="ada", spec=spec, mode=mode))

    left = world.state.tasks[key[0]].attempt
    assert left is not None
    assert left.stopping == stopping
    assert member(world, "ada").generation == (2 if again == "the same spec" else 3)


def test_a_swap_to_the_same_spec_is_refused() -> None:
    assert "has this spec already" in refused(pool(), SwapAgent(agent="ada", spec=agent("ada", "sum")))


def test_a_swap_to_code_that_is_not_trusted_is_refused_and_changes_nothing() -> None:
    world = pool()
    world.untrusted = {"other:code"}

    reason = refused(world, SwapAgent(agent="ada", spec=AgentSpec(name="ada", run="other:code")))

    assert "not trusted: other:code" in reason
    assert member(world, "ada").generation == 1


def test_a_swap_of_an_agent_that_somebody_else_has_changed_meanwhile_is_refused() -> None:
    world = pool()
    swap(world)
    world.succeed(attempt(world, "ada"))

    late = SwapAgent(agent="ada", spec=agent("ada", "sum", timeout_s=1), generation=1)
    said = "ada is g2 by now, not g1; look at it first"
    assert refused(world, late) == said
    assert refused(world, SwapAgents(swaps=[late])) == said
    applied(world, copy_with(late, generation=2))


@pytest.mark.parametrize("fields", [{}, {"spec": ANEW, "registered": "ada"}])
def test_a_swap_names_one_spec(fields: dict[str, object]) -> None:
    assert "either" in refused(pool(), SwapAgent(agent="ada", **fields))  # type: ignore[arg-type]


def test_an_agent_can_be_swapped_to_a_spec_of_the_registry() -> None:
    world = pool()
    applied(world, RegisterSpec(spec=agent("eve", "sum")))

    applied(world, SwapAgent(agent="ada", registered="eve"))

    assert (member(world, "ada").generation, world.state.spec_of(member(world, "ada")).run) == (2, "crew:eve")
    assert "no spec 'eva'" in refused(world, SwapAgent(agent="ada", registered="eva"))


def test_there_is_no_swap_mode_but_drain() -> None:
    assert "no swap mode" in refused(pool(), SwapAgent(agent="ada", spec=ANEW, mode="leap"))


def test_a_swapped_agent_serves_what_its_new_spec_claims() -> None:
    world = pool()
    swap(world, agent("ada", "sing", timeout_s=9))

    world.succeed(attempt(world, "ada"))

    assert attempts(world, "ada") == []
    assert len([task for task in world.state.tasks.values() if task.queue and task.queue.endswith(":sum")]) == 2


def test_retries_follow_the_policy_of_the_new_spec() -> None:
    world = pool()
    swap(world, agent("ada", "sum", on_failure=[Retry()]))

    assert "retry_scheduled" in kinds(world.fail(attempt(world, "ada")))


def test_work_goes_on_with_whoever_suits_it_when_all_that_serve_it_are_swapped_away_at_once() -> None:
    team = [agent("ada", "parse"), agent("bob", "parse"), agent("cyd", "log parsing")]
    world = team_world(agent("lead"), *team, participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "parse", ["x", "y", "z"])

    swaps = [SwapAgent(agent=name, spec=agent(name, "sing", timeout_s=9)) for name in ("ada", "bob")]
    applied(world, SwapAgents(swaps=swaps))

    assert [start.input for start in world.starts if start.agent == "cyd"] == ["z"]
