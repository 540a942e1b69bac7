"""An agent whose slots are kept by code of ended attempts says so, wherever its state or its queue is shown."""

import pytest

from dashboard.views.facts.agent import state_of_agent
from dashboard.views.facts.now import now_of_agent
from dashboard.views.facts.supervisor import now_of_supervisor
from dashboard.views.measures.digest import make_digest
from engine.core.commands import SwapAgent
from engine.core.scheduler.waiting import WaitReasons, describe_stuck_slots
from engine.core.signals import EngineBegan, ThreadCameBack
from engine.core.specs.spec import Retry
from engine.core.state import AgentStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, member, submitted
from tests.world import World, agent, team_world

FREES = "restart the engine, or give it run_in: process"


def stuck_world(slots: int = 1) -> World:
    """Return a team whose only agent has ended an attempt of t2 whose code goes on, with another run that waits."""
    world = team_world(agent("ada", max_concurrency=slots))
    submitted(world)
    world.fail(attempt(world, "ada"), stuck=True)
    submitted(world)
    return world


def test_its_status_what_it_does_and_what_waits_for_it_name_the_task_and_the_way_out() -> None:
    world = stuck_world()
    ada, counts = member(world, "ada"), make_digest(world.state)
    waiting = next(task for task in world.state.tasks.values() if task.queue is not None)
    wait = WaitReasons(world.state).wait_of(waiting)
    chief = next(iter(world.state.supervisors.values()))

    assert ada.status is AgentStatus.BUSY
    assert state_of_agent(ada, counts).text == "! stuck"
    said = now_of_agent(ada, counts, world.now_ms).text
    assert said.startswith("code of t2 has not ended")
    assert f"and keeps 1 of 1 slot; {FREES}" in said
    assert wait is not None
    assert wait.words == f"ada waits: code of t2 has not ended and keeps 1 of 1 slot; {FREES}"
    assert now_of_supervisor(world.state, chief, counts).text == "! 1 stuck"
    assert_legal(world.state)


def test_one_that_has_another_slot_goes_on() -> None:
    world = stuck_world(slots=2)

    assert member(world, "ada").stuck_since.keys() == {"t2"}
    assert attempt(world, "ada")[0] == "t4"


@pytest.mark.parametrize("restarts", [True, False])
def test_it_works_again_when_the_code_has_ended_or_the_engine_is_another(*, restarts: bool) -> None:
    world = stuck_world()
    if restarts:
        world.say(EngineBegan(pid=2, token=2, version="test"))
    else:
        world.say(ThreadCameBack(agent_id=member(world, "ada").id, task_id="t2"))

    assert (member(world, "ada").stuck, member(world, "ada").stuck_since) == (0, {})
    assert attempt(world, "ada")[0] == "t4"


def test_of_several_ended_attempts_the_first_is_named_until_its_code_has_ended() -> None:
    world = team_world(agent("ada", max_concurrency=3), agent("bob", max_concurrency=3), mode="parallel")
    for _ in range(3):
        submitted(world)
    first, second, third = attempts(world, "ada")
    for key in (first, second, third):
        world.now_ms += 1_000
        world.fail(key, stuck=True)
    ada = member(world, "ada")
    ended_ms = {
        key[0]: world.now_ms - 1_000 * back for back, key in zip((2, 1, 0), (first, second, third), strict=True)
    }

    assert (ada.stuck, ada.stuck_since) == (3, ended_ms)
    assert describe_stuck_slots(ada, "noon").startswith(
        f"code of {first[0]} (and 2 others) has not ended since noon and keeps 3 of"
    )
    world.say(ThreadCameBack(agent_id=ada.id, task_id=first[0]))
    assert describe_stuck_slots(ada).startswith(
        f"code of {second[0]} (and 1 other) has not ended and keeps 2 of 3 slots;"
    )
    world.say(ThreadCameBack(agent_id=ada.id))
    world.say(ThreadCameBack(agent_id=ada.id))
    assert (ada.stuck, ada.stuck_since) == (0, {})


def test_code_of_a_task_that_was_tried_again_is_stuck_since_its_first_attempt() -> None:
    world = team_world(agent("ada", max_concurrency=2, on_failure=[Retry(2, 0.5, 1.0)]))
    submitted(world)
    first = attempt(world, "ada")
    world.fail(first, stuck=True)
    since_ms = world.now_ms
    world.due(f"retry:{first[0]}")
    world.now_ms += 9_000
    world.fail(attempt(world, "ada"), stuck=True)

    assert (member(world, "ada").stuck, member(world, "ada").stuck_since) == (2, {first[0]: since_ms})


def test_code_that_goes_on_after_its_agent_was_swapped_is_named() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    key = attempt(world, "ada")
    applied(world, SwapAgent(agent="ada", spec=agent("ada", timeout_s=9), mode="migrate"))
    world.stop(key, stuck=True)

    assert member(world, "ada").stuck_since.keys() == {key[0]}
    assert_legal(world.state)


def test_it_says_since_when_the_first_of_its_slots_is_kept_and_of_how_many_tasks() -> None:
    world = team_world(agent("ada", max_concurrency=2))
    for _ in range(2):
        submitted(world)
        world.fail(attempt(world, "ada"), stuck=True)
        world.now_ms += 3_600_000
    submitted(world)
    ada = member(world, "ada")
    since_ms = sorted(ada.stuck_since.values())

    assert since_ms[1] - since_ms[0] >= 3_600_000
    assert now_of_agent(ada, make_digest(world.state), world.now_ms).text == (
        f"code of t2 (and 1 other) has not ended and keeps 2 of 2 slots; {FREES}  2h00m"
    )
