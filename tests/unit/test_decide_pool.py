"""A pool: an agent that is as many as its queue asks for."""

from typing import Any

import pytest

from engine.core.commands import Move, Pause, RemoveMember, Resume, SupervisorSpec, SwapAgent
from engine.core.events import PoolResized
from engine.core.scheduler import Schedule
from engine.core.specs.spec import Pool
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, member, submitted
from tests.world import World, agent, team_world

WORKER: dict[str, Any] = {"run": "crew:ada"}


def flooded(tasks: int, pool: Pool, *, max_parallel: int = 100, **fields: Any) -> World:
    """A lead that has asked a pool for so many things at once."""
    world = team_world(
        agent("lead"), agent("ada", "sum", pool=pool, **fields), participants=["lead"], max_parallel=max_parallel
    )
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", list(range(tasks)))
    return world


def resized(world: World) -> list[tuple[int, int, str]]:
    """Return every change of size so far."""
    found = [event for event in world.journal if isinstance(event, PoolResized)]
    return [(event.previous, event.size, event.reason) for event in found]


def sizes(world: World) -> list[int]:
    return [size for _, size, _ in resized(world)]


def idle(world: World) -> None:
    """Let the time come that a pool is watched until."""
    world.due("pool:a2")


def test_a_pool_begins_with_its_fewest_instances() -> None:
    world = team_world(agent("ada", pool=Pool(min=2, max=5), max_concurrency=3))

    assert (member(world, "ada").size, member(world, "ada").max_concurrency) == (2, 6)
    assert world.timers == {}


def test_a_flood_makes_a_pool_grow_in_one_step_until_little_enough_waits_for_each() -> None:
    world = flooded(12, Pool(max=100, grow_at=2))

    ada = member(world, "ada")
    assert (ada.size, len(ada.running)) == (4, 4)
    assert resized(world) == [
        (1, 2, "11 wait for 1 instance"),
        (2, 3, "10 wait for 2 instances"),
        (3, 4, "9 wait for 3 instances"),
    ]


def test_a_pool_never_grows_beyond_its_most() -> None:
    world = flooded(50, Pool(max=3))

    assert member(world, "ada").size == 3
    assert len(attempts(world, "ada")) == 3


def test_a_pool_whose_queue_is_short_enough_does_not_grow() -> None:
    world = flooded(4, Pool(max=5, grow_at=3))

    assert resized(world) == []


def test_each_instance_runs_as_many_attempts_as_the_spec_says() -> None:
    world = flooded(12, Pool(max=2, grow_at=1), max_concurrency=3)

    assert len(attempts(world, "ada")) == 6


def test_slots_of_the_supervisor_hold_a_pool_back() -> None:
    world = flooded(50, Pool(max=30, grow_at=1), max_parallel=4)

    assert member(world, "ada").size == 5  # the lead is parked: four at work, and one more that none of them needs
    assert world.timers == {}


def test_instances_that_have_nothing_to_do_go_one_by_one() -> None:
    world = flooded(12, Pool(max=3, idle_s=10))
    while attempts(world, "ada"):
        world.succeed(attempts(world, "ada")[0])
    began = world.now_ms

    idle(world)
    assert (member(world, "ada").size, world.now_ms - began) == (2, 10_000)
    idle(world)
    assert (member(world, "ada").size, world.now_ms - began) == (1, 20_000)

    assert world.timers == {}
    assert resized(world)[-2:] == [(3, 2, "idle for 10 s"), (2, 1, "idle for 10 s")]


def test_a_pool_never_shrinks_below_what_is_at_work() -> None:
    world = flooded(12, Pool(max=3, idle_s=10))
    while len(attempts(world, "ada")) == 3:
        world.succeed(attempts(world, "ada")[0])

    idle(world)

    assert (member(world, "ada").size, len(attempts(world, "ada"))) == (2, 2)
    assert world.timers == {}


def test_an_instance_that_was_at_work_in_between_counts_from_when_it_was() -> None:
    world = flooded(3, Pool(max=2, grow_at=1, idle_s=10))
    world.succeed(attempts(world, "ada")[0])
    world.succeed(attempts(world, "ada")[0])
    assert list(world.timers) == ["pool:a2"]
    world.now_ms += 4_000
    world.ask(attempts(world, "ada")[0], "lead", [])
    second = submitted(world, supervisor="chief")
    world.ask(next(key for key in attempts(world, "lead") if world.state.tasks[key[0]].run_id == second), "sum", [1])
    world.now_ms += 3_000
    world.succeed(attempts(world, "ada")[-1])

    idle(world)

    assert member(world, "ada").size == 2
    assert world.timers["pool:a2"] == 1_000 + 4_000 + 3_000 + 10_000


def test_a_pool_that_is_at_work_whole_when_it_is_looked_at_is_watched_no_more() -> None:
    world = flooded(3, Pool(max=2, grow_at=1, idle_s=10))
    world.succeed(attempts(world, "ada")[0])
    world.succeed(attempts(world, "ada")[0])
    world.ask(attempts(world, "ada")[0], "sum", [1, 2], call="k9")

    assert len(attempts(world, "ada")) == 1


