"""An agent whose slots are kept by code of ended attempts says so, wherever its state or its queue is shown."""

import pytest

from dashboard.views.digest import digest
from dashboard.views.work import now_of_agent, now_of_supervisor, state_of_agent
from engine.core.queries.waiting import Waits
from engine.core.signals import EngineBegan, ThreadCameBack
from engine.core.state import AgentStatus
from tests.legal import assert_legal
from tests.story import attempt, member, submitted
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
    ada, counts = member(world, "ada"), digest(world.state)
    waiting = next(task for task in world.state.tasks.values() if task.queue is not None)
    wait = Waits(world.state).why(waiting)
    chief = next(iter(world.state.supervisors.values()))

    assert ada.status is AgentStatus.BUSY
    assert state_of_agent(world.state, ada).text == "◔ busy"
    said = now_of_agent(world.state, ada, counts, {}, world.now_ms).text
    assert said.startswith("code of t2 has not ended since ")
    assert f"and keeps 1 of 1 slot; {FREES}, 1 waiting" in said
    assert wait is not None
    assert wait.words == f"ada waits: code of t2 has not ended and keeps 1 of 1 slot; {FREES}"
    assert now_of_supervisor(world.state, chief, counts).text.startswith("ada: code of t2 has not ended")
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
