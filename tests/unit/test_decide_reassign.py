"""A task is given to another agent by hand."""

import pytest

from engine.core.commands import Cancel, Reassign, RemoveMember, SupervisorSpec
from engine.core.effects import StopAttempt
from engine.core.scheduler import Schedule
from engine.core.specs.spec import Retry
from engine.core.state import RunStatus
from tests.story import Key, applied, attempt, attempts, ended, kinds, member, only, refused, start_of, submitted
from tests.world import World, agent, team_world


def three(**fields: object) -> tuple[World, Key]:
    """Ada is at work, bob waits for her, cyd is under another supervisor."""
    below = SupervisorSpec(name="below", members=[agent("cyd")])
    world = team_world(agent("ada", **fields), agent("bob"), agent("eve"), below, participants=["ada", "bob"])
    submitted(world)
    return world, attempt(world, "ada")


def test_one_at_work_stops_at_its_next_step_and_goes_on_elsewhere_with_its_finished_steps() -> None:
    world, key = three()
    world.record(key, "read", "page")

    applied(world, Reassign(task=key[0], agent="eve"))
    (stop,) = [effect for effect in world.effects if isinstance(effect, StopAttempt)]
    world.stop(key)

    assert (stop.patient, stop.now) == (True, False)
    assert start_of(world, "eve").steps == {"read": "page"}
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_it_can_be_stopped_now() -> None:
    world, key = three()

    applied(world, Reassign(task=key[0], agent="eve", now=True))

    assert [effect.now for effect in world.effects if isinstance(effect, StopAttempt)] == [True]


def test_one_that_waits_goes_to_the_other_queue() -> None:
    world, key = three()

    applied(world, Reassign(task="t3", agent="eve"))
    world.succeed(key)

    assert start_of(world, "eve").task_id == "t3"
    assert attempts(world, "bob") == []


def test_one_that_backs_off_is_tried_there_at_once() -> None:
    world, key = three(on_failure=[Retry(3, 60.0, 60.0)])
    world.fail(key)

    applied(world, Reassign(task=key[0], agent="eve"))

    assert start_of(world, "eve").task_id == key[0]
    assert world.state.timers == {}


def test_an_agent_of_another_supervisor_takes_it_with_a_slot_of_its_own() -> None:
    world, key = three()

    applied(world, Reassign(task=key[0], agent="cyd"))
    world.stop(key)

    assert world.state.tasks[key[0]].supervisor_id == "s2"
    assert Schedule.of(world.state).slots["s2"].running == 1
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_one_that_ends_before_its_next_step_has_ended() -> None:
    world, key = three()
    applied(world, Reassign(task=key[0], agent="eve"))

    assert kinds(world.succeed(key))[0] == "attempt_done"


@pytest.mark.parametrize(
    ("task", "target", "reason"),
    [
        ("t1", "eve", "not the work of an agent"),
        ("t9", "eve", "no open run or task"),
        ("t2", "eva", "no agent 'eva'"),
        ("t2", "ada", "works on task t2 already"),
        ("t3", "bob", "is for bob already"),
    ],
)
def test_what_cannot_be_reassigned_is_refused(task: str, target: str, reason: str) -> None:
    world, _ = three()

    assert reason in refused(world, Reassign(task=task, agent=target))


def test_one_that_has_ended_or_is_cancelled_is_refused() -> None:
    world, key = three()
    world.succeed(key)
    assert "ended already (done)" in refused(world, Reassign(task=key[0], agent="eve"))
    applied(world, Cancel(target="t3"))

    assert "being cancelled" in refused(world, Reassign(task="t3", agent="eve"))


def test_one_that_leaves_gets_nothing() -> None:
    world, key = three()
    applied(world, RemoveMember(target="bob", mode="drain"))

    assert "being removed" in refused(world, Reassign(task=key[0], agent="bob"))


def test_the_new_agent_does_not_leave_before_the_task_has_come() -> None:
    world, key = three()
    applied(world, Reassign(task=key[0], agent="eve"))

    applied(world, RemoveMember(target="eve", mode="drain"))
    assert member(world, "eve").removing == "drain"
    world.stop(key)

    assert start_of(world, "eve").task_id == key[0]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_where_the_new_agent_leaves_at_once_the_task_stays_where_it_was() -> None:
    world, key = three()
    applied(world, Reassign(task=key[0], agent="eve"))

    assert "task_requeued" in kinds(world.order(RemoveMember(target="eve", mode="abort")))
    world.stop(key)

    assert start_of(world, "ada").task_id == key[0]


def test_the_end_of_the_engine_takes_it_to_the_new_agent() -> None:
    world, key = three()
    applied(world, Reassign(task=key[0], agent="eve"))

    world.crash()

    assert start_of(world, "eve").task_id == key[0]


def test_one_that_waits_for_others_takes_their_answers_along() -> None:
    world = team_world(agent("ada"), agent("bob", "sum"), agent("eve"), participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    world.ask(key, "sum", ["x"])

    applied(world, Reassign(task=key[0], agent="eve"))
    world.stop(key)
    only(world.ask(attempt(world, "eve"), "sum", ["x"]), "call_rejoined")

    world.settle()
    assert ended(world).status is RunStatus.DONE
