"""Work that nobody may take: a person is asked once for a queue, and the question goes when somebody can take it."""

import pytest

from engine.core.commands import AddAgent, Answer, Cancel, Pause, RemoveMember, Resume
from engine.core.scheduler.waiting import WaitReasons
from engine.core.state import Escalation, RunStatus
from tests.story import applied, attempt, ended, kinds, member, submitted, works
from tests.world import World, agent, team_world


def paused_and_leaving(*others: str) -> World:
    world = team_world(agent("ada"), agent("packer", "pack"), *(agent(name, "pack") for name in others))
    submitted(world)
    world.order(Pause(target="packer"))
    applied(world, RemoveMember(target="packer", mode="drain"))
    world.succeed(attempt(world, "ada"))
    return world


def question(world: World) -> Escalation:
    (one,) = world.state.escalations.values()
    return one


def test_work_of_an_agent_that_is_paused_and_leaves_becomes_a_question() -> None:
    world = paused_and_leaving()

    assert question(world).kind == "nobody"
    assert question(world).options == ["wait", "retry", "fail"]
    assert question(world).question == (
        "packer waits, and nobody may take it: packer is paused, and is being removed; what should happen to it?"
    )
    wait = WaitReasons(world.state).wait_of(world.state.tasks[question(world).subject])
    assert wait is not None
    assert (wait.reason, wait.ids) == ("nobody", (question(world).id,))


def test_nobody_is_asked_about_work_of_an_agent_that_is_paused_and_stays() -> None:
    world = team_world(agent("ada"), agent("packer"))
    submitted(world)
    world.order(Pause(target="packer"))
    world.succeed(attempt(world, "ada"))

    assert not world.state.escalations


def test_the_question_goes_when_somebody_can_take_the_work() -> None:
    world = paused_and_leaving()

    events = world.order(Resume(target="packer"))

    assert "question_withdrawn" in kinds(events)
    assert not world.state.escalations
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_whoever_waits_is_not_asked_again() -> None:
    world = paused_and_leaving()
    world.order(Answer(escalation=question(world).id, answer="wait"))
    assert not world.state.escalations

    world.order(Resume(target="packer"))
    world.settle()

    assert ended(world).status is RunStatus.DONE


def test_retry_looks_for_somebody_and_asks_again_where_there_is_nobody() -> None:
    world = paused_and_leaving()
    first = question(world).id
    world.order(Answer(escalation=first, answer="retry"))
    assert question(world).id != first
    applied(world, AddAgent(supervisor=None, spec=agent("bob", "pack")))

    world.order(Answer(escalation=question(world).id, answer="retry"))

    assert works(world) == ["bob"]


def test_fail_ends_the_work() -> None:
    world = paused_and_leaving()

    world.order(Answer(escalation=question(world).id, answer="fail"))

    assert ended(world).status is RunStatus.FAILED
    assert [one.name for one in world.state.agents.values()] == ["ada"]


def test_a_cancel_takes_the_question_along() -> None:
    world = paused_and_leaving()

    world.order(Cancel(target="r1"))

    assert not world.state.escalations


def test_one_question_is_for_all_work_of_a_queue() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "ada", [1, 2, 3])
    world.order(Pause(target="ada"))
    world.succeed(attempt(world, "ada"))
    applied(world, RemoveMember(target="ada", mode="drain"))
    assert "and 1 other task wait, and nobody may take them" in question(world).question

    world.order(Answer(escalation=question(world).id, answer="fail"))

    assert not world.state.escalations
    assert sorted(task.status for task in world.state.tasks.values() if task.call_key) == ["done", "failed", "failed"]


def test_an_attempt_that_its_pause_has_parked_counts_too() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "sum"), participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    world.order(Pause(target="ada"))
    world.rest(key, why="paused")
    applied(world, RemoveMember(target="ada", mode="drain"))
    assert question(world).kind == "nobody"

    world.order(Answer(escalation=question(world).id, answer="retry"))
    world.stop(key)
    world.settle()

    assert member(world, "bob").done == 1
    assert [one.name for one in world.state.agents.values()] == ["bob"]


@pytest.mark.parametrize("is_gone", [False, True], ids=["stopped", "engine gone"])
def test_fail_ends_a_parked_attempt_as_failed_and_its_lead_hears_that_a_person_said_so(is_gone: bool) -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    submitted(world)
    lead = attempt(world, "lead")
    world.ask(lead, "ada", [1])
    key = attempt(world, "ada")
    world.order(Pause(target="ada"))
    world.rest(key, why="paused")
    applied(world, RemoveMember(target="ada", mode="drain"))

    world.order(Answer(escalation=question(world).id, answer="fail"))
    events = world.crash() if is_gone else world.stop(key)

    task = world.state.tasks[key[0]]
    assert (task.status, task.error) == (
        "failed",
        "nobody may take it: ada is paused, and is being removed; a person let it fail",
    )
    assert is_gone or "attempt_resumed" in kinds(events)


@pytest.mark.parametrize("answer", ["wait", "retry", "fail"])
def test_an_engine_that_begins_asks_no_second_time(answer: str) -> None:
    world = paused_and_leaving()
    world.crash()
    assert len(world.state.escalations) == 1

    world.order(Answer(escalation=question(world).id, answer=answer))
    world.crash()

    assert len(world.state.escalations) == (answer == "retry")
