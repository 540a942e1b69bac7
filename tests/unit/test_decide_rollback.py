"""Ways back from a swap: asked for, by itself; several swaps at once; other specialties; room for one more."""

import pytest

from engine.core.commands import (
    AddAgent,
    ChangeCapabilities,
    Command,
    RemoveMember,
    Rollback,
    RollbackAgents,
    SwapAgent,
    SwapAgents,
)
from engine.core.records.values import Usage
from engine.core.signals import AgentUnusable, AttemptErred
from engine.core.specs.limits import Limits
from engine.core.state import AgentStatus
from engine.errors import CodeChanged, NotImported, Unusable
from engine.runtimes.values import traits
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, kinds, member, only, refused, start_of, submitted, works
from tests.world import World, agent, team_world

FIRST, SECOND = agent("ada", "sum"), agent("ada", "sum", timeout_s=9)


def swapped(mode: str = "drain", **fields: object) -> World:
    """Ada was swapped while she had nothing to do."""
    world = team_world(FIRST, agent("bob"), participants=["ada"])
    applied(world, SwapAgent(agent="ada", spec=SECOND, mode=mode, **fields))  # type: ignore[arg-type]
    return world


def spec_of(world: World, name: str) -> object:
    return world.state.spec_of(member(world, name))


def test_a_roll_back_is_a_new_generation_with_the_spec_before() -> None:
    world = swapped()

    assert applied(world, Rollback(agent="ada"))["generation"] == 3

    assert spec_of(world, "ada") == FIRST
    assert member(world, "ada").status is AgentStatus.IDLE


def test_a_roll_back_can_be_rolled_back() -> None:
    world = swapped()
    applied(world, Rollback(agent="ada"))

    applied(world, Rollback(agent="ada"))

    assert (spec_of(world, "ada"), member(world, "ada").generation) == (SECOND, 4)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (Rollback(agent="bob"), "nothing to roll back to"),
        (Rollback(agent="ada", mode="leap"), "no swap mode 'leap'"),
        (Rollback(agent="eve"), "no agent 'eve'"),
    ],
)
def test_a_roll_back_that_cannot_be_is_refused_in_a_line(command: Command, reason: str) -> None:
    assert reason in refused(swapped(), command)


def test_one_that_leaves_is_not_rolled_back() -> None:
    world = swapped()
    submitted(world)
    applied(world, RemoveMember(target="ada", mode="drain"))

    assert "being removed" in refused(world, Rollback(agent="ada"))


def test_a_roll_back_migrates_or_aborts_what_is_at_work_as_a_swap_does() -> None:
    world = swapped()
    submitted(world)
    key = attempt(world, "ada")
    world.record(key, "read", "page")

    applied(world, Rollback(agent="ada", mode="migrate"))
    world.stop(key)

    assert (start_of(world, "ada").generation, start_of(world, "ada").steps) == (3, {"read": "page"})