def test_a_shrink_that_would_be_followed_by_a_growth_does_not_happen() -> None:
    world = flooded(50, Pool(max=30, grow_at=1, idle_s=10), max_parallel=4)
    world.now_ms += 60_000
    for _ in range(10):
        world.succeed(attempts(world, "ada")[0])

    assert sizes(world) == [2, 3, 4, 5]


def test_a_pool_that_shrank_takes_the_next_task_without_growing() -> None:
    world = flooded(12, Pool(max=3, idle_s=10))
    while attempts(world, "ada"):
        world.succeed(attempts(world, "ada")[0])
    idle(world)
    grown = len(resized(world))

    world.ask(attempt(world, "lead"), "sum", [1], call="k2")

    assert len(attempts(world, "ada")) == 1
    assert len(resized(world)) == grown


def test_a_paused_pool_does_not_grow_and_does_when_it_goes_on() -> None:
    world = team_world(
        agent("lead"), agent("ada", "sum", pool=Pool(max=3, grow_at=1)), participants=["lead"], max_parallel=100
    )
    submitted(world)
    world.order(Pause(target="ada"))
    world.ask(attempt(world, "lead"), "sum", [1, 2, 3])
    assert sizes(world) == []

    world.order(Resume(target="ada"))

    assert sizes(world) == [2]
    assert_legal(world.state)


def test_tasks_of_its_own_count_as_those_of_its_capabilities_do() -> None:
    world = team_world(agent("lead"), agent("ada", pool=Pool(max=3, grow_at=1)), participants=["lead"])
    submitted(world)

    world.ask(attempt(world, "lead"), "ada", [1, 2, 3, 4])

    assert member(world, "ada").size == 2


@pytest.mark.parametrize(
    ("pool", "size"), [(None, 1), (Pool(max=2), 2), (Pool(min=5, max=9, grow_at=99), 5), (Pool(max=4, grow_at=99), 3)]
)
def test_a_swap_keeps_as_many_instances_as_the_new_spec_allows(pool: Pool | None, size: int) -> None:
    world = flooded(50, Pool(max=3, grow_at=9))

    applied(world, SwapAgent(agent="ada", spec=agent("ada", "sum", pool=pool, timeout_s=9)))

    ada = member(world, "ada")
    assert (ada.size, ada.max_concurrency) == (size, size)
    assert_legal(world.state)


def test_an_agent_becomes_a_pool_by_a_swap_and_grows_at_once() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"], max_parallel=100)
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", list(range(9)))

    applied(world, SwapAgent(agent="ada", spec=agent("ada", "sum", pool=Pool(max=9, grow_at=2))))

    assert member(world, "ada").size == 3


def test_the_last_pool_that_is_swapped_back_by_itself_for_a_failure_is_looked_at_as_a_pool_no_more() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"], max_parallel=100)
    submitted(world)
    pool = agent("ada", "sum", pool=Pool(max=3, grow_at=1))
    applied(world, SwapAgent(agent="ada", spec=pool, rollback_failures=1))
    world.ask(attempt(world, "lead"), "sum", [1, 2, 3])
    assert len(attempts(world, "ada")) == member(world, "ada").size == 2
    world.succeed(attempts(world, "ada")[0])

    world.fail(attempts(world, "ada")[0])  # an instance has nothing to do, and in the same step there is no pool

    assert (member(world, "ada").size, world.state.pools) == (1, {})
    assert_legal(world.state)


def test_a_pool_that_leaves_is_watched_no_more() -> None:
    world = flooded(12, Pool(max=3, idle_s=10))
    while attempts(world, "ada"):
        world.succeed(attempts(world, "ada")[0])
    assert list(world.state.timers) == ["pool:a2"]

    world.order(RemoveMember(target="ada"))

    assert world.state.timers == {}
    assert not world.state.pools


def test_a_pool_is_watched_again_after_a_crash() -> None:
    world = flooded(12, Pool(max=3, idle_s=10))
    while attempts(world, "ada"):
        world.succeed(attempts(world, "ada")[0])
    world.crash()

    while world.timers:
        idle(world)

    assert member(world, "ada").size == 1


def test_a_pool_moves_with_its_instances() -> None:
    world = team_world(
        agent("lead"),
        agent("ada", "sum", pool=Pool(max=3, grow_at=1)),
        SupervisorSpec(name="below", members=[agent("bob")]),
        participants=["lead"],
        max_parallel=100,
    )
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", list(range(9)))

    applied(world, Move(target="ada", parent="below"))

    assert member(world, "ada").size == 3
    assert Schedule.of(world.state).slots["s2"].running == 3
    assert_legal(world.state)


def test_bounds_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="pool: max must be at least min, 3, not 2"):
        Pool(min=3, max=2)