def test_a_swap_can_be_rolled_back_while_the_generation_before_still_works_and_that_is_left_alone() -> None:
    world = team_world(FIRST, participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    applied(world, SwapAgent(agent="ada", spec=SECOND))

    applied(world, Rollback(agent="ada", mode="abort"))

    assert world.stopping == set()
    assert "swap_drained" in kinds(world.succeed(key))


def test_a_generation_that_cannot_even_begin_is_rolled_back_by_itself() -> None:
    world = swapped()

    back = only(world.say(AgentUnusable(agent_id="a1", generation=2, error="no code")), "swap_rolled_back")

    assert (back.generation, back.by_itself, back.why) == (3, True, "no code")
    assert (spec_of(world, "ada"), member(world, "ada").error) == (FIRST, None)


@pytest.mark.parametrize("error", [Unusable, NotImported, CodeChanged])
def test_what_had_begun_on_it_goes_on_with_the_one_before(error: type[Unusable]) -> None:
    world, types = swapped(), traits(error("no code")).types
    submitted(world)
    task_id, number = attempt(world, "ada")
    world.say(AgentUnusable(agent_id="a1", generation=2, error="no code"))

    events = world.say(
        AttemptErred(
            task_id=task_id, attempt=number, generation=2, error="no code", error_type=types[0], error_types=types
        )
    )

    assert kinds(events)[0] == "attempt_migrated"
    assert (start_of(world, "ada").attempt, start_of(world, "ada").generation) == (1, 3)


def test_one_that_has_worked_is_in_error_and_not_rolled_back() -> None:
    world = swapped()
    submitted(world)
    world.succeed(attempt(world, "ada"))

    events = world.say(AgentUnusable(agent_id="a1", generation=2, error="no code"))

    assert kinds(events) == ["agent_broke"]


def test_what_is_rolled_back_by_itself_and_cannot_work_either_stays_in_error() -> None:
    world = swapped()
    world.say(AgentUnusable(agent_id="a1", generation=2, error="no code"))

    assert kinds(world.say(AgentUnusable(agent_id="a1", generation=3, error="nor here"))) == ["agent_broke"]


def test_so_many_failures_of_the_first_attempts_roll_it_back() -> None:
    world = swapped(rollback_failures=2, rollback_tasks=3)
    for _ in range(3):
        submitted(world)

    world.fail(attempt(world, "ada"))
    world.succeed(attempt(world, "ada"))
    back = only(world.fail(attempt(world, "ada")), "swap_rolled_back")

    assert back.why == "2 of its first 3 attempts failed"
    assert spec_of(world, "ada") == FIRST


def test_who_is_rolled_back_to_a_budget_that_it_has_spent_since_is_held_at_once() -> None:
    frugal = agent("ada", "sum", limits=Limits(tokens=10))
    world = team_world(frugal, agent("bob"), participants=["ada"])
    applied(world, SwapAgent(agent="ada", spec=FIRST, rollback_failures=1))
    submitted(world)
    world.record(attempt(world, "ada"), "s", usage=Usage(tokens_in=10))

    out = only(world.fail(attempt(world, "ada")), "budget_exhausted")

    assert (out.subject, spec_of(world, "ada")) == (member(world, "ada").id, frugal)


def test_after_so_many_attempts_it_is_trusted() -> None:
    world = swapped(rollback_failures=2, rollback_tasks=3)
    for _ in range(4):
        submitted(world)
    world.fail(attempt(world, "ada"))
    world.succeed(attempt(world, "ada"))
    world.succeed(attempt(world, "ada"))

    assert member(world, "ada").probation is None
    assert "swap_rolled_back" not in kinds(world.fail(attempt(world, "ada")))


def test_an_agent_that_is_being_removed_is_on_trial_no_more() -> None:
    world = swapped(rollback_failures=1, rollback_tasks=1)
    for _ in range(2):
        submitted(world)
    applied(world, RemoveMember(target="ada", mode="drain"))

    ended = world.fail(attempt(world, "ada"))

    assert "attempt_started" in kinds(ended)
    assert "swap_rolled_back" not in kinds(ended)
    assert_legal(world.state)


@pytest.mark.parametrize(("failures", "tasks"), [(0, 3), (4, 3), (-1, 3), (1, 0)])
def test_a_roll_back_by_itself_asks_for_numbers_that_can_be(failures: int, tasks: int) -> None:
    command = SwapAgent(agent="bob", spec=SECOND, rollback_failures=failures, rollback_tasks=tasks)

    reason = refused(swapped(), command)
    assert "must be from 1 to M" in reason or "must be a whole number, 1 to" in reason


def test_several_are_swapped_at_once_or_none() -> None:
    world = team_world(agent("ada"), agent("bob"))
    both = [SwapAgent(agent=name, spec=agent(name, timeout_s=9)) for name in ("ada", "bob")]
    wrong = SwapAgent(agent="bob", spec=agent("bob"))

    assert "bob has this spec already" in refused(world, SwapAgents(swaps=[both[0], wrong]))
    assert "ada is named twice" in refused(world, SwapAgents(swaps=[both[0], both[0]]))
    assert "name at least one" in refused(world, SwapAgents(swaps=[]))
    assert member(world, "ada").generation == 1

    applied(world, SwapAgents(swaps=both))

    assert [member(world, name).generation for name in ("ada", "bob")] == [2, 2]


def test_several_are_rolled_back_at_once_or_none() -> None:
    world = team_world(agent("ada"), agent("bob"))
    applied(world, SwapAgents(swaps=[SwapAgent(agent=name, spec=agent(name, timeout_s=9)) for name in ("ada", "bob")]))
    both = [Rollback(agent=name, generation=2) for name in ("ada", "bob")]
    applied(world, ChangeCapabilities(agent="bob", add=["sing"]))
    applied(world, SwapAgent(agent="bob", spec=agent("bob", timeout_s=7)))

    assert "bob is g3 by now, not g2" in refused(world, RollbackAgents(rollbacks=both))
    assert "ada is named twice" in refused(world, RollbackAgents(rollbacks=[both[0], both[0]]))
    assert [member(world, name).generation for name in ("ada", "bob")] == [2, 3]

    applied(world, RollbackAgents(rollbacks=[both[0], Rollback(agent="bob", generation=3)]))

    assert [member(world, name).generation for name in ("ada", "bob")] == [3, 4]
    assert [world.state.spec_of(member(world, name)).timeout_s for name in ("ada", "bob")] == [None, 9]


def test_rolling_several_back_is_the_same_as_one_after_the_other() -> None:
    def swapped_two() -> World:
        world = team_world(agent("lead"), agent("ada", "sum"), agent("bob", "sum"), participants=["lead"])
        submitted(world)
        world.ask(attempt(world, "lead"), "sum", ["x", "y", "z"])
        specs = [agent(name, "sing", timeout_s=9) for name in ("ada", "bob")]
        applied(world, SwapAgents(swaps=[SwapAgent(agent=spec.name, spec=spec, mode="abort") for spec in specs]))
        return world

    at_once, in_turn = swapped_two(), swapped_two()
    applied(at_once, RollbackAgents(rollbacks=[Rollback(agent="ada"), Rollback(agent="bob")]))
    for name in ("ada", "bob"):
        applied(in_turn, Rollback(agent=name))

    assert {key: queue.agents for key, queue in at_once.state.queues.items()} == {
        key: queue.agents for key, queue in in_turn.state.queues.items()
    }
    assert works(at_once) == works(in_turn)


def test_a_specialty_that_is_added_brings_the_tasks_that_wait_for_it() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), agent("bob", "sing"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y"])

    applied(world, ChangeCapabilities(agent="bob", add=["sum"]))

    assert start_of(world, "bob").input == "y"
    assert member(world, "bob").generation == 1


def test_one_that_is_taken_away_leaves_what_runs_and_takes_nothing_new() -> None:
    world = team_world(agent("lead"), agent("ada", "sum", "sing"), agent("bob", "sum"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y", "z"])

    applied(world, ChangeCapabilities(agent="ada", remove=["Sum"]))
    world.succeed(attempt(world, "ada"))

    assert attempts(world, "ada") == []


@pytest.mark.parametrize(
    ("add", "remove", "reason"),
    [
        ([], ["sumo"], "did you mean sum?"),
        (["sum"], [], "these specialties already"),
        ([], [], "these specialties already"),
        (["sing"], ["sing"], "to be added and removed"),
        ([" "], [], "not an empty text"),
    ],
)
def test_specialties_that_cannot_be_changed_so_are_refused(add: list[str], remove: list[str], reason: str) -> None:
    assert reason in refused(swapped(), ChangeCapabilities(agent="ada", add=add, remove=remove))


def test_an_agent_may_be_left_without_any_specialty() -> None:
    world = swapped()

    assert applied(world, ChangeCapabilities(agent="ada", remove=["sum"]))["specialties"] == []


def test_in_a_full_house_the_agent_goes_that_has_been_idle_for_longest() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), max_agents=3)
    world.now_ms += 10

    said = applied(world, AddAgent(spec=agent("dan"), evict=True))

    assert said["evicted"] == "a1"
    assert [one.name for one in world.state.agents.values()] == ["bob", "cyd", "dan"]


def test_one_that_is_at_work_or_waited_for_is_never_let_go() -> None:
    world = team_world(agent("ada"), agent("bob"), max_agents=2)
    submitted(world)

    reason = refused(world, AddAgent(spec=agent("dan"), evict=True))

    assert "none of them is idle" in reason


def test_nobody_goes_while_there_is_room_or_where_it_was_not_asked_for() -> None:
    world = team_world(agent("ada"), max_agents=2)
    applied(world, AddAgent(spec=agent("dan"), evict=True))

    assert len(world.state.agents) == 2
    assert "remove one first" in refused(world, AddAgent(spec=agent("eve")))
